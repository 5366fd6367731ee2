"""The body of a client stream: from its bytes, as they arrive, to request messages.

There is no limit to the whole. What has arrived is made into messages and handed on
at once, and no more is read before the server asks for it; so a slow client gets its
answers as it goes, and a fast one is held back. An idle one is cut off.

A fault of the body ends the messages. Where the server answers as it goes, they just
end: it says what became of those before, and the fault is told after that. Where it
answers once, at the end, the call is cancelled: half a body must not pass for a whole.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from typing import Any

from aiohttp import web

from .. import body, errors
from ..request_errors import RequestError, request_error
from ..routing.bindings import Binding
from ..routing.stream_fields import RequestRecords
from . import csv_lines, ndjson
from .csv_lines import CsvLines
from .ndjson import Ndjson
from .records import Form, Record, batch_of

log = logging.getLogger(__name__)

# How long nothing may come of a body, in seconds.
IDLE_SECONDS = 30.0
# A message is sent on once it holds records of so many bytes: with the one that goes beyond
# it, and with what protobuf adds, it keeps within the 4 MiB that a gRPC server takes.
MESSAGE_BYTES = 256 * 1024
# After so many lines everyone else on the event loop has a turn.
LINES_AT_ONCE = 250


def form_of(request: web.BaseRequest, fields: RequestRecords) -> Form:
    """Returns what reads the body, by its headers. Raises RequestError if nothing does."""
    body.check_not_compressed(request)
    content_type = request.headers.get("Content-Type")
    kind = "" if content_type is None else body.text_type(content_type)
    if kind == "" or kind in ndjson.CONTENT_TYPES:
        return Ndjson(fields)
    if kind == csv_lines.CONTENT_TYPE and fields.csv_field is not None:
        return CsvLines(fields.csv_field)
    also = " or text/csv" if fields.csv_field is not None else ""
    message = f"The Content-Type must be {ndjson.CONTENT_TYPE}{also} with charset UTF-8."
    raise request_error("UNSUPPORTED_MEDIA_TYPE", message, close=True)


class Messages:
    """The request messages that a body makes; an iterator, for one call.

    `first` holds what comes from elsewhere than the body, and is in every message. A body
    without records is one message, if messages hold more than a record.
    After the end, `fault` tells what is wrong with the body.
    """

    def __init__(self, request: web.BaseRequest, binding: Binding, form: Form, first: Any) -> None:
        assert binding.request_records is not None
        self._request = request
        self._form = form
        self._first = first
        self._most = binding.request_records.max_per_message
        self._has_other_fields = bool(binding.request_records.name)
        self._answered_at_the_end = binding.response_records is None
        self._reading: asyncio.Task[bytes] | None = None
        self._is_over = False
        self.fault: RequestError | None = None

    async def __aiter__(self) -> AsyncIterator[Any]:
        is_empty = True
        try:
            async for data in self._pieces():
                async for message in self._messages(self._form.cut(data)):
                    is_empty = False
                    yield message
            async for message in self._messages(self._form.rest()):
                is_empty = False
                yield message
            if is_empty and self._has_other_fields:
                yield self._first
        except RequestError as found:
            self.fault = found
        except OSError:  # the client has gone
            raise
        except Exception:
            log.exception("a body could not be read")
            self.fault = request_error("INTERNAL", errors.FAILED, close=True)
        if self.fault is not None and self._answered_at_the_end:
            raise self.fault

    async def _messages(self, records: Iterator[Record | None]) -> AsyncIterator[Any]:
        """Yields messages of records; before a fault, those that hold what came before it."""
        message, count, size = self._new(), 0, 0
        while True:
            batch = batch_of(records, LINES_AT_ONCE, self._most - count, MESSAGE_BYTES - size)
            added = self._form.add(batch.records, message)
            count, size, found = count + added.number, size + batch.size, added.fault or batch.fault
            is_last = batch.is_last or found is not None
            if count and (is_last or count == self._most or size >= MESSAGE_BYTES):
                yield message
                message, count, size = self._new(), 0, 0
            if found is not None:
                raise found
            if is_last:
                return
            await asyncio.sleep(0)

    def _new(self) -> Any:
        message = type(self._first)()
        message.CopyFrom(self._first)
        return message

    async def _pieces(self) -> AsyncIterator[bytes]:
        """Yields the body as it comes. Raises RequestError if the rest of it does not come."""
        await body.send_continue(self._request)
        while data := await self._piece():
            yield data

    async def _piece(self) -> bytes:
        if self._is_over:
            raise _stopped()
        # In a task of its own, so that `end` can end it whoever waits for it.
        self._reading = asyncio.ensure_future(self._request.content.readany())
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                return await self._reading
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise _stopped() from None
        except TimeoutError:
            raise timeout_error() from None
        except (web.RequestPayloadError, OSError):
            if self._request.transport is None:
                raise
            message = "The body is incomplete, or its chunked encoding is invalid."
            raise request_error("VALIDATION_ERROR", message, close=True) from None

    def end(self) -> None:
        """Takes nothing of the body any more: the call is over, or the gateway stops."""
        self._is_over = True
        if self._reading is not None:
            self._reading.cancel()


def timeout_error() -> RequestError:
    """Returns the fault of a body of which nothing comes in time."""
    message = f"No data of the body was received for {IDLE_SECONDS:.0f} seconds."
    return request_error("REQUEST_TIMEOUT", message, close=True)


def _stopped() -> RequestError:
    return request_error(
        "UNAVAILABLE", "The server is shutting down. Send the remaining records again.", close=True
    )
