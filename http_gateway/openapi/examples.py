"""Builds examples of messages from the examples of their fields in the protos."""

from __future__ import annotations

import csv
import io
from typing import Any

import orjson
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from roster.v1 import http_pb2

from ..codec.fields import row_errors_field

_TIMESTAMP = "google.protobuf.Timestamp"
# The types whose examples are not JSON: text, and bytes in base64.
_TEXT_TYPES = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


def declared(field: FieldDescriptor) -> Any:
    """Returns the example that the protos declare for a field, or None."""
    options = field.GetOptions()
    if not options.HasExtension(http_pb2.example):
        return None
    text: str = options.Extensions[http_pb2.example]
    kind = field.message_type
    is_text = field.type in _TEXT_TYPES or field.enum_type is not None
    if not field.is_repeated and (is_text or (kind is not None and kind.full_name == _TIMESTAMP)):
        return text
    return orjson.loads(text)


def of_message(
    message: Descriptor,
    excluded: frozenset[str] = frozenset(),
    parents: tuple[Descriptor, ...] = (),
) -> dict[str, Any]:
    """Returns an example of a message, with those fields that have one.

    `parents` are the enclosing messages; recursive fields are left out.
    """
    absent = {*excluded, row_errors_field(message)}
    fields = [field for field in message.fields if field.name not in absent]
    values = {field.json_name: of_field(field, (*parents, message)) for field in fields}
    return {name: value for name, value in values.items() if value is not None}


def of_field(field: FieldDescriptor, parents: tuple[Descriptor, ...] = ()) -> Any:
    """Returns an example of a field's value, or None."""
    example = declared(field)
    kind = field.message_type
    if example is not None or kind is None or kind in parents or _is_foreign(kind):
        return example
    inner = of_message(kind, parents=parents)
    if not inner:
        return [] if field.is_repeated else None
    return [inner] if field.is_repeated else inner


def _is_foreign(kind: Descriptor) -> bool:
    return bool(kind.file.package == "google.protobuf" or kind.GetOptions().map_entry)


def ndjson(record: Descriptor) -> str:
    """Returns an example of a stream of records, as a line of NDJSON."""
    return orjson.dumps(of_message(record)).decode() + "\n"


def csv_text(field: FieldDescriptor) -> str | None:
    """Returns the declared example of a CsvLine field as CSV, or None."""
    lines = declared(field)
    if lines is None:
        return None
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(line["cells"] for line in lines)
    return text.getvalue()
