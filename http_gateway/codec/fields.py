"""Source text for accessing fields in compiled readers and writers."""

from __future__ import annotations

from collections.abc import Callable
from keyword import iskeyword
from typing import Any

from buf.validate import validate_pb2
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from roster.v1 import http_pb2

from . import well_known
from .enums import NULL_VALUE


def key_of(field: FieldDescriptor) -> str:
    """Returns the JSON name of a field; that of an extension stands in brackets."""
    return f"[{field.full_name}]" if field.is_extension else str(field.json_name)


def field_expression(field: FieldDescriptor) -> str:
    """Returns the text that stands for a field of the message `m`.

    An extension is looked up by its descriptor, which the text calls x and its number.
    """
    if field.is_extension:
        return f"m.Extensions[x{field.number}]"
    return f"getattr(m, {field.name!r})" if iskeyword(field.name) else f"m.{field.name}"


def assignment_text(field: FieldDescriptor, value: str) -> str:
    """Returns the text that sets a field of the message `m`."""
    if iskeyword(field.name) and not field.is_extension:
        return f"setattr(m, {field.name!r}, {value})"
    return f"{field_expression(field)} = {value}"


def is_map(field: FieldDescriptor) -> bool:
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)


def max_items(field: FieldDescriptor) -> int:
    """Returns how many items a repeated field may have; 0 if there is no bound."""
    return int(field.GetOptions().Extensions[validate_pb2.field].repeated.max_items)


def is_list(field: FieldDescriptor) -> bool:
    """Whether the JSON of a message field is an array."""
    kind = field.message_type
    return kind is not None and kind.full_name == well_known.LIST


def takes_null(field: FieldDescriptor) -> bool:
    """Whether null is a value of the field, and not as if its key were absent."""
    if field.is_repeated:
        return False
    kind, enum = field.message_type, field.enum_type
    return (kind is not None and kind.full_name == well_known.VALUE) or (
        enum is not None and enum.full_name == NULL_VALUE
    )


def row_errors_field(descriptor: Descriptor) -> str | None:
    """Returns the name of the field in which violations of such a message are noted, or None."""
    return next((field.name for field in descriptor.fields if is_row_errors_field(field)), None)


def is_row_errors_field(field: FieldDescriptor) -> bool:
    return bool(field.GetOptions().Extensions[http_pb2.row_faults])


def compiled(lines: list[str], scope: dict[str, Any], function: str) -> Callable[..., Any]:
    """Returns a function of a text. It looks up in `scope` whatever is there when it runs."""
    exec("\n".join(lines), scope)  # noqa: S102 - the text is made of descriptors only
    made: Callable[..., Any] = scope[function]
    return made
