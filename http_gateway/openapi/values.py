"""Builds the JSON Schemas of single values in requests, responses and URLs.

Requests also accept the other forms of ProtoJSON, such as a number as a string. The schemas
describe only the form of responses, from which clients are generated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor, MethodDescriptor

from ..codec.enums import NULL_VALUE
from ..codec.fields import rules_of
from ..codec.well_known import is_wrapper
from ..errors import errors_without_reason
from ..policy import ErrorPolicy, FieldOptions, Policy
from ..request_errors import error_code_of

Schema = dict[str, Any]
# Returns the options of a field.
OptionsOf = Callable[[FieldDescriptor], FieldOptions]

_F = FieldDescriptor
_INT32 = {"format": "int32", "minimum": -(1 << 31), "maximum": (1 << 31) - 1}
_UNSIGNED_32 = {"format": "int64", "minimum": 0, "maximum": (1 << 32) - 1}
_BITS_64 = {"format": "int64", "minimum": -(1 << 63), "maximum": (1 << 63) - 1}
_UNSIGNED_64 = {"minimum": 0, "maximum": (1 << 64) - 1}
_INTEGERS: dict[int, Schema] = {
    **dict.fromkeys((_F.TYPE_INT32, _F.TYPE_SINT32, _F.TYPE_SFIXED32), _INT32),
    **dict.fromkeys((_F.TYPE_UINT32, _F.TYPE_FIXED32), _UNSIGNED_32),
    **dict.fromkeys((_F.TYPE_INT64, _F.TYPE_SINT64, _F.TYPE_SFIXED64), _BITS_64),
    **dict.fromkeys((_F.TYPE_UINT64, _F.TYPE_FIXED64), _UNSIGNED_64),
}
_WIDE = (_F.CPPTYPE_INT64, _F.CPPTYPE_UINT64)
_NUMBERS = {_F.TYPE_DOUBLE: "double", _F.TYPE_FLOAT: "float"}
# Patterns are anchored at both ends, because validators differ in where they match.
_DIGITS = "^-?[0-9]{1,20}$"
# Without a pattern, which the type in generated Go clients does not support.
_TIMESTAMP: Schema = {"type": "string", "format": "date-time"}
_WELL_KNOWN: dict[str, Schema] = {
    "Timestamp": _TIMESTAMP,
    "Struct": {"type": "object"},
    "ListValue": {"type": "array", "items": {}},
    "Value": {},
    "Empty": {"type": "object", "additionalProperties": False},
    "Any": {"type": "object", "properties": {"@type": {"type": "string"}}},
    "Duration": {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]{1,9})?s$"},
    "FieldMask": {"type": "string"},
}


def value_schema(field: FieldDescriptor, options: OptionsOf, *, is_input: bool) -> Schema | None:
    """Returns the schema of one value in a body; None for types that the protos declare."""
    if field.enum_type is not None or field.message_type is not None:
        return _well_known(field, options, is_input=is_input)
    if is_input and field.cpp_type not in _WIDE and field.type in _INTEGERS:
        return {**_INTEGERS[field.type], "type": "integer"}
    return _scalar(field, options)


def deprecated(declaration: MethodDescriptor | FieldDescriptor) -> dict[str, bool]:
    """Returns the keyword of a deprecated declaration."""
    return {"deprecated": True} if declaration.GetOptions().deprecated else {}


def _scalar(field: FieldDescriptor, options: OptionsOf) -> Schema:
    if field.cpp_type in _WIDE:
        return {"type": "string", "format": "int64", "pattern": _DIGITS}
    if field.type in _INTEGERS:
        return {"type": "integer", "format": _INTEGERS[field.type]["format"]}
    if field.type in _NUMBERS:
        number = _number(field, options)
        texts: Schema = {"enum": ["NaN", "Infinity", "-Infinity"]}
        return number if _is_finite(field) else {"anyOf": [number, texts]}
    return _plain(field)


def in_url(field: FieldDescriptor, policy: Policy) -> Schema:
    """Returns the schema of one value in a path or query."""
    if field.enum_type is not None:
        return enum(field.enum_type, policy.errors)
    if field.message_type is not None:
        inner = _wrapped(field)
        if inner is not None:
            return in_url(inner, policy)
        return dict(_WELL_KNOWN.get(_name(field), {"type": "string"}))
    if field.type in _INTEGERS:
        return {**_INTEGERS[field.type], "type": "integer"}
    if field.type in _NUMBERS:
        return _number(field, policy.annotations.of_field)
    return _plain(field)


def _number(field: FieldDescriptor, options: OptionsOf) -> Schema:
    if options(field).whole:
        return {"type": "integer", "format": "int64"}
    return {"type": "number", "format": _NUMBERS[field.type]}


def _is_finite(field: FieldDescriptor) -> bool:
    """Whether rules exclude NaN and the infinities: explicitly, or by bounds on both sides."""
    rules = getattr(rules_of(field), _NUMBERS[field.type])
    bounds = (rules.WhichOneof("less_than"), rules.WhichOneof("greater_than"))
    return bool(rules.finite or all(bounds))


def _well_known(field: FieldDescriptor, options: OptionsOf, *, is_input: bool) -> Schema | None:
    """Returns the schema of a well-known type; None for types that the protos declare."""
    if field.enum_type is not None:
        return {"type": "null"} if field.enum_type.full_name == NULL_VALUE else None
    inner = _wrapped(field)
    if inner is not None:
        return value_schema(inner, options, is_input=is_input)
    schema = _WELL_KNOWN.get(_name(field))
    return None if schema is None else dict(schema)


def _wrapped(field: FieldDescriptor) -> FieldDescriptor | None:
    """Returns the value field of a wrapper type; None for any other type."""
    kind = field.message_type
    return kind.fields_by_name["value"] if kind is not None and is_wrapper(kind) else None


def enum(kind: EnumDescriptor, errors: ErrorPolicy) -> Schema:
    """Returns the schema of an enum by name.

    It is inlined, because Go generators declare a constant per value of a component, and two
    enums can have a value with the same name.
    """
    others = errors_without_reason(errors) if kind is errors.reasons else []
    return {"type": "string", "enum": names(kind, errors) + [error.code for error in others]}


def names(kind: EnumDescriptor, errors: ErrorPolicy) -> list[str]:
    """Returns the names of an enum's values in JSON, without the unspecified one.

    Error reasons are converted to codes.
    """
    values = [value.name for value in kind.values if value.number]
    return [error_code_of(name) for name in values] if kind is errors.reasons else values


def or_null(schema: Schema) -> Schema:
    """Returns the schema extended by null."""
    if not schema:
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    more = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return {**schema, "type": [*kinds, "null"], **more}


def _plain(field: FieldDescriptor) -> Schema:
    if field.type == _F.TYPE_BOOL:
        return {"type": "boolean"}
    if field.type == _F.TYPE_BYTES:
        return {"type": "string", "contentEncoding": "base64"}
    return {"type": "string"}


def _name(field: FieldDescriptor) -> str:
    """Returns the name of a well-known type; "" for any other."""
    kind = field.message_type
    return kind.name if kind is not None and kind.file.package == "google.protobuf" else ""
