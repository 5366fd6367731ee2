"""Fields by the paths that templates and query parameters name them with: `book.author.name`.

A path leads through messages whose JSON is an object of their fields. It does not lead
into those well-known ones whose JSON is something else, nor into lists and maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from roster.v1 import http_pb2

from ..codec.scalars import InvalidValue
from ..codec.url_values import text_reader
from ..codec.well_known import is_well_known
from .templates import BindingError

Fields = tuple[FieldDescriptor, ...]
# Sets a field, which is named for those that need it, to a text. Raises InvalidValue.
Setter = Callable[[Any, str, str], None]


@cache
def by_name(message: Descriptor) -> dict[str, FieldDescriptor]:
    """Returns the fields of a message type under their JSON names and those of the proto."""
    names = {field.name: field for field in message.fields}
    return names | {field.json_name: field for field in message.fields}


def parts_of(field: FieldDescriptor) -> Descriptor | None:
    """Returns the message type whose fields are named after this one's; None where none are."""
    kind = field.message_type
    if kind is None or field.is_repeated or is_well_known(kind):
        return None
    return kind


def path_field(request: Descriptor, name: str) -> Fields:
    """Returns the fields on the path that a template names. Raises BindingError."""
    found: list[FieldDescriptor] = []
    message: Descriptor | None = request
    for part in name.split("."):
        field = message.fields_by_name.get(part) if message else None
        if field is None:
            raise BindingError(f"{request.full_name} has no field {name!r}")
        if field.is_repeated:
            raise BindingError(f"the variable {name} leads to a repeated field or a map")
        found.append(field)
        message = parts_of(field)
    if text_reader(found[-1]) is None:
        raise BindingError(f"the variable {name} is a message that no text can stand for")
    return tuple(found)


def field_in_json(message: Descriptor, name: str, role: str) -> FieldDescriptor:
    """Returns a field of a message whose JSON stands by itself. Raises BindingError."""
    field = message.fields_by_name.get(name)
    if field is None or is_well_known(message):
        raise BindingError(f"{message.full_name} has no field {name!r} that could be the {role}")
    extensions = field.GetOptions().Extensions
    if extensions[http_pb2.row_faults] or extensions[http_pb2.next_link]:
        raise BindingError(f"the {role} {name!r} is a field that no JSON holds")
    return field


def json_path(fields: Iterable[FieldDescriptor]) -> str:
    """Returns the path of a field as JSON names it."""
    return ".".join(field.json_name for field in fields)


def is_plain(fields: Sequence[FieldDescriptor]) -> bool:
    """Whether setting the last of some fields is all there is to do: it is a scalar, and alone."""
    field = fields[-1]
    is_scalar = field.message_type is None and not field.is_repeated
    return len(fields) == 1 and is_scalar and field.containing_oneof is None


def setter(fields: Fields) -> Setter:
    """Returns what sets a field that a text can stand for."""
    field, read = fields[-1], text_reader(fields[-1])
    assert read is not None
    if is_plain(fields) and field.type == field.TYPE_STRING:
        return setattr

    def set_field(message: Any, _name: str, text: str) -> None:
        put(message, fields, read(text))

    return set_field


def put(message: Any, fields: Fields, value: Any) -> None:
    """Sets a field of a message, or adds to it if it is repeated.

    Raises InvalidValue if another field of its oneof is set already.
    """
    *above, field = fields
    for each in above:
        _check_oneof(message, each)
        message = getattr(message, each.name)
    _check_oneof(message, field)
    if field.is_repeated:
        getattr(message, field.name).append(value)
    elif field.message_type is not None:
        target = getattr(message, field.name)
        target.SetInParent()
        target.CopyFrom(value)
    else:
        setattr(message, field.name, value)


def _check_oneof(message: Any, field: FieldDescriptor) -> None:
    group = field.containing_oneof
    if group is None:
        return
    rival = message.WhichOneof(group.name)
    if rival is not None and rival != field.name:
        name = by_name(message.DESCRIPTOR)[rival].json_name
        raise InvalidValue(f"cannot be set together with {name}", "INVALID_VALUE")


def check_oneofs(paths: Iterable[Fields]) -> None:
    """Raises BindingError if two fields that are always set are of one oneof."""
    chosen: dict[tuple[str, str], FieldDescriptor] = {}
    for fields in paths:
        for depth, field in enumerate(fields):
            if field.containing_oneof is None:
                continue
            place = (json_path(fields[:depth]), field.containing_oneof.name)
            if chosen.setdefault(place, field).name != field.name:
                raise BindingError(
                    f"{chosen[place].name} and {field.name} are of one oneof, and both are bound"
                )
