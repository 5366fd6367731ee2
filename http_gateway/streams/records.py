"""Splits a body of unknown length into records.

A body arrives in pieces of any size. At most one incomplete record is buffered, and no record
is longer than MAX_RECORD_BYTES.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol

from ..request_errors import RequestError, single_violation

MAX_RECORD_BYTES = 1024 * 1024
BOM = b"\xef\xbb\xbf"


class Record(NamedTuple):
    """The bytes of a record, and the number of its last line in the body, from 1.

    The number of an item of a JSON array is its position.
    """

    line: int
    data: bytes
    # Whether the record is a malformed row of CSV. Its data is well-formed CSV of its cells.
    is_malformed: bool = False


class Batch(NamedTuple):
    """Records, their size in bytes, and the error in the line that follows them, if any."""

    records: list[Record]
    size: int
    is_last: bool
    error: RequestError | None = None


def next_batch(
    records: Iterator[Record | None], max_lines: int, max_records: int, min_bytes: int
) -> Batch:
    """Reads records until one of the maxima or a size of `min_bytes` is reached."""
    batch: list[Record] = []
    lines = size = 0
    try:
        for record in islice(records, max_lines):
            lines += 1
            if record is not None:
                batch.append(record)
                size += len(record.data)
                if len(batch) == max_records or size >= min_bytes:
                    return Batch(batch, size, is_last=False)
    except RequestError as error:
        return Batch(batch, size, is_last=True, error=error)
    return Batch(batch, size, is_last=lines < max_lines)


class Added(NamedTuple):
    """The number of records added to a message, and the error in the record after them, if any."""

    number: int
    error: RequestError | None = None


class RecordParser(Protocol):
    """Parses one body in a format such as NDJSON. Methods raise RequestError.

    The iterators yield None for a line that ends no record, so that the caller can yield to the
    event loop. `last_line` is the number of the last line that was added to a message.
    """

    last_line: int

    def feed(self, data: bytes) -> Iterator[Record | None]:
        """Yields the records that end within the next piece of the body."""

    def finish(self) -> Iterator[Record | None]:
        """Yields the record that ends with the body."""

    def add(self, records: Sequence[Record], message: Any) -> Added:
        """Adds records to a request message, up to the first that is invalid."""


class LineSplitter:
    """Splits a body into numbered lines with their line breaks, without a byte order mark.

    A line break is LF, CRLF or CR. Each byte is examined once, regardless of the size of the
    pieces.
    """

    def __init__(self) -> None:
        self._count = 0
        self._incomplete = bytearray()
        # A CR at the end of a piece, until the next one shows whether it is that of a CRLF.
        self.held_back = b""

    def feed(self, data: bytes) -> Iterator[Record]:
        """Yields the lines that end within the data. Raises RequestError for one too long."""
        data = self.held_back + data
        self.held_back = b"\r" if data.endswith(b"\r") else b""
        lines = data.splitlines(keepends=True)
        last = lines.pop() if lines and not data.endswith(b"\n") else b""
        # Only the first can continue the incomplete line or contain the byte order mark.
        for first in lines[:1]:
            yield self._line(first)
        for line in lines[1:]:
            self._count += 1
            if len(line) > MAX_RECORD_BYTES:
                raise too_long_error(self._count)
            yield Record(self._count, line)
        self._incomplete += last.removesuffix(self.held_back)
        if len(self._incomplete) > MAX_RECORD_BYTES:
            raise too_long_error(self._count + 1)

    def finish(self) -> Iterator[Record]:
        """Yields the last line if it has no line break."""
        if self._incomplete or self.held_back:
            yield self._line(self.held_back)

    def _line(self, end: bytes) -> Record:
        line = end
        if self._incomplete:
            line = bytes(self._incomplete) + end
            self._incomplete.clear()
        self._count += 1
        if len(line) > MAX_RECORD_BYTES:
            raise too_long_error(self._count)
        if self._count == 1:
            line = line.removeprefix(BOM)
        return Record(self._count, line)


def add_each(add: Callable[[Record, Any], None], records: Sequence[Record], message: Any) -> Added:
    """Adds records with a function that adds one record or raises RequestError."""
    for count, record in enumerate(records):
        try:
            add(record, message)
        except RequestError as error:
            return Added(count, error)
    return Added(len(records))


def too_long_error(line: int) -> RequestError:
    """Returns the error for a record of which a line exceeds MAX_RECORD_BYTES."""
    message = f"has a record of more than {MAX_RECORD_BYTES:,} bytes (line {line})"
    return single_violation("TOO_LONG", message)
