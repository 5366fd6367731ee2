"""Reads an uploaded file with the parsers of the gateway, as the messages of an import.

The file is read in chunks and parsed in other threads, so memory use does not depend on its size. A
ZIP archive is copied to a temporary file without a name while it is read.
"""

from __future__ import annotations

import asyncio
from codecs import BOM_UTF8
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Generic, NamedTuple, TypeVar

from roster.v1 import http_pb2
from roster.v1 import subscribers_pb2 as pb
from rosterd.http_gateway.policy import Annotations
from rosterd.http_gateway.request_errors import RequestError
from rosterd.http_gateway.routing.stream_fields import request_records
from rosterd.http_gateway.streams.body_formats import csv_parser, is_json
from rosterd.http_gateway.streams.charsets import Converter
from rosterd.http_gateway.streams.csv_lines import CsvParser
from rosterd.http_gateway.streams.ndjson import NdjsonParser
from rosterd.http_gateway.streams.records import MAX_RECORD_BYTES, Record, next_batch
from rosterd.http_gateway.streams.unpacking import Unpacking

from ....rpc.errors import Detail, Unavailable, ValidationError
from ....rpc.field_options import field_options

# The limits of one message, so that the thread that parses it delays calls for a few milliseconds.
MAX_ROWS = 200
MAX_BYTES = 256 * 1024
# A file is parsed in pieces of so many bytes.
PIECE_BYTES = 128 * 1024

Read = TypeVar("Read")

_FIELDS = request_records(
    pb.ImportSubscribersRequest.DESCRIPTOR,
    "subscribers",
    frozenset(),
    Annotations(
        of_field=field_options,
        ignored_keys=lambda message: message.GetOptions().Extensions[http_pb2.ignored_keys],
        forbids_controls=lambda file: file.GetOptions().Extensions[http_pb2.no_control_characters],
        csv_line=http_pb2.CsvLine.DESCRIPTOR.full_name,
    ),
)


class FileMessage(NamedTuple):
    """Rows of a file, of `size` bytes. `texts` are the rows as they were written."""

    request: pb.ImportSubscribersRequest
    texts: list[bytes]
    size: int


class FileReader(Generic[Read]):
    """Reads one file. `open_file` returns its bytes; `format` and `delimiter` are set once known.

    ValidationError is raised after the rows before an error in the file.
    """

    def __init__(
        self,
        open_file: Callable[[], AsyncGenerator[bytes, None]],
        charset: str,
        read: Callable[[FileMessage], Read],
        *,
        delimiter: str = "",
        max_rows: int = MAX_ROWS,
    ) -> None:
        """`read` is called with each message in the thread that parsed it.

        Without a delimiter, that of CSV is recognized. A message has at most `max_rows` rows,
        which can be changed for the next ones. Raises ValidationError for an unknown charset.
        """
        self._open = open_file
        self._read = read
        self.max_rows = max_rows
        # The number of bytes of the file that were read.
        self.bytes = 0
        # The name of the file in a ZIP archive, once it is read.
        self.names: list[str] = []
        self._charset = charset
        self._delimiter = delimiter
        self._converter = check_charset(charset)
        self._parser: CsvParser | NdjsonParser | None = None

    @property
    def format(self) -> str:
        """The format, "csv" or "json"; empty before the first row."""
        if self._parser is None:
            return ""
        return "csv" if isinstance(self._parser, CsvParser) else "json"

    @property
    def delimiter(self) -> str:
        return self._parser.delimiter if isinstance(self._parser, CsvParser) else ""

    @property
    def charset(self) -> str:
        """The encoding that is known so far: a byte order mark takes precedence."""
        mark = self._converter.byte_order_mark
        if mark:
            return "utf-8" if mark == BOM_UTF8 else "utf-16"
        return self._charset or "utf-8"

    async def messages(self) -> AsyncGenerator[Read, None]:
        """Yields what `read` returns for the rows, the header of a CSV file first."""
        try:
            async with aclosing(self._texts()) as texts:
                start = b""
                async for text in texts:
                    if self._parser is None:
                        text = start = start + text
                        self._parser = _parser_for(start, self._delimiter)
                    if self._parser is not None:
                        async for read in self._parsed(self._parser, self._parser.feed(text)):
                            yield read
            self._parser = self._parser or csv_parser(_FIELDS, self._delimiter)
            async for read in self._parsed(self._parser, self._parser.finish()):
                yield read
        except RequestError as error:
            raise _converted(error) from None

    async def _parsed(
        self, parser: CsvParser | NdjsonParser, records: Iterator[Record | None]
    ) -> AsyncGenerator[Read, None]:
        is_last = False
        while not is_last:
            results, is_last, error = await asyncio.to_thread(self._next, parser, records)
            for result in results:
                yield result
            if error is not None:
                raise error

    def _next(
        self, parser: CsvParser | NdjsonParser, records: Iterator[Record | None]
    ) -> tuple[list[Read], bool, RequestError | None]:
        """Returns what `read` returns for the next rows, if there are any; see `_next_message`."""
        message, is_last, error = _next_message(parser, records, self.max_rows)
        return [self._read(message)] if message.texts else [], is_last, error

    async def _texts(self) -> AsyncGenerator[bytes, None]:
        """Yields the content in UTF-8."""
        unpacking = Unpacking(self._pieces())
        self.names = unpacking.names
        is_archive = await unpacking.is_archive()
        pieces = unpacking.unpacked if is_archive else unpacking.pieces
        async with aclosing(pieces()) as chunks:
            async for chunk in chunks:
                for text in self._converter.feed(chunk):
                    yield text
        for text in self._converter.feed(b"", is_last=True):
            yield text

    async def _pieces(self) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._open()) as chunks:
            async for chunk in chunks:
                for start in range(0, len(chunk), PIECE_BYTES):
                    piece = chunk[start : start + PIECE_BYTES]
                    self.bytes += len(piece)
                    yield piece


def check_charset(charset: str) -> Converter:
    """Returns the converter of a file to UTF-8. Raises ValidationError for an unknown charset."""
    try:
        return Converter(charset, "charset")
    except RequestError as error:
        raise _converted(error) from None


def _parser_for(start: bytes, delimiter: str) -> CsvParser | NdjsonParser | None:
    """Returns the parser for a file by its first bytes, or None if they are too few."""
    has_json = is_json(start)
    if has_json is None and len(start) < MAX_RECORD_BYTES:
        return None
    return NdjsonParser(_FIELDS) if has_json else csv_parser(_FIELDS, delimiter)


def _next_message(
    parser: CsvParser | NdjsonParser, records: Iterator[Record | None], max_rows: int
) -> tuple[FileMessage, bool, RequestError | None]:
    """Returns the next rows, whether none follow, and the error in the row that follows, if any."""
    request, texts, size = pb.ImportSubscribersRequest(), list[bytes](), 0
    is_last, error = False, None
    while not is_last and len(texts) < max_rows and size < MAX_BYTES:
        batch = next_batch(records, max_rows, max_rows - len(texts), MAX_BYTES - size)
        added = parser.add(batch.records, request)
        texts += [record.data for record in batch.records[: added.number]]
        size += batch.size
        error = added.error or batch.error
        is_last = batch.is_last or error is not None
    return FileMessage(request, texts, size), is_last, error


def _converted(error: RequestError) -> Exception:
    """Returns the error of the service for an error of a parser."""
    found = error.error
    if found.reason == "UNAVAILABLE":
        return Unavailable()
    details = [Detail(each.field, each.code, each.message) for each in found.details]
    return ValidationError(details or [Detail("", "INVALID_FORMAT", found.message)], found.message)
