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
import re
import secrets
from collections.abc import Iterable
from itertools import count
from typing import Any

import orjson
from aiohttp import web
from google.protobuf.descriptor import ServiceDescriptor
from grpc.aio import AioRpcError, Channel
from roster.v1 import errors_pb2

from . import errors, headers
from .answers import REQUEST_ID, Answer
from .channel.calls import Call
from .connections import Connection
from .faults import Reason, RequestFault, fault
from .headers import Metadata
from .links import next_page
from .pages import pages_of
from .routing.bindings import UNARY, Binding
from .routing.requests import message_of
from .routing.routes import Routes
from .streams.answer import StreamedAnswer
from .streams.exchange import Exchange, try_out

log = logging.getLogger(__name__)

# A call always has a deadline, in seconds.
CALL_SECONDS = 30.0
# How long a connection may be idle; aiohttp's default is an hour.
KEEPALIVE_SECONDS = 30.0
# How long the rest of a body that is not wanted is read on and thrown away, so
# that the client sees the answer before its connection is reset.
LINGERING_SECONDS = 2.0
# The longest request line and header field, in bytes, and the most fields.
MAX_LINE_BYTES = 8_190
MAX_HEADERS = 128

FAULT = "roster-fault-bin"
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Gateway:
    """Serves the bindings of some services over a channel."""

    def __init__(self, channel: Channel, services: Iterable[ServiceDescriptor]) -> None:
        self._routes = Routes(services)
        self._channel = channel
        self._calls: dict[str, Any] = {}
        self._pages = pages_of(channel)

    def server(self) -> web.Server:
        """Returns what aiohttp's ServerRunner runs. Call it with the event loop running."""
        return _Server(
            self.handle,  # type: ignore[arg-type]
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=KEEPALIVE_SECONDS,
            lingering_time=LINGERING_SECONDS,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
        )

    async def handle(self, request: web.BaseRequest) -> Answer | StreamedAnswer:
        """Answers one request."""
        request_id = _request_id(request)
        try:
            return await self._answer(request, request_id)
        except RequestFault as refused:
            return errors.response(refused.error, request_id, close=refused.close)
        except AioRpcError as failed:
            return errors.failure(failed, request_id)
        except Exception:  # the log gets the story, the caller one calm sentence
            log.exception("the gateway failed", extra={"requestId": request_id})
            error = errors_pb2.Error(reason=Reason.Value("INTERNAL"), message=errors.FAILED)
            return errors.response(error, request_id, close=True)

    async def _answer(self, request: web.BaseRequest, request_id: str) -> Answer | StreamedAnswer:
        path, _, query = _target(request).partition("?")
        method = "GET" if request.method == "HEAD" else request.method
        match = self._routes.match(method, path)
        if match is None:
            return await self._without_binding(method, path, request_id)
        binding, metadata = match.binding, headers.forwarded(request, request_id)
        try:
            message = await message_of(match, query, request)
            headers.check(metadata)
            if binding.kind != UNARY:
                exchange = Exchange(request, request_id, binding, message)
                return await exchange.answer(self._method(binding), metadata)
        except RequestFault as unreadable:
            return await self._refuse(binding, unreadable, metadata, request_id)
        call = self._call(binding, message, metadata)
        reply = await call
        trailing = call.trailing if isinstance(call, Call) else await call.trailing_metadata()
        more = headers.returned(trailing)
        if binding.success_status == 204:
            return Answer(204, request_id, more=more)
        if binding.next_link is not None and (token := getattr(reply, binding.next_link)):
            more["Link"] = next_page(path, query, token)
        written = orjson.dumps(binding.write(reply))
        return Answer(binding.success_status, request_id, written, more=more)

    async def _refuse(
        self, binding: Binding, unreadable: RequestFault, metadata: Metadata, request_id: str
    ) -> Answer:
        """Answers a request that is no message: with its fault, if the caller may know of it."""
        if errors.http_status(unreadable.error.reason) >= 500:
            raise unreadable
        metadata = (*metadata, (FAULT, unreadable.error.SerializeToString()))
        try:
            if binding.kind == UNARY:
                await self._call(binding, binding.request_class(), metadata)
            else:
                await try_out(binding, self._method(binding), metadata)
        except AioRpcError as error:
            return errors.failure(error, request_id, close=unreadable.close)
        raise unreadable

    def _call(self, binding: Binding, message: Any, metadata: Metadata) -> Any:
        method = self._calls.get(binding.rpc) or self._method(binding)
        return method(message, metadata=metadata, timeout=CALL_SECONDS)

    def _method(self, binding: Binding) -> Any:
        """Returns what makes calls of the binding's rpc."""
        if binding.rpc not in self._calls:
            self._calls[binding.rpc] = getattr(self._channel, binding.kind)(
                binding.rpc,
                request_serializer=binding.request_class.SerializeToString,
                response_deserializer=binding.response_class.FromString,
            )
        return self._calls[binding.rpc]

    async def _without_binding(self, method: str, path: str, request_id: str) -> Answer:
        page = self._pages.get(path)
        allowed = self._routes.methods(path) or (["GET", "HEAD", "OPTIONS"] if page else [])
        if not allowed:
            raise fault("ROUTE_NOT_FOUND", "There is no such path.")
        allow = {"Allow": ", ".join(allowed)}
        if method == "OPTIONS":
            return Answer(204, request_id, more=allow)
        if page is not None and method == "GET":
            return await page(request_id)
        error = errors_pb2.Error(
            reason=Reason.Value("METHOD_NOT_ALLOWED"),
            message=f"This path takes {allow['Allow']}.",
        )
        return errors.response(error, request_id, allow)


def _target(request: web.BaseRequest) -> str:
    """Returns path and query as they were sent, without the host of an absolute target."""
    target = request.raw_path
    return target if target.startswith("/") else request.rel_url.raw_path_qs


def _request_id(request: web.BaseRequest) -> str:
    """Returns the request id that came, if it may be echoed, or a new one."""
    given = request.headers.get(REQUEST_ID)
    return given if given and _REQUEST_ID.fullmatch(given) else _new_request_id()


# Unique by a random part a process and a count: fresh random bits for each request
# would cost more than finding its route.
_PROCESS = secrets.token_hex(8)
_requests = count(1)


def _new_request_id() -> str:
    return f"{_PROCESS}{next(_requests):012x}"


class _Protocol(Connection):
    """Answers what aiohttp's parser refuses in the one shape that errors have.

    A client's fault is no traceback in the log.
    """

    def handle_error(  # type: ignore[override]
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> Answer:
        if status >= 500:
            log.error("an answer could not be made", exc_info=exc)
        reason = "VALIDATION_ERROR" if status < 500 else "INTERNAL"
        text = "This is not well-formed HTTP." if status < 500 else errors.FAILED
        error = errors_pb2.Error(reason=Reason.Value(reason), message=text)
        return errors.response(error, _new_request_id(), close=True)


class _Server(web.Server):
    """aiohttp's low-level server, with the protocol above."""

    def __call__(self) -> Connection:
        return _Protocol(self, loop=self._loop, **self._kwargs)
