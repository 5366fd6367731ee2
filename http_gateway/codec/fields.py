"""Classifies fields, and generates the source text that accesses them in readers and writers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from keyword import iskeyword
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pool import Default

from roster.v1 import http_pb2

from . import well_known
from .enums import NULL_VALUE


def key_of(field: FieldDescriptor) -> str:
    """Returns the JSON name of a field: the full name in brackets for an extension."""
    return f"[{field.full_name}]" if field.is_extension else str(field.json_name)


def field_expression(field: FieldDescriptor) -> str:
    """Returns the expression for a field of the message `m`.

    An extension is accessed by its descriptor, which is in scope as x and its number.
    """
    if field.is_extension:
        return f"m.Extensions[x{field.number}]"
    return f"getattr(m, {field.name!r})" if iskeyword(field.name) else f"m.{field.name}"


def assignment(field: FieldDescriptor, value: str) -> str:
    """Returns the statement that sets a field of the message `m`."""
    if iskeyword(field.name) and not field.is_extension:
        return f"setattr(m, {field.name!r}, {value})"
    return f"{field_expression(field)} = {value}"


def is_map(field: FieldDescriptor) -> bool:
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)


def rules_of(field: FieldDescriptor) -> Any:
    """Returns the buf.validate rules of a field.

    The extension is found by its name, because no package contains its module for all programs.
    """
    return field.GetOptions().Extensions[_rules_extension()]


@cache
def _rules_extension() -> Any:
    return Default().FindExtensionByName("buf.validate.field")


def max_items(field: FieldDescriptor) -> int:
    """Returns the maximum number of items of a repeated field; 0 if there is none."""
    return int(rules_of(field).repeated.max_items)


def is_list(field: FieldDescriptor) -> bool:
    """Whether the JSON of a message field is an array."""
    kind = field.message_type
    return kind is not None and kind.full_name == well_known.LIST


def takes_null(field: FieldDescriptor) -> bool:
    """Whether null is a value of the field instead of an absent key."""
    if field.is_repeated:
        return False
    kind, enum = field.message_type, field.enum_type
    return (kind is not None and kind.full_name == well_known.VALUE) or (
        enum is not None and enum.full_name == NULL_VALUE
    )


def row_errors_field(descriptor: Descriptor) -> str | None:
    """Returns the name of the field that lists the errors of such a message, or None."""
    return next((field.name for field in descriptor.fields if is_row_errors_field(field)), None)


def is_outside_json(field: FieldDescriptor) -> bool:
    """Whether a response field is sent as a Link header, as the status or as a page."""
    extensions = field.GetOptions().Extensions
    in_head = extensions[http_pb2.next_link] or extensions[http_pb2.status_if_true]
    return bool(in_head or extensions[http_pb2.form_page])


def is_always_written(field: FieldDescriptor) -> bool:
    """Whether the JSON of a response contains the field even if it has its default value."""
    return not (field.has_presence or field.GetOptions().Extensions[http_pb2.omit_empty])


def is_row_errors_field(field: FieldDescriptor) -> bool:
    return bool(field.GetOptions().Extensions[http_pb2.row_faults])


def compiled(lines: list[str], scope: dict[str, Any], function: str) -> Callable[..., Any]:
    """Compiles source text and returns one of its functions.

    `scope` is its globals: names can be added after the function is compiled.
    """
    exec("\n".join(lines), scope)  # noqa: S102 - the text is generated from descriptors only
    result: Callable[..., Any] = scope[function]
    return result
