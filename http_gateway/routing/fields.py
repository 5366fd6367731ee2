"""Resolves the field paths of templates and query parameters, such as `book.author.name`.

A path cannot enter well-known types with a special JSON form, repeated fields or maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..codec.scalars import InvalidValue
from ..codec.url_values import text_reader
from ..codec.well_known import is_well_known
from ..policy import Annotations
from .templates import BindingError

Fields = tuple[FieldDescriptor, ...]
# Sets a field of a message, given its name and text. Raises InvalidValue.
Setter = Callable[[Any, str, str], None]


@cache
def fields_by_any_name(message: Descriptor) -> dict[str, FieldDescriptor]:
    """Returns the fields of a message type by JSON name and by proto name."""
    names = {field.name: field for field in message.fields}
    return names | {field.json_name: field for field in message.fields}


def in_query(request: Descriptor, annotations: Annotations) -> frozenset[str]:
    """Returns the fields that are in the query even if the body is the whole request."""
    return frozenset(f.name for f in request.fields if annotations.of_field(f).in_query)


def nested_type(field: FieldDescriptor) -> Descriptor | None:
    """Returns the message type that a path through this field enters, or None."""
    kind = field.message_type
    if kind is None or field.is_repeated or is_well_known(kind):
        return None
    return kind


def is_struct(field: FieldDescriptor) -> bool:
    kind = field.message_type
    return kind is not None and kind.full_name == "google.protobuf.Struct"


def path_field(request: Descriptor, name: str) -> Fields:
    """Returns the fields along the path of a template variable. Raises BindingError."""
    fields: list[FieldDescriptor] = []
    message: Descriptor | None = request
    for part in name.split("."):
        field = message.fields_by_name.get(part) if message else None
        if field is None:
            raise BindingError(f"{request.full_name} has no field {name!r}")
        if field.is_repeated:
            raise BindingError(f"the variable {name} is or enters a repeated field or a map")
        fields.append(field)
        message = nested_type(field)
    if text_reader(fields[-1]) is None:
        raise BindingError(f"the variable {name} is a message that text cannot represent")
    return tuple(fields)


def field_in_json(
    message: Descriptor, name: str, role: str, annotations: Annotations
) -> FieldDescriptor:
    """Returns a field that can be a body. `role` is used in the BindingError that it raises."""
    field = message.fields_by_name.get(name)
    if field is None or is_well_known(message):
        raise BindingError(f"{message.full_name} has no field {name!r} that can be the {role}")
    options = annotations.of_field(field)
    if options.row_faults or options.is_outside_json:
        raise BindingError(f"the {role} {name!r} is a field without a JSON form")
    return field


def json_path(fields: Iterable[FieldDescriptor]) -> str:
    return ".".join(field.json_name for field in fields)


def is_plain(fields: Sequence[FieldDescriptor]) -> bool:
    """Whether a field path is one scalar field outside any oneof, which setattr can set."""
    field = fields[-1]
    is_scalar = field.message_type is None and not field.is_repeated
    return len(fields) == 1 and is_scalar and field.containing_oneof is None


def setter(fields: Fields, annotations: Annotations) -> Setter:
    """Returns the setter of a field that text can represent."""
    field = fields[-1]
    read = text_reader(field, any_case=annotations.of_field(field).any_case)
    assert read is not None
    if is_plain(fields) and field.type == field.TYPE_STRING:
        return setattr

    def set_field(message: Any, _name: str, text: str) -> None:
        put(message, fields, read(text))

    return set_field


def put(message: Any, fields: Fields, value: Any) -> None:
    """Sets a field of a message, or appends to it if it is repeated.

    Raises InvalidValue if another field of its oneof is already set.
    """
    *parents, field = fields
    for parent in parents:
        _check_oneof(message, parent)
        message = getattr(message, parent.name)
    _check_oneof(message, field)
    if field.is_repeated:
        getattr(message, field.name).append(value)
    elif field.message_type is not None:
        target = getattr(message, field.name)
        target.SetInParent()
        # A value of a Struct is one of its members.
        (target.MergeFrom if is_struct(field) else target.CopyFrom)(value)
    else:
        setattr(message, field.name, value)


def _check_oneof(message: Any, field: FieldDescriptor) -> None:
    oneof = field.containing_oneof
    if oneof is None:
        return
    other = message.WhichOneof(oneof.name)
    if other is not None and other != field.name:
        name = fields_by_any_name(message.DESCRIPTOR)[other].json_name
        raise InvalidValue(f"cannot be set together with {name}", "INVALID_VALUE")


def check_oneofs(paths: Iterable[Fields]) -> None:
    """Raises BindingError if two bound fields are in the same oneof."""
    bound: dict[tuple[str, str], FieldDescriptor] = {}
    for fields in paths:
        for depth, field in enumerate(fields):
            if field.containing_oneof is None:
                continue
            oneof = (json_path(fields[:depth]), field.containing_oneof.name)
            if bound.setdefault(oneof, field).name != field.name:
                raise BindingError(
                    f"{bound[oneof].name} and {field.name} are both bound, but in the same oneof"
                )
