"""Classifies fields, and generates the source text that accesses them in readers and writers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from keyword import iskeyword
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pool import Default

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


# Of buf.validate.Ignore.
_IGNORE_ALWAYS = 3


def is_map(field: FieldDescriptor) -> bool:
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)


class _NoRules:
    """The rules of a field in a process without buf.validate: none are set."""

    def __getattr__(self, _name: str) -> _NoRules:
        return self

    def __call__(self, *_arguments: Any) -> None:
        return None

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __int__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False


def rules_of(field: FieldDescriptor) -> Any:
    """Returns the buf.validate rules of a field.

    The extension is found by its name, because no package contains its module for all programs.
    """
    try:
        extension: Any = Default().FindExtensionByName("buf.validate.field")
    except KeyError:
        return _NoRules()
    return field.GetOptions().Extensions[extension]


def max_items(field: FieldDescriptor) -> int:
    """Returns the maximum number of items of a repeated field; 0 if there is none."""
    return int(rules_of(field).repeated.max_items)


def has_independent_items(field: FieldDescriptor) -> bool:
    """Whether an invalid item fails alone, because only the service checks the items."""
    return bool(rules_of(field).repeated.items.ignore == _IGNORE_ALWAYS)


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


def compiled(lines: list[str], scope: dict[str, Any], function: str) -> Callable[..., Any]:
    """Compiles source text and returns one of its functions.

    `scope` is its globals: names can be added after the function is compiled.
    """
    exec("\n".join(lines), scope)  # noqa: S102 - the text is generated from descriptors only
    result: Callable[..., Any] = scope[function]
    return result
