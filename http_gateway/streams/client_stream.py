"""Reads the body of a client stream, and yields request messages while it arrives.

The body can have any size. Records are sent to the server when they have arrived, and the body is
read only as fast as the server requests messages. The request fails if no data arrives for
`stream_idle_seconds`. A ZIP archive is unpacked when its end has arrived.

If a client does not read the response, no more messages are sent to the server, and the rest of the
body is discarded, because browsers read no response before their upload ends.

An error in the body ends the messages. If the response is a stream, the server first responds to
the messages before the error, which is then the last record. If there is only one response, the
call is canceled, so that the server does not treat an incomplete body as complete.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from aiohttp import web

from .. import body, errors
from ..request import Request
from ..request_errors import RequestError, request_error
from ..routing.bindings import Binding
from ..routing.stream_fields import RequestRecords
from . import csv_lines, ndjson, unpacking
from .body_formats import archive_parser, csv_parser, unsupported_error
from .charsets import Converter
from .ndjson import NdjsonParser
from .records import Record, RecordParser, next_batch
from .unpacking import Unpacking

log = logging.getLogger(__name__)

# The size of the records from which a message is sent. With the record that exceeds it and the
# overhead of protobuf, a message stays within the 4 MiB that a gRPC server accepts.
MESSAGE_BYTES = 256 * 1024
# After this number of lines the parser yields to the event loop.
LINES_AT_ONCE = 250
_UTF_8 = ("", "utf-8", "utf8")


def parser_of(request: Request, fields: RequestRecords) -> RecordParser | None:
    """Returns the parser for a body by its headers; None if it must be an archive.

    Raises RequestError if the type of the body is not supported.
    """
    body.check_not_compressed(request)
    media_type, charset = body.media_type(request.headers.get("Content-Type", ""))
    if charset in _UTF_8 or fields.charset_field is not None:
        if media_type in ndjson.REQUEST_TYPES:
            return NdjsonParser(fields)
        if media_type == csv_lines.CONTENT_TYPE and fields.csv_field is not None:
            return csv_parser(fields)
        if media_type in unpacking.MEDIA_TYPES:
            return None
    raise unsupported_error(fields)


def converter_of(request: Request, fields: RequestRecords, message: Any) -> Converter | None:
    """Returns the converter of a body to UTF-8, or None if the body must be in UTF-8.

    Raises RequestError if the charset that the message or the headers name is unknown.
    """
    field = fields.charset_field
    if field is None:
        return None
    charset = getattr(message, field.name)
    if not charset:
        charset = body.media_type(request.headers.get("Content-Type", ""))[1]
    return Converter(charset, field.json_name)


class RequestMessages:
    """Iterates over the request messages of a body, once.

    Each message contains the fields of `first`, which come from the path and the query. A body
    without records is one message, if messages have fields other than records. After the end,
    `error` is the error in the body, if any.
    """

    def __init__(
        self,
        request: Request,
        binding: Binding,
        parser: RecordParser | None,
        first: Any,
        check: Callable[[Any], None] | None = None,
    ) -> None:
        """Without a parser, the body must be an archive. `check` rejects messages."""
        fields = binding.request_records
        assert fields is not None
        self._request = request
        self._parser = parser
        self._converter = converter_of(request, fields, first)
        self._first = first
        self._check = check
        self._fields = fields
        self._has_one_response = binding.response_records is None
        self._reading: asyncio.Task[Any] | None = None
        # Creates the error that ends the messages; None while the body is read.
        self._stopped: Callable[[], RequestError] | None = None
        self.error: RequestError | None = None

    async def __aiter__(self) -> AsyncIterator[Any]:
        is_empty = True
        try:
            async with aclosing(self._records()) as all_records:
                async for parser, records in all_records:
                    async for message in self._messages(parser, records):
                        if self._check is not None:
                            self._check(message)
                        is_empty = False
                        yield message
            if is_empty and self._fields.name:
                yield self._first
        except RequestError as error:
            self.error = error
        except OSError:  # the client disconnected
            raise
        except Exception:
            log.exception("a body could not be read")
            self.error = request_error("INTERNAL", errors.INTERNAL.message, close=True)
        if self.error is not None and self._has_one_response:
            raise self.error

    async def _records(self) -> AsyncGenerator[tuple[RecordParser, Iterator[Record | None]], None]:
        """Yields the records of each piece of the body, and their parser."""
        await body.send_continue(self._request)
        unpacking, parser = Unpacking(self._body()), self._parser
        pieces = unpacking.pieces
        is_archive = await unpacking.is_archive()
        if is_archive:
            parser, pieces = archive_parser(self._fields), unpacking.unpacked
            self._parser = parser
        elif parser is None:
            raise unsupported_error(self._fields)
        async with aclosing(self._texts(pieces())) as texts:
            async for text in texts:
                if is_archive:
                    self._check_not_stopped()
                yield parser, parser.feed(text)
        yield parser, parser.finish()

    async def _messages(
        self, parser: RecordParser, records: Iterator[Record | None]
    ) -> AsyncIterator[Any]:
        """Yields messages with records, also those before an error."""
        message, count, size = self._new_message(), 0, 0
        while True:
            batch = next_batch(
                records, LINES_AT_ONCE, self._fields.max_per_message - count, MESSAGE_BYTES - size
            )
            added = parser.add(batch.records, message)
            count, size, error = count + added.number, size + batch.size, added.error or batch.error
            is_last = batch.is_last or error is not None
            if count and (
                is_last or count == self._fields.max_per_message or size >= MESSAGE_BYTES
            ):
                yield message
                message, count, size = self._new_message(), 0, 0
            if error is not None:
                raise error
            if is_last:
                return
            await asyncio.sleep(0)

    def _new_message(self) -> Any:
        message = type(self._first)()
        message.CopyFrom(self._first)
        return message

    async def _body(self) -> AsyncGenerator[bytes, None]:
        """Yields the data of the body as it arrives. Raises RequestError if it is incomplete."""
        while data := await self._read():
            yield data

    async def _texts(self, pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Yields the pieces of the body in UTF-8."""
        async with aclosing(pieces):
            async for data in pieces:
                for text in self._converter.feed(data) if self._converter else (data,):
                    yield text
        if self._converter is not None:
            for text in self._converter.feed(b"", is_last=True):
                yield text

    async def _read(self) -> bytes:
        self._check_not_stopped()
        # In its own task, which `stop` can cancel.
        reading = asyncio.ensure_future(self._request.content.readany())
        self._reading = reading
        seconds = self._request.options.stream_idle_seconds
        try:
            async with asyncio.timeout(seconds):
                return await reading
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or not task.cancelling():
                self._check_not_stopped()
            raise
        except TimeoutError:
            raise timeout_error(seconds) from None
        except (web.RequestPayloadError, OSError):
            if self._request.transport is None:
                raise
            raise body.incomplete_error() from None

    def _check_not_stopped(self) -> None:
        if self._stopped is not None:
            raise self._stopped() from None

    def stop(self) -> None:
        """Stops reading the body: the call has ended, or the gateway is draining."""
        self._stopped = self._stopped or _stopped_error
        if self._reading is not None:
            self._reading.cancel()

    async def discard_rest(self) -> bool:
        """Ends the messages and discards the rest of the body, for a client that stopped reading.

        Returns whether the client may read the response now: it has sent the body to its end.
        """
        if self._stopped is not None or self._request.content.is_eof():
            return False
        self._stopped = self._unread_error
        if self._reading is not None and not self._reading.done():
            self._reading.cancel()
            await asyncio.wait([self._reading])
        seconds = self._request.options.stream_idle_seconds
        reading = asyncio.ensure_future(body.discard(self._request, seconds))
        self._reading = reading
        await asyncio.wait([reading])
        return not reading.cancelled() and reading.result()

    def _unread_error(self) -> RequestError:
        last_line = self._parser.last_line if self._parser is not None else 0
        values = self._fields.fewer_records(self._first)
        return unread_error(self._request.options.write_seconds, last_line, values)


def unread_error(seconds: float, last_line: int, values: Sequence[str] = ()) -> RequestError:
    """Returns the error for a response that was not read. `values` return fewer records."""
    message = (
        f"The client did not read the response for {seconds:.0f} seconds while it sent the body."
        f" All lines up to {last_line} were processed, and no others."
    )
    if values:
        message += f" To receive fewer records, use {' or '.join(values)}."
    return request_error("RESPONSE_NOT_READ", message)


def timeout_error(seconds: float) -> RequestError:
    message = f"No data of the body was received for {seconds:.0f} seconds."
    return request_error("REQUEST_TIMEOUT", message, close=True)


def _stopped_error() -> RequestError:
    message = "The server is shutting down. Send the remaining records again."
    return request_error("UNAVAILABLE", message, close=True)
