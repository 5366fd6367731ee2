"""Converts query parameters and path variables to protobuf values.

They can set scalars, enums by name or number, and the well-known types that are a scalar in
JSON. Text is read more strictly than JSON: 1.0 and 1e2 are not integers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message_factory import GetMessageClass

from .enums import enum_reader
from .scalars import READERS, InvalidValue
from .well_known import Filler, filler, is_wrapper

TextReader = Callable[[str], Any]

_DIGITS = re.compile(r"-?[0-9]+")
_ENUM_NUMBER = re.compile(r"-?[0-9]{1,10}")
_INTEGERS = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
)


def text_reader(field: FieldDescriptor, *, any_case: bool = False) -> TextReader | None:
    """Returns a reader of one value of a field, or None if text cannot represent it.

    With `any_case`, the names of an enum can be in any letter case.
    The reader returns a scalar or a message, or raises InvalidValue.
    """
    if field.message_type is not None:
        return _message_reader(field.message_type)
    if field.enum_type is not None:
        return partial(_read_enum, enum_reader(field.enum_type, any_case=any_case))
    if field.type == FieldDescriptor.TYPE_BOOL:
        return _read_bool
    if field.cpp_type in _INTEGERS:
        return partial(_read_integer, READERS[field.type])
    return READERS[field.type]


def _message_reader(kind: Descriptor) -> TextReader | None:
    if is_wrapper(kind):
        read = text_reader(kind.fields_by_name["value"])
        return None if read is None else partial(_read_wrapper, GetMessageClass(kind), read)
    fill = filler(kind)
    return None if fill is None else partial(_read_filled, GetMessageClass(kind), fill)


def _read_bool(value: str) -> bool:
    if value not in ("true", "false"):
        raise InvalidValue("must be true or false")
    return value == "true"


def _read_enum(read: Callable[[Any], int], value: str) -> int:
    if not value[:1].isalpha() and _ENUM_NUMBER.fullmatch(value):
        return read(int(value))
    return read(value)


def _read_integer(read: Callable[[Any], int], value: str) -> int:
    if not _DIGITS.fullmatch(value):
        raise InvalidValue("must be an integer")
    return read(value)


def _read_wrapper(make: Callable[..., Any], read: TextReader, value: str) -> Any:
    return make(value=read(value))


def _read_filled(make: Callable[[], Any], fill: Filler, value: str) -> Any:
    message = make()
    fill(value, message)
    return message
