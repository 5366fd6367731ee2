"""The gateway: JSON over HTTP in front of a gRPC channel.

A request takes this way: its path and method find a binding; its path, query or
body make a request message; the channel makes the call; the response message is
written as JSON. A body that cannot be read does not end there: the call is made
all the same, with the fault in its metadata, so that the server can say first
whether the caller may make it at all. Calls that stream go their own way from there on.

The gateway knows a channel and the descriptors, and nothing of the server.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import orjson
from aiohttp import web
from google.protobuf.descriptor import ServiceDescriptor
from grpc.aio import AioRpcError, Channel

from . import errors, headers, timeouts, traces
from .ambiguous_failures import classify_failure
from .channel.in_process import InProcessChannel
from .channel.request_streams import writing
from .channel.unary import Call
from .compression import compress
from .docs.documentation import Documentation
from .error_responses import error_response
from .headers import Metadata
from .http_server import Server
from .links import next_page
from .load_shedding import LoadShedder
from .observability import NullObserver, Observer, RequestObserver
from .pages import REDIRECTS, pages_of
from .request_errors import RequestError
from .request_ids import request_id_of
from .responses import CANCELLED, Response
from .routing.bindings import UNARY, Binding
from .routing.requests import message_of
from .routing.routes import Routes
from .streams.exchange import Exchange, check_call
from .streams.response import StreamResponse
from .streams.server_stream import KEEPALIVE_SECONDS

log = logging.getLogger(__name__)

# A call always has a deadline, in seconds.
CALL_SECONDS = 30.0
FAULT = "roster-fault-bin"


class Gateway:
    """Serves the bindings of some services over a channel.

    A gateway that `asks_first` tells a fault of a request only after the server has
    refused the call for no other reason: it makes the call with an empty message and the
    fault in its metadata. Only a server that looks for faults there may be asked; any
    other would act on the empty message. A `observer` is told of every request. A streamed
    response has a keepalive record once nothing was written for `keepalive_seconds`.
    """

    def __init__(
        self,
        channel: Channel,
        services: Iterable[ServiceDescriptor],
        *,
        asks_first: bool,
        observer: Observer | None = None,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
        documentation: Documentation | None = None,
    ) -> None:
        services = tuple(services)
        self._keepalive_seconds = keepalive_seconds
        self._watcher = observer or NullObserver()
        self._asks_first = asks_first
        self._routes = Routes(services)
        self._channel = channel
        self._calls: dict[str, Any] = {}
        self.load = LoadShedder()
        self._pages = pages_of(channel, services, self.load, documentation or Documentation())
        self._routes.check_reserved(self._pages.keys() - REDIRECTS.keys())
        self.load.exempt = self._pages.keys()

    def server(self) -> Server:
        """Returns what aiohttp's ServerRunner runs. Call it with the event loop running."""
        return Server(self.handle, self.load)

    def drain(self) -> None:
        """Drains: reports not ready, and closes each connection after its next response."""
        self.load.is_draining = True

    async def handle(self, request: web.BaseRequest) -> Response | StreamResponse:
        """Answers one request."""
        request_id = request_id_of(request)
        trace = traces.trace_of(request.headers) if traces.PARENT in request.headers else ()
        watched = self._watcher.start(request.method, request_id, trace)
        response: Response | StreamResponse | None = None
        try:
            response = await self._dispatch(request, request_id, watched)
        except RequestError as refused:
            response = errors.response(errors.of(refused.error), request_id, close=refused.close)
        except AioRpcError as failed:
            response = errors.failure(failed, request_id)
        except Exception:  # details go to the log only
            log.exception("the gateway failed", extra={"requestId": request_id})
            response = errors.response(errors.INTERNAL, request_id, close=True)
        finally:
            status, sent = (response.status, response.sent) if response else (CANCELLED, 0)
            watched.end(status, request.content.total_bytes, sent)
        return response

    async def _dispatch(
        self, request: web.BaseRequest, request_id: str, watched: RequestObserver
    ) -> Response | StreamResponse:
        path, _, query = _target(request).partition("?")
        match = self._routes.match(request.method, path)
        if match is None:
            return await self._without_binding(request, path, request_id, watched)
        binding = match.binding
        watched.set_route(binding.rpc, binding.template.text)
        if self.load.is_full:
            return self.load.error_response(request_id)
        metadata = headers.forwarded(request, request_id, watched.trace)
        timeout = None
        try:
            timeout = timeouts.given(request)
            message = await message_of(match, query, request)
            headers.check(metadata)
            if binding.channel_method != UNARY:
                exchange = Exchange(
                    request,
                    request_id,
                    binding,
                    message,
                    keepalive_seconds=self._keepalive_seconds,
                )
                return await exchange.respond(self._method(binding), metadata, timeout)
        except RequestError as unreadable:
            return await self._refuse(binding, unreadable, metadata, timeout, request_id)
        call = self._call(binding, message, metadata, timeout)
        self.load.calls += 1
        try:
            reply = await call
        except AioRpcError as failed:
            raise classify_failure(failed, binding.method, metadata) from failed
        finally:
            self.load.calls -= 1
        trailing = call.trailing if isinstance(call, Call) else await call.trailing_metadata()
        more = headers.returned(trailing)
        if binding.success_status == 204:
            return Response(204, request_id, more=more)
        if binding.next_link is not None and (token := getattr(reply, binding.next_link)):
            more["Link"] = next_page(path, query, token)
        written = orjson.dumps(binding.write(reply))
        response = Response(binding.success_status, request_id, written, more=more)
        if not binding.holds_secret:
            await compress(response, request)
        return response

    async def _refuse(
        self,
        binding: Binding,
        unreadable: RequestError,
        metadata: Metadata,
        seconds: float | None,
        request_id: str,
    ) -> Response:
        """Answers a request that is no message: with its fault, if the caller may know of it."""
        if not self._asks_first or errors.http_status(unreadable.error.reason) >= 500:
            raise unreadable
        metadata = (*metadata, (FAULT, unreadable.error.SerializeToString()))
        try:
            if binding.channel_method == UNARY:
                await self._call(binding, binding.request_class(), metadata, seconds)
            else:
                await check_call(binding, self._method(binding), metadata, _at_most(seconds))
        except AioRpcError as error:
            return errors.failure(error, request_id, close=unreadable.close)
        raise unreadable

    def _call(
        self, binding: Binding, message: Any, metadata: Metadata, timeout: float | None
    ) -> Any:
        method = self._calls.get(binding.rpc) or self._method(binding)
        return method(message, metadata=metadata, timeout=_at_most(timeout))

    def _method(self, binding: Binding) -> Any:
        """Returns what makes calls of the binding's rpc."""
        if binding.rpc not in self._calls:
            calls = getattr(self._channel, binding.channel_method)(
                binding.rpc,
                # Nothing is missing but in the empty message that a fault is told with.
                request_serializer=binding.request_class.SerializePartialToString,
                response_deserializer=binding.response_class.FromString,
            )
            over_socket = not isinstance(self._channel, InProcessChannel)
            self._calls[binding.rpc] = (
                writing(calls) if binding.request_records and over_socket else calls
            )
        return self._calls[binding.rpc]

    async def _without_binding(
        self, request: web.BaseRequest, path: str, request_id: str, watched: RequestObserver
    ) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        page = self._pages.get(path)
        if page is not None:
            watched.set_page(path)
        allowed = self._routes.methods(path) or (["GET", "HEAD", "OPTIONS"] if page else [])
        if not allowed:
            return error_response("ROUTE_NOT_FOUND", "No route matches this path.", request_id)
        allow = {"Allow": ", ".join(allowed)}
        if method == "OPTIONS":
            return Response(204, request_id, more=allow)
        if page is not None and method == "GET":
            return await page(request, request_id)
        message = f"This path allows only {allow['Allow']}."
        return error_response("METHOD_NOT_ALLOWED", message, request_id, allow)


def _at_most(seconds: float | None) -> float:
    return CALL_SECONDS if seconds is None else min(seconds, CALL_SECONDS)


def _target(request: web.BaseRequest) -> str:
    """Returns path and query as they were sent, without the host of an absolute target."""
    target = request.raw_path
    return target if target.startswith("/") else request.rel_url.raw_path_qs
