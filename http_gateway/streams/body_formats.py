"""Parsers of request bodies with records, and their selection by the content."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..request_errors import RequestError, request_error
from ..routing.stream_fields import RequestRecords
from . import csv_lines, ndjson
from .csv_lines import CsvParser
from .ndjson import NdjsonParser
from .records import BOM, MAX_RECORD_BYTES, Added, Record, RecordParser


def unsupported_error(fields: RequestRecords) -> RequestError:
    types = [ndjson.CONTENT_TYPE, "application/json"]
    types += [csv_lines.CONTENT_TYPE] if fields.csv_field is not None else []
    with_charset = "" if fields.charset_field else " with charset UTF-8"
    message = f"The Content-Type must be {', '.join(types)} or application/zip{with_charset}."
    return request_error("UNSUPPORTED_MEDIA_TYPE", message, close=True)


def archive_parser(fields: RequestRecords) -> RecordParser:
    """Returns the parser for the file in an archive."""
    return NdjsonParser(fields) if fields.csv_field is None else _AnyParser(fields)


def is_json(start: bytes) -> bool | None:
    """Whether a text that starts with these bytes is JSON; None if they are blank."""
    text = start.removeprefix(BOM).lstrip()
    return text[:1] in b"{[" if text else None


def csv_parser(fields: RequestRecords, delimiter: str = "") -> CsvParser:
    assert fields.csv_field is not None
    charset_field = fields.charset_field.json_name if fields.charset_field else ""
    return CsvParser(fields.csv_field, charset_field, delimiter)


class _AnyParser:
    """Parses JSON if the first character is a brace or a bracket, and CSV otherwise."""

    def __init__(self, fields: RequestRecords) -> None:
        self._fields = fields
        self._start = b""
        self._parser: RecordParser | None = None
        self.last_line = 0

    def feed(self, data: bytes) -> Iterator[Record | None]:
        if self._parser is None:
            data = self._start = self._start + data
            has_json = is_json(data)
            if has_json is None and len(data) < MAX_RECORD_BYTES:
                return
            self._parser = NdjsonParser(self._fields) if has_json else csv_parser(self._fields)
        yield from self._parser.feed(data)

    def finish(self) -> Iterator[Record | None]:
        return iter(()) if self._parser is None else self._parser.finish()

    def add(self, records: Sequence[Record], message: Any) -> Added:
        if self._parser is None:
            return Added(0)
        added = self._parser.add(records, message)
        self.last_line = self._parser.last_line
        return added
