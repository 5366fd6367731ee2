"""NDJSON: each line is a record that holds a JSON object. Blank lines are ignored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from ..codec import strict_json
from ..codec.required import add_missing
from ..codec.transcode import MessageWriter, rows_reader
from ..request_errors import Code, RequestError, Violations, validation_error
from ..routing.stream_fields import RequestRecords
from .records import Added, Lines, Record, added_in_turn

CONTENT_TYPE = "application/x-ndjson"
# Sent while there are no records, so that no proxy closes the connection as idle.
HEARTBEAT = b"\n"
# All media types of NDJSON.
CONTENT_TYPES = frozenset({CONTENT_TYPE, "application/ndjson", "application/jsonl"})


class Ndjson:
    """Reads a body of NDJSON.

    Where records have a field for their faults, what is wrong with one is noted in
    it, and a line that is no JSON at all is as if it were no object. Else the first
    fault ends the stream.
    """

    def __init__(self, fields: RequestRecords) -> None:
        self._fields = fields
        self._rows = (
            rows_reader(fields.read, fields.row_errors_field) if fields.row_errors_field else None
        )
        self._unused = Violations()
        self._lines = Lines()
        self._count = 0

    def cut(self, data: bytes) -> Iterator[Record | None]:
        return (line if line.data.strip() else None for line in self._lines.cut(data))

    def rest(self) -> Iterator[Record | None]:
        return (line if line.data.strip() else None for line in self._lines.rest())

    def add(self, records: Sequence[Record], message: Any) -> Added:
        if self._rows is None:
            return added_in_turn(self._add, records, message)
        values = [_value_or_none(record.data) for record in records]
        self._rows(values, "", self._unused, getattr(message, self._fields.name))
        return Added(len(records))

    def _add(self, record: Record, message: Any) -> None:
        name = self._fields.name
        target = getattr(message, name) if name else None
        self._count += 1
        try:
            value = strict_json.loads(record.data)
        except RequestError as fault:
            raise self._placed(record, fault) from None
        faults = Violations()
        filled = message if target is None else target.add()
        self._fields.read(value, "", faults, filled)
        add_missing(filled, faults)
        if faults:
            if target is not None:
                del target[-1]
            raise self._placed(record, validation_error(faults))

    def _placed(self, record: Record, fault: RequestError) -> RequestError:
        """Returns the fault of a record as one of the body, and says where the record is."""
        faults, place = Violations(), f"{self._fields.json_name}[{self._count - 1}]"
        for found in fault.error.details:
            path = f"{place}.{found.field}" if found.field else place
            faults.add(path, Code.Name(found.code), f"{found.message} (line {record.line})")
        return validation_error(faults)


def _value_or_none(line: bytes) -> Any:
    try:
        return strict_json.loads(line)
    except RequestError:
        return None


def error(body: bytes) -> bytes:
    """Returns the line for an error, which comes as JSON."""
    return body + b"\n"


def written(write: MessageWriter, records: Iterable[Any]) -> bytes:
    """Returns records as lines."""
    text = bytearray()
    # One by one: orjson takes a kilobyte for each until it is copied, and to touch that
    # much fresh memory takes ten times as long as writing a record.
    for record in records:
        text += orjson.dumps(write(record), option=orjson.OPT_APPEND_NEWLINE)
    return bytes(text)
