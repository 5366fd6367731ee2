"""Keeps the rows of an import until their results arrive, and formats the failed ones.

The parsers of the service split the data into rows. Results arrive in the order of the rows, so
only the rows after the last result are kept.
"""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from rosterd.http_gateway.request_errors import RequestError
from rosterd.http_gateway.streams.charsets import Converter
from rosterd.http_gateway.streams.csv_lines import CsvParser
from rosterd.http_gateway.streams.json_values import JsonSplitter
from rosterd.http_gateway.streams.records import Record

from ..common.files import FileFormat

# The columns, or members, that are added to failed rows. An import ignores them.
FAILURE = ("line", "reason", "field")


class SentRows:
    """The rows of the data that is sent. A row is identified by the line in its result."""

    def __init__(self, file_format: FileFormat, charset: str, after_line: int) -> None:
        self._parser = CsvParser("lines") if file_format is FileFormat.CSV else JsonSplitter()
        try:
            self._converter: Converter | None = Converter(charset, "charset")
        except RequestError:  # The service rejects the charset.
            self._converter = None
        self._after_line = after_line
        self._rows: deque[Record] = deque()
        self._header: list[str] | None = None
        # The line of the last row.
        self.last_line = 0

    def feed(self, data: bytes, *, is_last: bool = False) -> None:
        """Adds the rows that end within the data. After an error, all later rows are unknown."""
        if self._converter is None:
            return
        try:
            for text in self._converter.feed(data, is_last=is_last):
                self._add(self._parser.feed(text))
            if is_last:
                self._add(self._parser.finish())
        except RequestError:  # The service reports it.
            self._converter = None

    def _add(self, records: Iterator[Record | None]) -> None:
        for record in filter(None, records):
            if not isinstance(self._parser, CsvParser):
                record = record._replace(line=self.last_line + 1)
            elif self._header is None:
                self._header = self._parser.cells(record)
                self.last_line = record.line
                continue
            self.last_line = record.line
            if record.line > self._after_line:
                self._rows.append(record)

    def failed(self, result: Mapping[str, Any]) -> bytes:
        """Returns the line of a failed row for the file of failed rows."""
        row = self.pop(result["line"])
        reasons = {name: result.get(name, "") for name in FAILURE}
        if not isinstance(self._parser, CsvParser):
            return _failed_object(row.data if row else b"{}", reasons)
        cells = self._parser.cells(row) if row else []
        return _csv_line([*self._original(cells), *map(str, reasons.values())])

    def pop(self, line: int) -> Record | None:
        """Removes the rows up to this line, and returns the row at it, if there is one."""
        row = None
        while self._rows and self._rows[0].line <= line:
            row = self._rows.popleft()
        return row if row is not None and row.line == line else None

    def header(self) -> bytes:
        """Returns the first line of the file of failed rows, if it has one."""
        if not isinstance(self._parser, CsvParser):
            return b""
        return _csv_line([*self._original(self._header or ["email"]), *FAILURE])

    def _original(self, cells: list[str]) -> list[str]:
        """Returns the cells without the columns that an earlier file of failed rows added."""
        has_failure = self._header is not None and tuple(self._header[-len(FAILURE) :]) == FAILURE
        return cells[: -len(FAILURE)] if has_failure else cells


def _csv_line(cells: Sequence[str]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerow(cells)
    return text.getvalue().encode()


def _failed_object(row: bytes, reasons: Mapping[str, Any]) -> bytes:
    """Returns a line with an object and the members of its failure.

    The members of the object are kept as they were written. Other text is the member `text`.
    """
    row = row.strip()
    try:
        members = orjson.loads(row)
    except ValueError:
        members = None
    if not isinstance(members, dict):
        start = orjson.dumps({"text": row.decode(errors="replace")})
    elif members.keys() & reasons.keys():
        kept = {name: value for name, value in members.items() if name not in reasons}
        start = orjson.dumps(kept)
    else:
        # Strings contain no line breaks.
        start = row.replace(b"\r", b" ").replace(b"\n", b" ")
    separator = b"," if start[1:-1].strip() else b""
    return start[:-1] + separator + orjson.dumps(reasons)[1:] + b"\n"
