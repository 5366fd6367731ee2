"""CSV as defined by RFC 4180. A quoted cell can contain line breaks.

The reader of the standard library needs complete records, but a body arrives in pieces. The
parser therefore finds the end of each record by its quotes, and passes complete records to the
reader. The first record is the header. The delimiter is the comma, semicolon or tab that occurs
most often in the header outside of quotes. A first line such as `sep=;` names it instead.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ..request_errors import RequestError, single_violation
from .records import (
    MAX_RECORD_BYTES,
    Added,
    LineSplitter,
    Record,
    too_long_error,
)

CONTENT_TYPE = "text/csv"
# This limit of the standard library applies to the whole process. Records are limited here, and
# the server rejects cells that are too long.
csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD_BYTES))

_DELIMITERS = (b",", b";", b"\t")
_SEPARATOR_LINE = re.compile(rb'"?sep=(.)"?\s*', re.IGNORECASE | re.DOTALL)
_NAMED_DELIMITERS = (*_DELIMITERS, b"|", b":")
_QUOTED_CELL = re.compile(rb'"(?:[^"]++|"")*+"?')


def _complete_record(delimiter: bytes) -> re.Pattern[bytes]:
    """Returns the pattern of a record in which every quoted cell is closed.

    `delimiter` is a set of characters. Quotes within an unquoted cell, and text after a closing
    quote, are left to the reader.
    """
    cell = rb'(?:"(?:[^"]++|"")*+"|(?!"))[^%b]*+' % delimiter
    return re.compile(rb"%b(?:[%b]%b)*+" % (cell, delimiter, cell))


def _simple_lines(delimiter: bytes) -> re.Pattern[bytes]:
    """Returns the pattern of lines that are complete records, for a fast check of many lines.

    Quotes only enclose whole cells, and no quoted cell contains a quote or a line break.
    """
    quoted = rb'(?<=[%b\n])"[^"\n]*+"(?=[%b\r\n])' % (delimiter, delimiter)
    return re.compile(rb'[^"]*+(?:%b[^"]*+)*+' % quoted)


class CsvParser:
    """Parses a body of CSV into CsvLine messages. The first error ends the stream."""

    def __init__(self, field: str, charset_field: str = "") -> None:
        """`charset_field` is the JSON name of the field that can name another encoding."""
        self._field = field
        self._charset_field = charset_field
        self.last_line = 0
        self._lines = LineSplitter()
        # Until the header is complete, every possible delimiter ends a cell.
        self._complete = _complete_record(b",;\t")
        self._simple: re.Pattern[bytes] | None = None
        self._delimiter = ""
        # The lines of an incomplete record, and the number of its first line.
        self._incomplete = bytearray()
        self._first_line = 0
        self._in_quotes = False

    def feed(self, data: bytes) -> Iterator[Record | None]:
        lines = self._lines.feed(data)
        # The first line can continue an incomplete one. Without a known delimiter, it can also
        # be the header.
        for line in islice(lines, 1 if self._has_simple_lines(data) else None):
            yield self._record_ending_with(line)
        for line in lines:
            if self._in_quotes:
                yield self._record_ending_with(line)
            else:
                yield line if line.data.strip(b"\r\n") else None

    def _has_simple_lines(self, data: bytes) -> bool:
        """Whether all lines after the first one of a piece are known to be complete records."""
        start, end = data.find(b"\n") + 1, data.rfind(b"\n") + 1
        return self._simple is not None and bool(self._simple.fullmatch(data, start, end))

    def finish(self) -> Iterator[Record | None]:
        for line in self._lines.finish():
            yield self._record_ending_with(line)
        if self._in_quotes:
            raise single_violation(
                "INVALID_FORMAT", f"has a quoted cell that is not closed (line {self._first_line})"
            )

    def _record_ending_with(self, line: Record) -> Record | None:
        """Returns the record that ends with a line, or None."""
        if not self._in_quotes:
            if not line.data.strip(b"\r\n"):
                return None
            if line.line == 1 and self._names_delimiter(line.data):
                return None
            self._first_line = line.line
        self._in_quotes = self._ends_in_quotes(line.data)
        if self._incomplete or self._in_quotes:
            self._incomplete += line.data
            if len(self._incomplete) > MAX_RECORD_BYTES:
                raise too_long_error(self._first_line)
        if self._in_quotes:
            return None
        record = line
        if self._incomplete:
            record = Record(line.line, bytes(self._incomplete))
            self._incomplete.clear()
        if not self._delimiter:
            self._find_delimiter(record.data)
        return record

    def _ends_in_quotes(self, line: bytes) -> bool:
        if not self._in_quotes and b'"' not in line:
            return False
        return not self._complete.fullmatch(b'"' + line if self._in_quotes else line)

    def _names_delimiter(self, first_line: bytes) -> bool:
        """Sets the delimiter if the first line names it. Returns whether it does."""
        named = _SEPARATOR_LINE.fullmatch(first_line)
        if named is None:
            return False
        if named[1] not in _NAMED_DELIMITERS:
            message = "must name a comma, semicolon, tab, vertical bar or colon after sep= (line 1)"
            raise single_violation("INVALID_VALUE", message)
        self._set_delimiter(named[1])
        return True

    def _find_delimiter(self, header: bytes) -> None:
        outside = _QUOTED_CELL.sub(b"", header)
        self._set_delimiter(max(_DELIMITERS, key=outside.count))

    def _set_delimiter(self, delimiter: bytes) -> None:
        self._complete = _complete_record(re.escape(delimiter))
        self._simple = _simple_lines(re.escape(delimiter))
        self._delimiter = delimiter.decode()

    def add(self, records: Sequence[Record], message: Any) -> Added:
        if not records:  # The delimiter may still be unknown.
            return Added(0)
        lines, count = getattr(message, self._field), 0
        # One reader for all records, because creating one takes as long as reading a record.
        reader = csv.reader(self._texts(records), delimiter=self._delimiter, strict=True)
        try:
            for cells in reader:
                if reader.line_num > count + 1:
                    raise csv.Error("a header with several delimiters has a quote that is open")
                line = lines.add()
                line.number = records[count].line
                line.cells.extend(cells)
                count += 1
        except csv.Error:
            text = f"must be well-formed CSV as defined by RFC 4180 (line {records[count].line})"
            return Added(count, single_violation("INVALID_FORMAT", text))
        except RequestError as error:
            return Added(count, error)
        self.last_line = records[-1].line
        return Added(count)

    def _texts(self, records: Sequence[Record]) -> Iterable[str]:
        """Returns the texts of records, or those before the first that is invalid.

        The texts are checked at once, because nearly all are valid.
        """
        try:
            texts = [record.data.decode() for record in records]
        except UnicodeDecodeError:
            return map(self._text, records)
        return map(self._text, records) if "\0" in "".join(texts) else texts

    def _text(self, record: Record) -> str:
        try:
            text = record.data.decode()
        except UnicodeDecodeError as error:
            start = record.data.rfind(b"\n", 0, error.start) + 1
            line = record.line - record.data.rstrip(b"\r\n").count(b"\n", error.start)
            field = self._charset_field
            other = f", or in the encoding that {field} names" if field else ""
            position = f"(line {line}, byte {error.start - start + 1})"
            raise single_violation(
                "INVALID_FORMAT", f"must be encoded in UTF-8{other} {position}"
            ) from None
        if "\0" in text:
            raise single_violation(
                "INVALID_CHARACTER", f"must not contain the NUL character (line {record.line})"
            )
        return text


def encode(lines: Iterable[Any]) -> bytes:
    """Returns CsvLine messages as CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(line.cells for line in lines)
    return text.getvalue().encode()
