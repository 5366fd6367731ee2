"""CSV by RFC 4180: a record is a line, or several where a quoted cell holds line breaks.

The standard library's reader wants whole records and pulls them; a body brings pieces
of them. So the ends of records are found first, by following the quotes from line to
line, each byte once; then the reader gets one whole record at a time. The first record
is the header. Which of comma, semicolon and tab stands between cells is what the header
has most of outside its quotes.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ..request_errors import single_violation
from .records import MAX_RECORD_BYTES, Added, Lines, Record, added_in_turn, too_long

CONTENT_TYPE = "text/csv"
# The standard library's own limit holds for the whole process. A cell that is too long
# is for the server to refuse, in its row; records are bounded where they are cut.
csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD_BYTES))

_DELIMITERS = (b",", b";", b"\t")
# From behind an opening quote up to the quote that closes it, or to the end.
_QUOTED = re.compile(rb'(?:[^"]++|"")*+')
_QUOTED_CELL = re.compile(rb'"(?:[^"]++|"")*+"?')


class CsvLines:
    """Reads a body of CSV into the lines of a table. Whatever is wrong with one ends the stream."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lines = Lines()
        # Until the header is whole, every delimiter that there is may end a cell.
        self._end_of_cell = re.compile(b"[,;\t]")
        self._delimiter = ""
        self._begun = bytearray()
        self._is_open = False
        self._first_line = 0

    def cut(self, data: bytes) -> Iterator[Record | None]:
        for line in self._lines.cut(data):
            yield self._ended_by(line)

    def rest(self) -> Iterator[Record | None]:
        for line in self._lines.rest():
            yield self._ended_by(line)
        if self._is_open:
            raise single_violation(
                "INVALID_FORMAT", f"has a quoted cell that is not closed (line {self._first_line})"
            )

    def _ended_by(self, line: Record) -> Record | None:
        """Returns the record that a line ends, or None if it ends none."""
        if not self._is_open:
            if not line.data.strip(b"\r\n"):
                return None
            self._first_line = line.line
        self._is_open = self._leaves_open(line.data)
        if self._begun or self._is_open:
            self._begun += line.data
            if len(self._begun) > MAX_RECORD_BYTES:
                raise too_long(self._first_line)
        if self._is_open:
            return None
        data = bytes(self._begun) or line.data
        self._begun.clear()
        if not self._delimiter:
            self._find_delimiter(data)
        return Record(line.line, data)

    def _leaves_open(self, line: bytes) -> bool:
        """Whether a line ends within quotes."""
        if not self._is_open and b'"' not in line:
            return False
        place, is_open = 0, self._is_open
        while True:
            if not is_open and line.startswith(b'"', place):
                place, is_open = place + 1, True
            if is_open:
                quoted = _QUOTED.match(line, place)
                assert quoted is not None
                place = quoted.end()
                if place == len(line):
                    return True
            end = self._end_of_cell.search(line, place)
            if end is None:
                return False
            place, is_open = end.end(), False

    def _find_delimiter(self, header: bytes) -> None:
        outside = _QUOTED_CELL.sub(b"", header)
        delimiter = max(_DELIMITERS, key=outside.count)
        self._end_of_cell = re.compile(re.escape(delimiter))
        self._delimiter = delimiter.decode()

    def add(self, records: Sequence[Record], message: Any) -> Added:
        return added_in_turn(self._add, records, message)

    def _add(self, record: Record, message: Any) -> None:
        text = _decoded(record)
        if "\0" in text:
            raise single_violation(
                "INVALID_CHARACTER", f"must not contain the NUL character (line {record.line})"
            )
        try:
            cells = next(csv.reader((text,), delimiter=self._delimiter, strict=True))
        except csv.Error:
            raise single_violation(
                "INVALID_FORMAT",
                f"must be well-formed CSV as defined by RFC 4180 (line {record.line})",
            ) from None
        getattr(message, self._name).add(number=record.line, cells=cells)


def _decoded(record: Record) -> str:
    try:
        return record.data.decode()
    except UnicodeDecodeError as error:
        line = record.line - record.data.rstrip(b"\r\n").count(b"\n", error.start)
        raise single_violation(
            "INVALID_FORMAT", f"must be encoded in UTF-8 (line {line})"
        ) from None


def written(lines: Iterable[Any]) -> bytes:
    """Returns the lines of a table as text, with the line breaks that RFC 4180 has."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(line.cells for line in lines)
    return text.getvalue().encode()
