"""Streaming calls over HTTP.

The call starts before the body is read, and the response when the server accepts the call. A
client that is not allowed to make the call receives an error response while its body is unread.
After that the body is read while the response is written. Streams have no deadline unless the
client sets one, but idle bodies and idle readers are disconnected. If the client disconnects,
the call is canceled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from grpc.aio import AioRpcError

from .. import errors
from ..ambiguous_failures import classify_failure
from ..body import is_unread
from ..channel.cancellation import cancellation_error
from ..connections import Connection
from ..headers import Metadata, response_headers
from ..request import Request
from ..request_errors import RequestError
from ..responses import Response, json_body
from ..routing.bindings import Binding
from .client_stream import RequestMessages, parser_of
from .formats import choose_format
from .response import StreamResponse
from .server_stream import ResponseWriter


class Exchange:
    """A request to a streaming rpc, and its response.

    `message` has the fields that are not in the body. `check` rejects messages of the body. Raises
    RequestError if the type of the body is not supported.
    """

    def __init__(
        self,
        request: Request,
        request_id: str,
        binding: Binding,
        message: Any,
        check: Callable[[Any], None] | None = None,
    ) -> None:
        self._request = request
        self._request_id = request_id
        self._binding = binding
        self._message = message
        self._messages: RequestMessages | None = None
        if binding.response_records is not None:
            choose_format(request, binding.response_records, message)
        if binding.request_records is not None:
            parser = parser_of(request, binding.request_records)
            self._messages = RequestMessages(request, binding, parser, message, check)

    async def respond(
        self, method: Any, metadata: Metadata, seconds: float | None = None
    ) -> Response | StreamResponse:
        """Makes the call with a multi-callable and a timeout, and returns the response.

        Raises RequestError for an error in the body of a call with one response.
        """
        call = method(self._messages or self._message, metadata=metadata, timeout=seconds)
        connection = cast("Connection", self._request.protocol)
        connection.on_closing = self._stop_body
        try:
            if self._binding.response_records is None:
                return await self._respond_once(call)
            writer = ResponseWriter(
                self._request, self._request_id, self._binding, self._message, self._messages
            )
            return await writer.write_response(call)
        except AioRpcError as failed:
            policy = self._request.options.policy
            error = classify_failure(failed, self._binding.method, metadata, policy)
            if isinstance(error, RequestError):
                error.close = is_unread(self._request)
                raise error from failed
            return errors.call_error_response(
                failed, self._request_id, policy, close=is_unread(self._request)
            )
        finally:
            connection.on_closing = None
            call.cancel()
            self._stop_body()

    def _stop_body(self) -> None:
        if self._messages is not None:
            self._messages.stop()

    async def _respond_once(self, call: Any) -> Response:
        """Returns the response of a client stream."""
        assert self._messages is not None
        try:
            reply = await call
        except asyncio.CancelledError:
            cancellation = await cancellation_error(call)
            if cancellation is None:
                raise
            if self._messages.error is None:
                raise cancellation from None
            self._messages.error.close = True
            raise self._messages.error from None
        status = self._binding.success_status
        data = None if status == 204 else json_body(self._binding.write(reply))
        headers = self._request.options.policy.headers
        more = response_headers(await call.trailing_metadata(), headers)
        return Response(status, self._request_id, data, more=more, close=is_unread(self._request))


async def check_call(binding: Binding, method: Any, metadata: Metadata, seconds: float) -> None:
    """Makes a call without records. Raises AioRpcError if the server rejects it."""
    request = _no_messages() if binding.request_records else binding.request_class()
    call = method(request, metadata=metadata, timeout=seconds)
    try:
        if binding.channel_method == "stream_unary":
            await call
        else:
            await anext(aiter(call), None)
    finally:
        call.cancel()


async def _no_messages() -> AsyncIterator[Any]:
    messages: tuple[Any, ...] = ()
    for message in messages:
        yield message
