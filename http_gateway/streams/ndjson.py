"""NDJSON: each line is a record that holds a JSON object. Blank lines are ignored.

A request can also be one JSON array of objects.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import orjson

from ..codec import strict_json
from ..codec.required import add_missing
from ..request_errors import RequestError, Violations, validation_error
from ..routing.stream_fields import RequestRecords, ResponseRecords
from .json_values import JsonSplitter, accepted_error
from .records import Added, Record, add_each

CONTENT_TYPE = "application/x-ndjson"
# A keepalive record, sent while there are no records so that proxies keep the connection open.
KEEPALIVE = b"\n"
# All media types of NDJSON, and those of a request.
CONTENT_TYPES = frozenset({CONTENT_TYPE, "application/ndjson", "application/jsonl"})
REQUEST_TYPES = CONTENT_TYPES | {"application/json", "text/json", ""}


class NdjsonParser:
    """Parses a body of NDJSON, or of one array.

    If records have a field for their errors, the errors of a record are stored in it, and a line
    that is not JSON counts as an invalid object. Otherwise the first error ends the stream.
    """

    def __init__(self, fields: RequestRecords) -> None:
        self._fields = fields
        self._values = JsonSplitter()
        self.last_line = 0

    def feed(self, data: bytes) -> Iterator[Record | None]:
        return self._values.feed(data)

    def finish(self) -> Iterator[Record | None]:
        return self._values.finish()

    def add(self, records: Sequence[Record], message: Any) -> Added:
        if self._fields.read_rows is None:
            return add_each(self._add, records, message)
        values = [strict_json.loads_row(record.data) for record in records]
        rows = getattr(message, self._fields.name)
        self._fields.read_rows(values, "", Violations(), rows)
        is_first = bool(records) and not self.last_line
        if is_first and self._is_other_json(records[0].data, values[0], rows[0]):
            del rows[:]
            return Added(0, accepted_error())
        self.last_line += len(records)
        return Added(len(records))

    def _is_other_json(self, text: bytes, value: Any, row: Any) -> bool:
        """Whether the first record is an object with all rows, or the first line of any JSON."""
        if value is None:
            return text.lstrip()[:1] == b"{" and text.rstrip()[-1:] in b"{[,"
        if type(value) is not dict or not any(map(_has_objects, value.values())):
            return False
        faults = {fault.field for fault in getattr(row, self._fields.row_errors_field or "")}
        return faults.issuperset(value)

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
            violations.add(field, detail.code, f"{detail.message} (line {record.line})")
        return validation_error(violations)


def _has_objects(value: Any) -> bool:
    """Whether a value is an array of objects, or an object with one."""
    if type(value) is dict:
        return any(map(_has_objects, value.values()))
    return type(value) is list and bool(value) and type(value[0]) is dict


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
