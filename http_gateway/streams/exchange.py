"""Calls that stream, over HTTP: a text of records in, a text of records out, or one of both.

The call begins before the body is read, and the answer with the first records that
the server gives: so whoever may not make the call gets an error like any other, its
body unread. From then on both go on side by side. Neither has a deadline: it is idle
bodies and idle readers that are cut off. When the client goes, the call is cancelled.

What fails once the answer has begun is its last record, `{"error": …}`, in NDJSON. CSV
has no place for it: there the answer breaks off.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import orjson
from aiohttp import web
from grpc.aio import AioRpcError
from roster.v1 import errors_pb2

from .. import errors, headers
from ..answers import Answer
from ..connections import watched
from ..faults import Reason
from ..headers import Metadata
from ..routing.bindings import Binding
from . import csv_lines, ndjson
from .answer import StreamedAnswer
from .requests import Messages, form_of

log = logging.getLogger(__name__)

NDJSON = "application/x-ndjson"
CSV = "text/csv; charset=utf-8"


class Exchange:
    """A request for an rpc that streams, on its way to an answer.

    `message` holds what the request says beside its records. Raises RequestFault if
    the body is of a kind that is not read.
    """

    def __init__(
        self, request: web.BaseRequest, request_id: str, binding: Binding, message: Any
    ) -> None:
        self._request = request
        self._request_id = request_id
        self._binding = binding
        self._message = message
        self._messages: Messages | None = None
        if binding.requests is not None:
            form = form_of(request, binding.requests)
            self._messages = Messages(request, binding, form, message)

    async def answer(self, method: Any, metadata: Metadata) -> Answer | StreamedAnswer:
        """Makes the call by what `method` makes calls with, and answers the request.

        Raises RequestFault for a body at fault of a call that is answered once.
        """
        call = method(self._messages or self._message, metadata=metadata)
        task = asyncio.current_task()
        assert task is not None
        try:
            with watched(self._request, on_lost=task.cancel, on_closing=self._end_body):
                return await (self._once(call) if self._binding.replies is None else self._on(call))
        except AioRpcError as failed:
            return errors.failure(failed, self._request_id, close=self._is_unread())
        finally:
            call.cancel()
            self._end_body()

    def _end_body(self) -> None:
        if self._messages is not None:
            self._messages.end()

    def _is_unread(self) -> bool:
        return not self._request.content.is_eof()

    async def _once(self, call: Any) -> Answer:
        """Answers with the one reply of a client stream."""
        assert self._messages is not None
        try:
            reply = await call
        except asyncio.CancelledError:
            if self._messages.fault is None:
                raise
            self._messages.fault.close = True
            raise self._messages.fault from None
        status = self._binding.success_status
        written = None if status == 204 else orjson.dumps(self._binding.write(reply))
        more = headers.returned(await call.trailing_metadata())
        return Answer(status, self._request_id, written, more=more, close=self._is_unread())

    async def _on(self, call: Any) -> Answer | StreamedAnswer:
        """Answers with the replies of a server stream, as they come."""
        answer = StreamedAnswer(self._request, self._binding.success_status, self._request_id)
        try:
            error = await self._pass_on(call, answer)
            if error is not None and not answer.has_begun:
                return errors.response(error, self._request_id, close=self._is_unread())
            if not answer.has_begun:
                await answer.begin(NDJSON)
            if error is not None:
                await self._end_by(error, answer)
            await answer.end()
        except ConnectionError:
            answer.break_off()
        return answer

    async def _pass_on(self, call: Any, answer: StreamedAnswer) -> errors_pb2.Error | None:
        """Writes the records of the replies. Returns what went wrong, if anything did."""
        try:
            async for reply in call:
                content_type, records = self._written(reply)
                if records and not answer.has_begun:
                    await answer.begin(content_type)
                if answer.is_head and answer.has_begun:
                    return None
                if records:
                    await answer.write(records)
        except AioRpcError as failed:
            if not answer.has_begun:
                raise
            return errors.error_of(failed)
        except ConnectionError:
            raise
        except Exception:
            log.exception("the gateway failed", extra={"requestId": self._request_id})
            return errors_pb2.Error(reason=Reason.Value("INTERNAL"), message=errors.FAILED)
        fault = self._messages.fault if self._messages else None
        return fault.error if fault else None

    def _written(self, reply: Any) -> tuple[str, bytes]:
        """Returns the records of a reply and their content type; without records, no bytes."""
        fields = self._binding.replies
        assert fields is not None
        if fields.lines is not None and (lines := getattr(reply, fields.lines)):
            return CSV, csv_lines.written(lines)
        return NDJSON, ndjson.written(fields.write, getattr(reply, fields.name))

    async def _end_by(self, error: errors_pb2.Error, answer: StreamedAnswer) -> None:
        """Tells of an error in an answer that has begun. Raises ConnectionError where it cannot."""
        if answer.content_type != NDJSON:
            raise ConnectionAbortedError("a table has no place for an error")
        answer.keep_alive = False
        await answer.write(errors.written(error, self._request_id) + b"\n")


async def try_out(binding: Binding, method: Any, metadata: Metadata) -> None:
    """Makes a call without records, for what the server says of its metadata: AioRpcError."""
    call = method(_nothing() if binding.requests else binding.request_class(), metadata=metadata)
    try:
        if binding.replies is None:
            await call
        else:
            await anext(aiter(call), None)
    finally:
        call.cancel()


async def _nothing() -> AsyncIterator[Any]:
    nothing: tuple[Any, ...] = ()
    for message in nothing:
        yield message
