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
    """The bytes of a record, and the number of its last line in the text, from 1."""

    line: int
    data: bytes


class Batch(NamedTuple):
    """Records and their bytes, whether they are the last, and what is wrong with the next line."""

    records: list[Record]
    size: int
    is_last: bool
    fault: RequestError | None = None


def batch_of(
    records: Iterator[Record | None], most_lines: int, most: int, most_bytes: int
) -> Batch:
    """Takes the next records, up to the one that makes them so many or so many bytes."""
    batch: list[Record] = []
    lines = size = 0
    try:
        for record in islice(records, most_lines):
            lines += 1
            if record is not None:
                batch.append(record)
                size += len(record.data)
                if len(batch) == most or size >= most_bytes:
                    return Batch(batch, size, is_last=False)
    except RequestError as fault:
        return Batch(batch, size, is_last=True, fault=fault)
    return Batch(batch, size, is_last=lines < most_lines)


class Added(NamedTuple):
    """How many records have been added to a message, and what is wrong with the next, if it is."""

    number: int
    fault: RequestError | None = None


class Form(Protocol):
    """A form that records have in a body, such as NDJSON. It reads one body.

    None is yielded for a line that ends no record, so that the caller can yield to the event loop.
    """

    def cut(self, data: bytes) -> Iterator[Record | None]:
        """Yields the records that end within the next piece of the body. Raises RequestError."""

    def rest(self) -> Iterator[Record | None]:
        """Yields the record that the end of the body ends. Raises RequestError."""

    def add(self, records: Sequence[Record], message: Any) -> Added:
        """Adds records to a request message, up to one that cannot be read at all."""


class Lines:
    """Cuts bytes into numbered lines, each with its line break; the mark at the start is left out.

    Every byte is looked at once, however small the pieces are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._begun = bytearray()

    def cut(self, data: bytes) -> Iterator[Record]:
        """Yields the lines that end within the data. Raises RequestError for one too long."""
        *whole, last = data.split(b"\n")
        # The first alone may go on with what has begun, or bear the mark.
        for first in whole[:1]:
            yield self._line(first + b"\n")
        for line in whole[1:]:
            self.count += 1
            if len(line) >= MAX_RECORD_BYTES:
                raise too_long(self.count)
            yield Record(self.count, line + b"\n")
        self._begun += last
        if len(self._begun) > MAX_RECORD_BYTES:
            raise too_long(self.count + 1)

    def rest(self) -> Iterator[Record]:
        """Yields the last line, if no line break ends it."""
        if self._begun:
            yield self._line(b"")

    def _line(self, end: bytes) -> Record:
        line = end
        if self._begun:
            line = bytes(self._begun) + end
            self._begun.clear()
        self.count += 1
        if len(line) > MAX_RECORD_BYTES:
            raise too_long(self.count)
        if self.count == 1:
            line = line.removeprefix(BOM)
        return Record(self.count, line)


def added_in_turn(
    add: Callable[[Record, Any], None], records: Sequence[Record], message: Any
) -> Added:
    """Adds records by what adds one, or raises RequestError."""
    for count, record in enumerate(records):
        try:
            add(record, message)
        except RequestError as fault:
            return Added(count, fault)
    return Added(len(records))


def too_long(line: int) -> RequestError:
    """Returns the fault of a record that begins in this line, or goes on there, and is too long."""
    message = f"has a record of more than {MAX_RECORD_BYTES:,} bytes (line {line})"
    return single_violation("TOO_LONG", message)
