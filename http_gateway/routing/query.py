"""Query parameters into the fields of a request, by google.api.http.

Where a request has no body, every field that the path does not hold may come as
a parameter, under its JSON name or its name in the proto. Anything else is an
unknown parameter, and is named in the answer.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from ..codec.scalars import READERS, Reader, WrongValue, enum_reader, read_timestamp
from ..faults import Faults, invalid

_MAX_PARAMETERS = 64
_DIGITS = re.compile(r"-?[0-9]+")
_INTEGERS = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
)
_TIMESTAMP = "google.protobuf.Timestamp"


class QueryReader:
    """Reads the query of one binding."""

    def __init__(self, request: Descriptor, excluded: frozenset[str], *, has_body: bool) -> None:
        self._fields: dict[str, tuple[FieldDescriptor, Reader]] = {}
        if has_body:
            return
        for field in request.fields:
            if field.name not in excluded:
                reader = _reader(field)
                self._fields[field.json_name] = self._fields[field.name] = (field, reader)

    def read(self, query: str, message: Any) -> None:
        """Sets the fields that the query holds. Raises RequestFault, a VALIDATION_ERROR."""
        faults = Faults()
        seen: set[str] = set()
        for name, value in _parameters(query, faults):
            known = self._fields.get(name)
            if known is None:
                faults.add(name, "UNKNOWN_FIELD", "is not a query parameter of this operation")
                continue
            field, reader = known
            if field.name in seen and not field.is_repeated:
                faults.add(name, "DUPLICATE_FIELD", "is given more than once")
                continue
            seen.add(field.name)
            try:
                _set(message, field, reader(value))
            except WrongValue as error:
                faults.add(name, error.code, str(error))
        if faults:
            raise invalid(faults)


def _parameters(query: str, faults: Faults) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query, keep_blank_values=True, errors="strict", max_num_fields=_MAX_PARAMETERS
        )
    except UnicodeDecodeError:
        faults.add("", "INVALID_FORMAT", "the query must be encoded in UTF-8")
    except ValueError:
        faults.add("", "TOO_MANY", f"the query must have at most {_MAX_PARAMETERS} parameters")
    return []


def _reader(field: FieldDescriptor) -> Reader:
    if field.enum_type is not None:
        return enum_reader(field.enum_type)
    if field.type == FieldDescriptor.TYPE_BOOL:
        return _read_bool
    if field.message_type is not None and field.message_type.full_name == _TIMESTAMP:
        return read_timestamp
    if field.message_type is not None:
        raise TypeError(f"{field.full_name} cannot come as a query parameter")
    if field.cpp_type in _INTEGERS:
        return partial(_read_integer, READERS[field.type])
    return READERS[field.type]


def _read_integer(reader: Reader, value: str) -> int:
    """Takes digits only: what ProtoJSON lets pass for an integer, 1.0 or 1e2, is none in a URL."""
    if not _DIGITS.fullmatch(value):
        raise WrongValue("must be an integer")
    number: int = reader(value)
    return number


def _read_bool(value: str) -> bool:
    if value not in ("true", "false"):
        raise WrongValue("must be true or false")
    return value == "true"


def _set(message: Any, field: FieldDescriptor, value: Any) -> None:
    if field.is_repeated:
        getattr(message, field.name).append(value)
    elif field.message_type is not None:
        getattr(message, field.name).CopyFrom(value)
    else:
        setattr(message, field.name, value)
