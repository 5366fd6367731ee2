"""NDJSON: each line is a record that holds a JSON object. Blank lines are ignored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from ..codec import strict_json
from ..codec.required import add_missing
from ..codec.transcode import rows_reader
from ..request_errors import Code, RequestError, Violations, validation_error
from ..routing.stream_fields import RequestRecords, ResponseRecords
from .records import Added, LineSplitter, Record, add_each

CONTENT_TYPE = "application/x-ndjson"
# A keepalive record, sent while there are no records so that proxies keep the connection open.
KEEPALIVE = b"\n"
# All media types of NDJSON.
CONTENT_TYPES = frozenset({CONTENT_TYPE, "application/ndjson", "application/jsonl"})


class NdjsonParser:
    """Parses a body of NDJSON.

    If records have a field for their errors, the errors of a record are stored in it, and a line
    that is not JSON counts as an invalid object. Otherwise the first error ends the stream.
    """

    def __init__(self, fields: RequestRecords) -> None:
        self._fields = fields
        errors_field = fields.row_errors_field
        self._read_rows = rows_reader(fields.read, errors_field) if errors_field else None
        self._lines = LineSplitter()
        self.last_line = 0

    def feed(self, data: bytes) -> Iterator[Record | None]:
        return (line if line.data.strip() else None for line in self._lines.feed(data))

    def finish(self) -> Iterator[Record | None]:
        return (line if line.data.strip() else None for line in self._lines.finish())

    def add(self, records: Sequence[Record], message: Any) -> Added:
        if self._read_rows is None:
            return add_each(self._add, records, message)
        self.last_line += len(records)
        values = [strict_json.loads_row(record.data) for record in records]
        self._read_rows(values, "", Violations(), getattr(message, self._fields.name))
        return Added(len(records))

    def _add(self, record: Record, message: Any) -> None:
        name = self._fields.name
        repeated = getattr(message, name) if name else None
        self.last_line += 1
        try:
            value = strict_json.loads(record.data)
        except RequestError as error:
            raise self._locate(record, error) from None
        violations = Violations()
        target = message if repeated is None else repeated.add()
        self._fields.read(value, "", violations, target)
        add_missing(target, violations)
        if violations:
            if repeated is not None:
                del repeated[-1]
            raise self._locate(record, validation_error(violations))

    def _locate(self, record: Record, error: RequestError) -> RequestError:
        """Returns the error of a record with its path in the body and its line."""
        violations, path = Violations(), f"{self._fields.json_name}[{self.last_line - 1}]"
        for detail in error.error.details:
            field = f"{path}.{detail.field}" if detail.field else path
            violations.add(field, Code.Name(detail.code), f"{detail.message} (line {record.line})")
        return validation_error(violations)


def encode_error(error: bytes) -> bytes:
    """Returns the line for an error in JSON."""
    return error + b"\n"


def encode(fields: ResponseRecords, reply: Any) -> bytes:
    """Returns the lines for the records of a response message."""
    text, write = bytearray(), fields.write
    # One call for each record: orjson allocates a kilobyte per record of a list.
    for record in fields.of(reply):
        text += orjson.dumps(write(record), option=orjson.OPT_APPEND_NEWLINE)
    for other in fields.other_records(reply):
        text += orjson.dumps(other, option=orjson.OPT_APPEND_NEWLINE)
    return bytes(text)
