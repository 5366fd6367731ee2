"""Builds examples of requests from the examples of their fields in the protos.

They have no objects with keys that an account defines, so that a new account can send them.
"""

from __future__ import annotations

import csv
import io
from typing import Any

import orjson
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..codec.fields import is_map
from ..policy import Annotations
from ..routing.fields import is_struct

_TIMESTAMP = "google.protobuf.Timestamp"
# The types whose examples are not JSON: text, and bytes in base64.
_TEXT_TYPES = (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)


def declared(field: FieldDescriptor, annotations: Annotations) -> Any:
    """Returns the example that the protos declare for a field, or None."""
    text = annotations.of_field(field).example
    if text is None:
        return None
    kind = field.message_type
    is_text = field.type in _TEXT_TYPES or field.enum_type is not None
    if not field.is_repeated and (is_text or (kind is not None and kind.full_name == _TIMESTAMP)):
        return text
    return orjson.loads(text)


def of_message(
    message: Descriptor,
    annotations: Annotations,
    excluded: frozenset[str] = frozenset(),
    parents: tuple[Descriptor, ...] = (),
) -> dict[str, Any]:
    """Returns an example of a message, with those fields that have one.

    `parents` are the enclosing messages; recursive fields are left out.
    """
    absent = {*excluded, annotations.row_errors_field(message)}
    fields = [
        field
        for field in message.fields
        if field.name not in absent
        and not annotations.of_field(field).is_outside_json
        and not _has_free_keys(field)
    ]
    parents = (*parents, message)
    values = {field.json_name: of_field(field, annotations, parents) for field in fields}
    return {name: value for name, value in values.items() if value is not None}


def of_field(
    field: FieldDescriptor, annotations: Annotations, parents: tuple[Descriptor, ...] = ()
) -> Any:
    """Returns an example of a field's value, or None."""
    example = declared(field, annotations)
    kind = field.message_type
    if example is not None or kind is None or kind in parents:
        return example
    inner = of_message(kind, annotations, parents=parents)
    if not inner:
        return [] if field.is_repeated else None
    return [inner] if field.is_repeated else inner


def _has_free_keys(field: FieldDescriptor) -> bool:
    return is_map(field) or is_struct(field)


def last_member_only(example: dict[str, Any]) -> dict[str, Any]:
    """Returns the example of an update that changes only the last plain value.

    Values that identify an object come first.
    """
    plain = {name: v for name, v in example.items() if not isinstance(v, dict | list)}
    return dict(list(plain.items())[-1:])


def ndjson(record: Descriptor, annotations: Annotations) -> str:
    """Returns an example of a stream of records, as a line of NDJSON."""
    return orjson.dumps(of_message(record, annotations)).decode() + "\n"


def csv_text(field: FieldDescriptor, annotations: Annotations) -> str | None:
    """Returns the declared example of a field of lines as CSV, or None."""
    lines = declared(field, annotations)
    if lines is None:
        return None
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(line["cells"] for line in lines)
    return text.getvalue()
