"""CSV as defined by RFC 4180, and its common dialects.

A quoted cell can contain line breaks. Lines end with LF, CRLF or CR. Spaces and tabs between a
delimiter and a quote are skipped. The first record is the header. The delimiter is the comma,
semicolon or tab that occurs most often in the header outside of quotes. A first line such as
`sep=;` names it instead.

The reader of the standard library needs complete records, but a body arrives in pieces. The
parser therefore finds the end of each record by its quotes, and passes complete records to the
reader.

A record with a malformed quote, or one that is too long because a quote is not closed, is only
its first line: that line is malformed, and the lines after it are read again.
"""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

from ..request_errors import RequestError, single_violation
from .records import MAX_RECORD_BYTES, Added, LineSplitter, Record

CONTENT_TYPE = "text/csv"
# This limit of the standard library applies to the whole process. Records are limited here, and
# the server rejects cells that are too long.
csv.field_size_limit(max(csv.field_size_limit(), MAX_RECORD_BYTES))

_DELIMITERS = (b",", b";", b"\t")
_SEPARATOR_LINE = re.compile(rb'"?sep=(.)"?\s*', re.IGNORECASE | re.DOTALL)
_NAMED_DELIMITERS = (*_DELIMITERS, b"|", b":")
_QUOTED_CELL = re.compile(rb'"(?:[^"]++|"")*+"?')
_LINE_BREAK = re.compile(rb"\r\n?|\n")
_BLANKS = (b' "', b'" ', b'\t"', b'"\t')
_REPLACEMENT = "\ufffd".encode()
# The maximum number of bytes that are read again after malformed lines, for each byte of the body
# and at once. Beyond it, every line is a record, so that malformed lines take linear time.
_REREADS = 4
_MAX_REREADS = 8 * MAX_RECORD_BYTES


class _MalformedError(Exception):
    """A record is not well-formed, or is too long because a quote is not closed."""


class _Dialect:
    """The patterns for one delimiter, or for several until the header shows which one it is."""

    def __init__(self, delimiters: bytes) -> None:
        self.delimiters = delimiters
        names = {
            b"D": re.escape(delimiters),
            b"B": b"[ ]" if b"\t" in delimiters else b"[ \\t]",
            b"T": rb'"(?:[^"]++|"")*+"',
        }

        def compiled(pattern: bytes) -> re.Pattern[bytes]:
            return re.compile(re.sub(rb"<(\w)>", lambda name: names[name[1]], pattern))

        # The longest part of a line of which every quoted cell is closed.
        cell = rb'(?:<B>*+<T><B>*+|(?!<B>*+")[^<D>]*+)'
        self._closed = compiled(rb"%b(?:[<D>]%b)*+" % (cell, cell))
        # A quoted cell with the whitespace around it.
        self._quoted = compiled(rb"(?:^|(?<=[<D>]))<B>*+(<T>)<B>*+(?=[<D>\r\n]|$)")
        # A cell of a malformed line: a quoted cell, or any other text to the next delimiter.
        self._any_cell = compiled(rb"<B>*+(<T>)<B>*+(?=[<D>]|$)|((?:<B>*+<T>)?[^<D>]*+)")
        # Lines that are complete records, for a fast check of many lines: quotes only enclose
        # whole cells, and no quoted cell contains a quote or a line break.
        self._simple = compiled(rb'[^"]*+(?:(?<=[<D>\r\n])"[^"\r\n]*+"(?=[<D>\r\n])[^"]*+)*+')

    def are_simple(self, lines: bytes, start: int, end: int) -> bool:
        return bool(self._simple.fullmatch(lines, start, end))

    def is_open_after(self, line: bytes, *, in_quotes: bool) -> bool:
        """Whether a quote is open after a line that starts or, in quotes, continues a record.

        Raises _MalformedError if text follows a closing quote.
        """
        if in_quotes:
            line = b'"' + line
        elif b'"' not in line:
            return False
        closed = self._closed.match(line)
        if closed is None:
            return True
        rest = line[closed.end() :].rstrip(b"\r\n")
        # Only a quoted cell that is not closed ends the match before a cell.
        if rest and rest[0] not in self.delimiters:
            raise _MalformedError
        return bool(rest)

    def without_blanks(self, record: bytes) -> bytes:
        """Removes whitespace between delimiters and quotes from a complete record."""
        if any(blank in record for blank in _BLANKS):
            return self._quoted.sub(rb"\1", record)
        return record

    def malformed_cells(self, line: bytes) -> Iterator[bytes]:
        """Yields the cells of a malformed line. A malformed cell keeps its quotes."""
        position = 0
        while position <= len(line):
            cell = self._any_cell.match(line, position)
            assert cell is not None  # The last alternative matches any text.
            yield cell[2] if cell[1] is None else cell[1][1:-1].replace(b'""', b'"')
            position = cell.end() + 1


class CsvParser:
    """Parses a body of CSV into CsvLine messages. A malformed row does not end the stream."""

    def __init__(self, field: str, charset_field: str = "", delimiter: str = "") -> None:
        """`charset_field` is the JSON name of the field that can name another encoding.

        Without a delimiter, it is found out from the header.
        """
        self._field = field
        self._charset_field = charset_field
        self.last_line = 0
        self._lines = LineSplitter()
        # Until the header is complete, every possible delimiter ends a cell.
        self._dialect = _Dialect(b"".join(_DELIMITERS))
        # Empty until the header is complete.
        self.delimiter = ""
        # The line before the header that names the delimiter, if there is one.
        self.first_line = ""
        self._has_header = False
        # The lines of a record with a quote that is open, and the number of its first line.
        self._incomplete = bytearray()
        self._first_line = 0
        self._rereads = _MAX_REREADS
        if delimiter:
            self._set_delimiter(delimiter.encode())

    def feed(self, data: bytes) -> Iterator[Record | None]:
        self._rereads = min(_MAX_REREADS, self._rereads + _REREADS * len(data))
        # The first line can continue an incomplete one, or be the header.
        first = 1 if self._has_simple_lines(self._lines.held_back + data) else None
        lines = self._lines.feed(data)
        yield from self._records(islice(lines, first))
        for line in lines:
            if self._incomplete:
                yield from self._records([line])
            else:
                yield line if line.data.strip(b"\r\n") else None

    def _records(self, lines: Iterable[Record]) -> Iterator[Record | None]:
        for line in lines:
            try:
                record = self._next(line.line, line.data)
            except _MalformedError:
                yield from self._read_again(line.line, line.data)
            else:
                yield record

    def _has_simple_lines(self, data: bytes) -> bool:
        """Whether all lines after the first one of a piece are known to be complete records."""
        first = _LINE_BREAK.search(data)
        if not self._has_header or first is None:
            return False
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        return self._dialect.are_simple(data, first.end(), end)

    def finish(self) -> Iterator[Record | None]:
        yield from self._records(self._lines.finish())
        while self._incomplete:
            yield from self._read_again(self._first_line, b"")

    def _read_again(self, number: int, line: bytes) -> Iterator[Record | None]:
        """Yields the first line of a malformed record, and a record or None for those after it.

        `number` is that of `line`, the last line.
        """
        record: Record | None
        record, queue = self._fail(number, line)
        yield record
        number = record.line
        while queue:
            number += 1
            line = queue.popleft()
            try:
                record = self._next(number, line, may_continue=not queue or self._rereads > 0)
            except _MalformedError:
                record, lines = self._fail(number, line)
                queue.extendleft(reversed(lines))
                number = record.line
            yield record

    def _next(self, number: int, line: bytes, *, may_continue: bool = True) -> Record | None:
        """Returns the record that ends with a line, or None. Raises _MalformedError."""
        incomplete = self._incomplete
        if not incomplete and (
            not line.strip(b"\r\n") or (number == 1 and self._names_delimiter(line))
        ):
            return None
        is_open = self._dialect.is_open_after(line, in_quotes=bool(incomplete))
        if incomplete or is_open:
            if len(incomplete) + len(line) > MAX_RECORD_BYTES:
                raise _MalformedError
            if is_open:
                if not may_continue:
                    raise _MalformedError
                self._first_line = self._first_line if incomplete else number
                incomplete += line
                return None
            line = bytes(incomplete) + line
        if not self._has_header:
            self._read_header(number, line)
        incomplete.clear()
        return Record(number, self._dialect.without_blanks(line))

    def _fail(self, number: int, line: bytes) -> tuple[Record, deque[bytes]]:
        """Returns the first line of a malformed record, and the lines after it.

        Raises RequestError if the record is the header.
        """
        if self._incomplete:
            number = self._first_line
        if not self._has_header:
            raise _header_error(number)
        lines = deque((bytes(self._incomplete) + line).splitlines(keepends=True))
        self._incomplete.clear()
        first = lines.popleft()
        self._rereads -= sum(map(len, lines))
        cells = self._dialect.malformed_cells(first.rstrip(b"\r\n"))
        # Latin-1 keeps each byte. The encoding is checked with that of the other records.
        text = _written([cell.decode("latin-1") for cell in cells], self.delimiter)
        return Record(number, text.encode("latin-1"), is_malformed=True), lines

    def _names_delimiter(self, first_line: bytes) -> bool:
        """Sets the delimiter if the first line names it. Returns whether it does."""
        named = _SEPARATOR_LINE.fullmatch(first_line)
        if named is None:
            return False
        if named[1] not in _NAMED_DELIMITERS:
            message = "must name a comma, semicolon, tab, vertical bar or colon after sep= (line 1)"
            raise single_violation("INVALID_VALUE", message)
        self._set_delimiter(named[1])
        self.first_line = f"sep={self.delimiter}\r\n"
        return True

    def _read_header(self, number: int, header: bytes) -> None:
        """Sets the delimiter. Raises RequestError if the header is malformed."""
        if not self.delimiter:
            outside = _QUOTED_CELL.sub(b"", header)
            self._set_delimiter(max(_DELIMITERS, key=outside.count))
        text = self._text(Record(number, self._dialect.without_blanks(header)))
        if "\0" in text:
            raise single_violation(
                "INVALID_CHARACTER", f"must not contain the NUL character (line {number})"
            )
        try:
            list(csv.reader([text], delimiter=self.delimiter, strict=True))
        except csv.Error:
            # A quote is open after one of several delimiters only.
            raise _header_error(number) from None
        self._has_header = True

    def _set_delimiter(self, delimiter: bytes) -> None:
        self._dialect = _Dialect(delimiter)
        self.delimiter = delimiter.decode()

    def cells(self, record: Record) -> list[str]:
        """Returns the cells of a record. Raises RequestError if it is not in UTF-8."""
        return next(csv.reader([self._text(record)], delimiter=self.delimiter, strict=True))

    def add(self, records: Sequence[Record], message: Any) -> Added:
        if not records:  # The delimiter may still be unknown.
            return Added(0)
        if b"\0" in b"".join([record.data for record in records]):
            records = [_without_nul(record) for record in records]
        lines, count = getattr(message, self._field), 0
        # One reader for all records, because creating one takes as long as reading a record.
        reader = csv.reader(self._texts(records), delimiter=self.delimiter, strict=True)
        try:
            for cells in reader:
                record = records[count]
                line = lines.add()
                line.number = record.line
                line.cells.extend(cells)
                if record.is_malformed:
                    line.malformed = True
                count += 1
        except RequestError as error:
            return Added(count, error)
        self.last_line = records[-1].line
        return Added(count)

    def _texts(self, records: Sequence[Record]) -> Iterable[str]:
        """Returns the texts of records, or those before the first that is invalid.

        The texts are checked at once, because nearly all are valid.
        """
        try:
            return [record.data.decode() for record in records]
        except UnicodeDecodeError:
            return map(self._text, records)

    def _text(self, record: Record) -> str:
        try:
            return record.data.decode()
        except UnicodeDecodeError as error:
            breaks = [found.end() for found in _LINE_BREAK.finditer(record.data.rstrip(b"\r\n"))]
            before = [end for end in breaks if end <= error.start]
            line = record.line - len(breaks) + len(before)
            byte = error.start - (before[-1] if before else 0) + 1
            field = self._charset_field
            other = f"; set another encoding, such as {field}=windows-1252" if field else ""
            raise single_violation(
                "INVALID_FORMAT", f"must be encoded in UTF-8{other} (line {line}, byte {byte})"
            ) from None


def _header_error(line: int) -> RequestError:
    text = f"must start with a header that is well-formed CSV as defined by RFC 4180 (line {line})"
    return single_violation("INVALID_FORMAT", text)


def _without_nul(record: Record) -> Record:
    if b"\0" not in record.data:
        return record
    return Record(record.line, record.data.replace(b"\0", _REPLACEMENT), is_malformed=True)


def _written(cells: Sequence[str], delimiter: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="").writerow(cells)
    return text.getvalue()


def encode(lines: Sequence[Any]) -> bytes:
    """Returns CsvLine messages as CSV. All have the same delimiter."""
    text = io.StringIO()
    delimiter = lines[0].delimiter if lines else ""
    writer = csv.writer(text, delimiter=delimiter or ",", lineterminator="\r\n")
    writer.writerows(line.cells for line in lines)
    return text.getvalue().encode()
