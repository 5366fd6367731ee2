"""Records: the parts of a body that has no end one knows of, and how they are cut out of it.

A body comes in pieces of any size. What is kept of it is at most one record that
has not ended yet, and no record is longer than MAX_RECORD_BYTES.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from ..faults import RequestFault, invalid_body

MAX_RECORD_BYTES = 1024 * 1024
BOM = b"\xef\xbb\xbf"


class Record(NamedTuple):
    """The bytes of a record, and the number of its last line in the text, from 1."""

    line: int
    data: bytes


class Form(Protocol):
    """A form that records have in a body, such as NDJSON. It reads one body.

    For a line that ends no record None is yielded, so that whoever reads many of them
    can let others have their turn.
    """

    def cut(self, data: bytes) -> Iterator[Record | None]:
        """Yields the records that end within the next piece of the body. Raises RequestFault."""

    def rest(self) -> Iterator[Record | None]:
        """Yields the record that the end of the body ends. Raises RequestFault."""

    def add(self, record: Record, message: Any) -> None:
        """Adds a record to a request message. Raises RequestFault if it cannot be read at all."""


class Lines:
    """Cuts bytes into numbered lines, each with its line break; the mark at the start is left out.

    Every byte is looked at once, however small the pieces are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._begun = bytearray()

    def cut(self, data: bytes) -> Iterator[Record]:
        """Yields the lines that end within the data. Raises RequestFault for one too long."""
        *pieces, last = data.split(b"\n")
        for piece in pieces:
            yield self._line(piece + b"\n")
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


def too_long(line: int) -> RequestFault:
    """Returns the fault of a record that begins in this line, or goes on there, and is too long."""
    message = f"a record may have at most {MAX_RECORD_BYTES:,} bytes (line {line})"
    return invalid_body("TOO_LONG", message)
