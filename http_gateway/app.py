"""The gateway: JSON over HTTP in front of a gRPC channel.

The method and path of a request select a binding. Path, query and body become the request
message, the channel makes the call, and the response message is written as JSON. Streaming
rpcs are handled by `streams`.

If a request cannot be read, and the server supports it, the gateway still makes the call, with
an empty message and the error in its metadata. The server first reports that the caller is not
authorized, if that is the case.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message
from grpc.aio import AioRpcError, Channel

from . import errors, forms, http_bodies, timeouts, traces
from .ambiguous_failures import classify_failure
from .body import is_unread
from .channel.in_process import InProcessChannel
from .channel.request_streams import writing_requests
from .channel.unary import Call
from .channel.upstream import UpstreamChannel
from .compression import compress
from .cookies import Cookies
from .cross_origin import CrossOrigin
from .docs.documentation import Documentation
from .error_pages import ErrorPages
from .headers import (
    Metadata,
    check_idempotency_key,
    is_printable,
    request_metadata,
    response_headers,
)
from .http_server import Server
from .links import next_page
from .load_shedding import LoadShedder
from .observability import NullObserver, Observer, RequestObserver
from .options import Options
from .pages import REDIRECTS, pages_of
from .request import Request
from .request_errors import RequestError
from .request_ids import request_id_of
from .responses import CLIENT_CLOSED_REQUEST, Response, json_body
from .routing.bindings import UNARY, Binding
from .routing.header_fields import headers_by_json_name
from .routing.requests import message_of
from .routing.routes import Match, Routes
from .streams import byte_stream
from .streams.exchange import Exchange, check_call
from .streams.response import StreamResponse
from .web_app import page_path

log = logging.getLogger(__name__)

# The default deadline of a unary call, in seconds.
CALL_SECONDS = 30.0


class Gateway:
    """Serves the bindings of some services over a channel."""

    def __init__(
        self,
        channel: Channel,
        services: Iterable[ServiceDescriptor],
        options: Options | None = None,
        observer: Observer | None = None,
        documentation: Documentation | None = None,
    ) -> None:
        services = tuple(services)
        self._options = options or Options()
        self._observer = observer or NullObserver()
        self._policy = policy = self._options.policy
        self._routes = Routes(services, policy.annotations)
        self._cross_origin = CrossOrigin(self._options, self._routes)
        self._cookies = Cookies(self._options)
        self._error_pages = ErrorPages(policy)
        self._channel = channel
        self._methods: dict[str, Any] = {}
        self._checks = channel.skew.checks if isinstance(channel, UpstreamChannel) else {}
        self.load = LoadShedder(self._options)
        self._pages = pages_of(
            channel, services, self.load, self._options, documentation or Documentation()
        )
        self._routes.check_reserved(self._pages.keys() - REDIRECTS.keys())
        self.load.exempt_paths = self._pages.keys()
        self.load.headers_of = self._cross_origin.headers_of

    def server(self) -> Server:
        """Returns the HTTP server. Must be called with the event loop running."""
        return Server(self.handle, self._options, self.load)

    def drain(self) -> None:
        """Reports not ready, and closes each connection after its next response."""
        self.load.is_draining = True

    async def handle(self, request: Request) -> Response | StreamResponse:
        """Returns the response to a request."""
        path, _, query = _target(request).partition("?")
        if not self.load.has_room(path):
            # If the body is incomplete, the rest of it must still be read.
            transport = request.transport if request.content.is_eof() else None
            return self.load.reject(request, path, transport)
        request_id = request_id_of(request)
        trace = traces.trace_of(request.headers) if traces.PARENT in request.headers else ()
        observer = self._observer.start(request.method, request_id, request.remote or "", trace)
        response: Response | StreamResponse | None = None
        match: Match | None = None
        try:
            match = self._routes.match(request.method, path)
            if match is None:
                response = await self._page(request, path, request_id, observer)
            else:
                response = await self._call(request, match, path, query, request_id, observer)
        except RequestError as error:
            response = errors.response(error.error, request_id, close=error.close)
        except AioRpcError as failed:
            response = self._error_response(failed, request, request_id, match)
        except Exception:  # details go to the log only
            log.exception("the gateway failed", extra={"requestId": request_id})
            response = errors.response(errors.INTERNAL, request_id, close=True)
        finally:
            if response is None:
                observer.end(CLIENT_CLOSED_REQUEST, request.content.total_bytes, 0)
            else:
                observer.end(response.status, request.content.total_bytes, response.body_size)
        if request.response_headers and isinstance(response, Response):
            response.headers.update(request.response_headers)
        if match is not None and match.binding.cross_origin:
            self._cross_origin.add_headers(response, request, match.binding)
        return response

    async def _page(
        self, request: Request, path: str, request_id: str, observer: RequestObserver
    ) -> Response:
        """Returns the response for a path or method without a binding."""
        method = "GET" if request.method == "HEAD" else request.method
        page_at = page_path(self._options.web_app, path)
        page = self._pages.get(page_at)
        if page is not None:
            observer.set_page(page_at)
        allowed = self._routes.methods(path) or (["GET", "HEAD", "OPTIONS"] if page else [])
        if not allowed:
            message = "No route matches this path. See /docs for all."
            response = errors.error_response("ROUTE_NOT_FOUND", message, request_id)
            return await self._error_pages.show(response, message, request)
        allow = {"Allow": ", ".join(allowed)}
        if method == "OPTIONS":
            more = {**allow, **self._cross_origin.preflight_headers(request, path, allowed)}
            return Response(204, request_id, more=more)
        if page is not None and method == "GET":
            return await page(request, request_id)
        message = f"This path allows only {allow['Allow']}."
        response = errors.error_response("METHOD_NOT_ALLOWED", message, request_id, allow)
        return await self._error_pages.show(response, message, request)

    async def _call(
        self,
        request: Request,
        match: Match,
        path: str,
        query: str,
        request_id: str,
        observer: RequestObserver,
    ) -> Response | StreamResponse:
        binding = match.binding
        request.has_stream = binding.request_records is not None
        observer.set_route(binding.rpc, binding.template.text)
        forwarded = self._policy.headers.forwarded
        metadata = request_metadata(request, request_id, observer.trace, forwarded)
        session = self._cookies.metadata(request, binding)
        metadata += session
        method = self._methods.get(binding.rpc) or self._method(binding)
        timeout, form, text = None, None, None
        is_form = forms.is_form(request, binding)
        if is_form:
            metadata = (*metadata, *forms.response_type(request))
        try:
            # Headers of a page that are not valid must not prevent an opt-out.
            timeout = None if binding.is_page else timeouts.timeout_of(request)
            if is_form and binding.form is not None:
                form = await forms.submitted(request, binding.form)
                metadata = (*metadata, *form.metadata)
                text = forms.text_of(form, request)
            message = await message_of(match, query, request, text)
            if not binding.is_page:
                check_idempotency_key(request)
            if binding.deprecations is not None:
                deprecation = binding.deprecations.headers(message)
                request.response_headers = {**request.response_headers, **deprecation}
            check = self._checks.get(binding.rpc)
            if check is not None:
                check(message)
            if binding.streams_http_body:
                return await byte_stream.respond(
                    method, message, metadata, timeout, binding, request, request_id
                )
            if binding.channel_method != UNARY:
                exchange = Exchange(request, request_id, binding, message, check)
                return await exchange.respond(method, metadata, timeout)
        except RequestError as error:
            return await self._check_call(match, error, metadata, timeout, request, request_id)
        call = method(message, metadata=metadata, timeout=_at_most(timeout))
        self.load.calls += 1
        try:
            reply = await call
        except AioRpcError as failed:
            raise classify_failure(failed, binding.method, metadata, self._policy) from failed
        finally:
            self.load.calls -= 1
        trailing = call.trailing if isinstance(call, Call) else await call.trailing_metadata()
        more = response_headers(trailing, self._policy.headers)
        if binding.cookie is not None:
            more |= self._cookies.headers(request, getattr(reply, binding.cookie))
        if binding.success_status == 204:
            return Response(204, request_id, more=more)
        if binding.returns_http_body:
            return await http_bodies.success_response(reply, binding, request, request_id, more)
        if form is not None:
            url = self._cross_origin.redirect_url(form.redirect)
            shown = await forms.response(reply, url, binding, request, request_id, more)
            if shown is not None:
                return shown
        for name, header in binding.response_headers:
            value = getattr(reply, name)
            if value and is_printable(value):
                more[header] = value
        if binding.next_link is not None and (token := getattr(reply, binding.next_link)):
            more["Link"] = next_page(path, query, token)
        status, other = binding.success_status, binding.conditional_status
        if other is not None and getattr(reply, other.field):
            status = other.status
        # The in-process channel can return a response that becomes JSON without a message.
        body = binding.write(reply) if isinstance(reply, Message) else reply.to_json()
        if binding.read_mask is not None:
            binding.read_mask.apply(message, body)
        response = Response(status, request_id, json_body(body), more=more)
        if not binding.holds_secret:
            await compress(response, request)
        return response

    async def _check_call(
        self,
        match: Match,
        error: RequestError,
        metadata: Metadata,
        seconds: float | None,
        request: Request,
        request_id: str,
    ) -> Response:
        """Returns the server's error for a request that cannot be read, or raises `error`."""
        as_metadata = self._policy.errors.as_metadata
        if as_metadata is None or error.error.status >= 500:
            raise error
        metadata = (*metadata, as_metadata(error.error))
        binding = match.binding
        method = self._method(binding)
        try:
            if binding.channel_method == UNARY:
                message = binding.request_class()
                await method(message, metadata=metadata, timeout=_at_most(seconds))
            else:
                await check_call(binding, method, metadata, _at_most(seconds))
        except AioRpcError as failed:
            return self._error_response(failed, request, request_id, match, close=error.close)
        raise error

    def _error_response(
        self,
        failed: AioRpcError,
        request: Request,
        request_id: str,
        match: Match | None,
        *,
        close: bool = False,
    ) -> Response:
        """Returns the response for a failed call."""
        with_page = match is not None and forms.shows_error_page(request, match.binding)
        in_headers = {}
        if match is not None:
            fields = match.binding.request_headers
            in_headers = headers_by_json_name(match.binding.method.input_type, fields)
        return http_bodies.call_error_response(
            failed,
            request_id,
            self._policy,
            in_headers,
            with_body=with_page,
            close=close or (not request.has_stream and is_unread(request)),
        )

    def _method(self, binding: Binding) -> Any:
        """Returns the multi-callable of a binding's rpc."""
        if binding.rpc not in self._methods:
            method = getattr(self._channel, binding.channel_method)(
                binding.rpc,
                # The message of a call with a request error can lack required fields.
                request_serializer=binding.request_class.SerializePartialToString,
                response_deserializer=binding.response_class.FromString,
            )
            if binding.request_records and not isinstance(self._channel, InProcessChannel):
                method = writing_requests(method)
            self._methods[binding.rpc] = method
        return self._methods[binding.rpc]


def _at_most(seconds: float | None) -> float:
    return CALL_SECONDS if seconds is None else min(seconds, CALL_SECONDS)


def _target(request: Request) -> str:
    """Returns the path and query as they were received, without the host of an absolute target."""
    target = request.raw_path
    return target if target.startswith("/") else request.rel_url.raw_path_qs
