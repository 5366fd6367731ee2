"""Keeps the rows of an import until their results arrive, and formats the failed ones.

They have the encoding, byte order mark and delimiter of the imported file, so that the same command
imports their file.

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

from ...features.imports.columns import DROPPED_CELLS, FAILURE, is_without_failure
from ..common.files import FileFormat
from .import_checkpoint import FAILED

_DELIMITERS = frozenset(",;\t")


class SentRows:
    """The rows of the data that is sent. A row is identified by the line in its result."""

    def __init__(self, file_format: FileFormat, charset: str, after_line: int) -> None:
        self._parser = CsvParser("lines") if file_format is FileFormat.CSV else JsonSplitter()
        try:
            self._converter: Converter | None = Converter(charset, "charset")
        except RequestError:  # The service rejects the charset.
            self._converter = None
        self._is_valid = self._converter is not None
        self._after_line = after_line
        self._rows: deque[Record] = deque()
        # The last row that was removed. A line with several addresses has several results.
        self._removed: Record | None = None
        self._last_failure = (0, "")
        self.header: list[str] | None = None
        # The line of the last row.
        self.last_line = 0

    def feed(self, data: bytes, *, is_last: bool = False) -> None:
        """Adds the rows that end within the data. After an error, all later rows are unknown."""
        if self._converter is None or not self._is_valid:
            return
        try:
            for text in self._converter.feed(data, is_last=is_last):
                self._add(self._parser.feed(text))
            if is_last:
                self._add(self._parser.finish())
        except RequestError:  # The service reports it.
            self._is_valid = False

    def _add(self, records: Iterator[Record | None]) -> None:
        for record in filter(None, records):
            if not isinstance(self._parser, CsvParser):
                record = record._replace(line=self.last_line + 1)
            elif self.header is None:
                self.header = self._parser.cells(record)
                self.last_line = record.line
                continue
            self.last_line = record.line
            if record.line > self._after_line:
                self._rows.append(record)

    def failed(self, result: Mapping[str, Any]) -> bytes:
        """Returns the line of a failed row for the file of failed rows.

        Of the results of a row with several addresses, it has the first, and a failure after
        dropped cells.
        """
        row = self.pop(result["line"])
        line, reason = self._last_failure
        if line == result["line"] and (
            result["reason"] == DROPPED_CELLS or reason != DROPPED_CELLS
        ):
            return b""
        self._last_failure = (result["line"], result["reason"])
        reasons = {name: result.get(name, "") for name in FAILURE}
        if not isinstance(self._parser, CsvParser):
            return self._encoded(_failed_object(row.data if row else b"{}", reasons))
        cells = self._parser.cells(row) if row else []
        return self._csv_line([*self._original(cells), *map(str, reasons.values())])

    def pop(self, line: int) -> Record | None:
        """Removes the rows up to this line, and returns the row at it, if there is one."""
        while self._rows and self._rows[0].line <= line:
            self._removed = self._rows.popleft()
        row = self._removed
        return row if row is not None and row.line == line else None

    def start(self) -> bytes:
        """Returns the start of the file of failed rows: byte order mark and header, if any."""
        mark = self._converter.byte_order_mark if self._converter else b""
        if not isinstance(self._parser, CsvParser):
            return mark
        cells = [*self._original(self.header or ["email"]), *FAILURE]
        # Other delimiters must not be taken for the one that the header shows.
        others = _DELIMITERS - {self._parser.delimiter}
        line = self._csv_line(cells, quotes_all=not others.isdisjoint("".join(cells)))
        return mark + self._encoded(self._parser.first_line) + line

    def _original(self, cells: list[str]) -> list[str]:
        """Returns the cells without the columns that an earlier file of failed rows added."""
        if self.header is None or self.header[-len(FAILURE) :] != FAILURE:
            return cells
        return cells if is_without_failure(cells, self.header) else cells[: -len(FAILURE)]

    def _csv_line(self, cells: Sequence[str], *, quotes_all: bool = False) -> bytes:
        assert isinstance(self._parser, CsvParser)
        text = io.StringIO()
        csv.writer(
            text,
            delimiter=self._parser.delimiter or ",",
            quoting=csv.QUOTE_ALL if quotes_all else csv.QUOTE_MINIMAL,
        ).writerow(cells)
        return self._encoded(text.getvalue())

    def _encoded(self, text: str) -> bytes:
        return self._converter.encode(text) if self._converter else text.encode()


def failure_of(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Returns the result of a row that failed or lost cells, with the reason. Otherwise None."""
    if "droppedCells" in result:
        fields = " ".join(result["droppedCells"])
        return {"reason": DROPPED_CELLS, "field": fields, "line": result["line"]}
    return result if result["outcome"] == FAILED else None


def _failed_object(row: bytes, reasons: Mapping[str, Any]) -> str:
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
    return (start[:-1] + separator + orjson.dumps(reasons)[1:] + b"\n").decode(errors="replace")
