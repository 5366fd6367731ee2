"""Bounds of values: the rules of buf.validate as keywords of JSON Schema."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from roster.v1 import http_pb2

from .values import Schema, rules_of

_TEXT = {"min_len": "minLength", "max_len": "maxLength", "pattern": "pattern", "const": "const"}
_TEXT_FORMATS = ("email", "hostname", "ipv4", "ipv6", "uri", "uuid")
_NUMBER = {
    "gte": "minimum",
    "gt": "exclusiveMinimum",
    "lte": "maximum",
    "lt": "exclusiveMaximum",
    "const": "const",
}
_LIST = {"min_items": "minItems", "max_items": "maxItems", "unique": "uniqueItems"}
_NUL = "\0"
# Text without NUL; and such that is not blank, by what the server takes for a blank.
_WITHOUT_NUL = r"^[^\u0000]*$"
_NOT_BLANK = r"^[^\u0000]*[^\s\u0000\u001c-\u001f\u0085][^\u0000]*$"


def is_required(field: FieldDescriptor) -> bool:
    """Whether a request without the field breaks a rule."""
    rules = rules_of(field)
    if field.has_presence:
        return bool(rules.required)
    return bool(rules.required or rules.repeated.min_items or rules.string.min_len)


def is_never_empty(field: FieldDescriptor) -> bool:
    """Whether an empty value breaks a rule."""
    return is_required(field) or bool(field.GetOptions().Extensions[http_pb2.never_empty])


def of_field(field: FieldDescriptor) -> Schema:
    """Returns the keywords for the value of a field; for a list, those for the list."""
    rules = rules_of(field)
    if field.is_repeated:
        return _set(rules.repeated, _LIST)
    return _of_value(field, rules, filled=is_never_empty(field))


def of_items(field: FieldDescriptor) -> Schema:
    """Returns the keywords for each item of a list."""
    items = rules_of(field).repeated.items
    return _of_value(field, items, filled=bool(items.string.min_len))


def _of_value(field: FieldDescriptor, rules: Any, *, filled: bool) -> Schema:
    kind = rules.WhichOneof("type")
    if field.type == FieldDescriptor.TYPE_STRING:
        return _of_text(field, rules.string, filled=filled)
    if kind is None or field.message_type is not None or field.enum_type is not None:
        return {}
    return {**_set(getattr(rules, kind), _NUMBER), **_choice(getattr(rules, kind))}


def _of_text(field: FieldDescriptor, rules: Any, *, filled: bool) -> Schema:
    options = field.GetOptions()
    schema: Schema = {"minLength": 1} if filled else {}
    schema |= _set(rules, _TEXT) | _choice(rules)
    if rules.len:
        schema |= {"minLength": rules.len, "maxLength": rules.len}
    formats = [name for name in _TEXT_FORMATS if getattr(rules, name)]
    if text_format := options.Extensions[http_pb2.text_format]:
        formats.append(text_format)
    if formats:
        return {**schema, "format": formats[0]}
    if "pattern" in schema or "enum" in schema:
        return schema
    if filled and options.Extensions[http_pb2.trimmed]:
        schema["pattern"] = _NOT_BLANK
    elif rules.not_contains == _NUL:
        schema["pattern"] = _WITHOUT_NUL
    return schema


def _choice(rules: Any) -> Schema:
    choice = list(getattr(rules, "in"))
    return {"enum": choice} if choice else {}


def _set(rules: Any, keywords: dict[str, str]) -> Schema:
    """Returns the keywords for those rules that are set."""
    known = rules.DESCRIPTOR.fields_by_name
    return {
        keyword: getattr(rules, rule)
        for rule, keyword in keywords.items()
        if rule in known and rules.HasField(rule)
    }
