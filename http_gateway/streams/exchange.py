"""Calls that stream, over HTTP: a text of records in, a text of records out, or one of both.

The call begins before the body is read, and the answer once the server accepts it: so
whoever may not make the call gets an error like any other, its body unread. From then on
both go on side by side. Neither has a deadline, unless the
client gives one: it is idle bodies and idle readers that are cut off. When the client
goes, the call is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
from aiohttp import web
from grpc.aio import AioRpcError

from .. import errors, headers
from ..ambiguous_failures import classify_failure
from ..channel.cancellation import failure_of
from ..connections import watched
from ..headers import Metadata
from ..request_errors import RequestError
from ..responses import Response
from ..routing.bindings import Binding
from .client_stream import Messages, form_of
from .formats import choose_format
from .response import StreamResponse
from .server_stream import KEEPALIVE_SECONDS, Replies


class Exchange:
    """A request for an rpc that streams, on its way to an answer.

    `message` holds what the request says beside its records. A response that is a stream
    has a keepalive record once nothing was written for `keepalive_seconds`. Raises
    RequestError if the body is of a kind that is not read.
    """

    def __init__(
        self,
        request: web.BaseRequest,
        request_id: str,
        binding: Binding,
        message: Any,
        *,
        keepalive_seconds: float = KEEPALIVE_SECONDS,
    ) -> None:
        self._request = request
        self._request_id = request_id
        self._binding = binding
        self._message = message
        self._keepalive_seconds = keepalive_seconds
        self._messages: Messages | None = None
        if binding.response_records is not None:
            choose_format(request, binding.response_records, message)
        if binding.request_records is not None:
            form = form_of(request, binding.request_records)
            self._messages = Messages(request, binding, form, message)

    async def respond(
        self, method: Any, metadata: Metadata, seconds: float | None = None
    ) -> Response | StreamResponse:
        """Makes the call by what `method` makes calls with, and answers the request.

        `seconds` is how long the client gives it. Raises RequestError for a body at fault
        of a call that is answered once.
        """
        call = method(self._messages or self._message, metadata=metadata, timeout=seconds)
        task = asyncio.current_task()
        assert task is not None
        try:
            with watched(self._request, on_lost=task.cancel, on_closing=self._end_body):
                if self._binding.response_records is None:
                    return await self._once(call)
                return await self._replies().pass_on(call)
        except AioRpcError as failed:
            outcome = classify_failure(failed, self._binding.method, metadata)
            if isinstance(outcome, RequestError):
                outcome.close = self._is_unread()
                raise outcome from failed
            return errors.failure(failed, self._request_id, close=self._is_unread())
        finally:
            call.cancel()
            self._end_body()

    def _end_body(self) -> None:
        if self._messages is not None:
            self._messages.end()

    def _is_unread(self) -> bool:
        """Whether there is more of the body, or something that is none."""
        content = self._request.content
        return not content.is_eof() or content.exception() is not None

    def _fault(self) -> RequestError | None:
        return self._messages.fault if self._messages else None

    def _replies(self) -> Replies:
        return Replies(
            self._request,
            self._request_id,
            self._binding,
            self._message,
            fault=self._fault,
            is_unread=self._is_unread,
            keepalive_seconds=self._keepalive_seconds,
        )

    async def _once(self, call: Any) -> Response:
        """Answers with the one reply of a client stream."""
        assert self._messages is not None
        try:
            reply = await call
        except asyncio.CancelledError as cancelled:
            failed = await failure_of(cancelled, call)
            if self._messages.fault is None:
                raise failed from None
            self._messages.fault.close = True
            raise self._messages.fault from None
        status = self._binding.success_status
        written = None if status == 204 else orjson.dumps(self._binding.write(reply))
        more = headers.returned(await call.trailing_metadata())
        return Response(status, self._request_id, written, more=more, close=self._is_unread())


async def check_call(binding: Binding, method: Any, metadata: Metadata, seconds: float) -> None:
    """Makes a call without records, for what the server says of its metadata: AioRpcError."""
    request = _nothing() if binding.request_records else binding.request_class()
    call = method(request, metadata=metadata, timeout=seconds)
    try:
        if binding.response_records is None:
            await call
        else:
            await anext(aiter(call), None)
    finally:
        call.cancel()


async def _nothing() -> AsyncIterator[Any]:
    nothing: tuple[Any, ...] = ()
    for message in nothing:
        yield message
