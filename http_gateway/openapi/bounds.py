"""Converts buf.validate rules to JSON Schema keywords."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor

from ..codec.fields import has_independent_items, rules_of
from ..policy import Annotations
from .values import Schema

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
# Patterns of text without control characters, by the options of the field. In trimmed fields,
# tabs and line breaks are allowed at both ends.
_CONTROLS = r"\u0000-\u001f\u007f-\u009f\u2028\u2029"
_BREAKS = r"\t\n\r\u0085\u2028\u2029"
_INVISIBLE = (
    r"\s\u001c-\u001f\u0080-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
)
_LINE = rf"^\t*[^{_CONTROLS}]*\t*$"
_LINES = r"^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$"
_TRIMMED = rf"^[{_BREAKS}]*[^{_CONTROLS}]*[{_BREAKS}]*$"
_VISIBLE = rf"^[{_BREAKS}]*[^{_CONTROLS}]*[^{_CONTROLS}{_INVISIBLE}][^{_CONTROLS}]*[{_BREAKS}]*$"
_NOT_BLANK = rf"^[\s\S]*[^{_INVISIBLE}][\s\S]*$"


def is_required(field: FieldDescriptor) -> bool:
    """Whether a request without the field violates a rule."""
    rules = rules_of(field)
    if field.has_presence:
        return bool(rules.required)
    return bool(rules.required or rules.repeated.min_items or rules.string.min_len)


def of_field(field: FieldDescriptor, annotations: Annotations) -> Schema:
    """Returns the keywords for the value of a field, or for its list if it is repeated."""
    rules = rules_of(field)
    if field.is_repeated:
        return _set(rules.repeated, _LIST)
    filled = is_required(field) or annotations.of_field(field).never_empty
    return _of_value(field, rules, annotations, filled=filled)


def of_items(field: FieldDescriptor, annotations: Annotations) -> Schema:
    """Returns the keywords for each item of a list. Items that fail alone have none."""
    if has_independent_items(field):
        return {}
    items = rules_of(field).repeated.items
    return _of_value(field, items, annotations, filled=bool(items.string.min_len))


def _of_value(
    field: FieldDescriptor, rules: Any, annotations: Annotations, *, filled: bool
) -> Schema:
    kind = rules.WhichOneof("type")
    if field.type == FieldDescriptor.TYPE_STRING:
        return _of_text(field, rules.string, annotations, filled=filled)
    if kind is None or field.message_type is not None or field.enum_type is not None:
        return {}
    return {**_set(getattr(rules, kind), _NUMBER), **_choice(getattr(rules, kind))}


def _of_text(
    field: FieldDescriptor, rules: Any, annotations: Annotations, *, filled: bool
) -> Schema:
    patterns = annotations.text_patterns
    schema: Schema = {"minLength": 1} if filled else {}
    schema |= _set(rules, _TEXT) | _choice(rules)
    if rules.len:
        schema |= {"minLength": rules.len, "maxLength": rules.len}
    formats = [name for name in _TEXT_FORMATS if getattr(rules, name)]
    if text_format := annotations.of_field(field).text_format:
        formats.append(text_format)
    if formats:
        text_format = formats[0]
        pattern = {"pattern": patterns[text_format]} if text_format in patterns else {}
        return {**schema, "format": text_format, **pattern}
    if "pattern" not in schema and "enum" not in schema:
        schema |= _characters(field, annotations, filled=filled)
    return schema


def _characters(field: FieldDescriptor, annotations: Annotations, *, filled: bool) -> Schema:
    """Returns the pattern of allowed characters, by the options of the field and its file."""
    options = annotations.of_field(field)
    filled = filled and options.trimmed
    message = field.containing_type
    assert message is not None
    if not annotations.forbids_controls(message.file):
        return {"pattern": _NOT_BLANK} if filled else {}
    if options.multiline:
        return {"pattern": _LINES}
    if options.trimmed:
        return {"pattern": _VISIBLE if filled else _TRIMMED}
    return {"pattern": _LINE}


def _choice(rules: Any) -> Schema:
    choice = list(getattr(rules, "in"))
    return {"enum": choice} if choice else {}


def _set(rules: Any, keywords: dict[str, str]) -> Schema:
    """Returns the keywords for the rules that are set. Doubles without a fraction are integers."""
    known = rules.DESCRIPTOR.fields_by_name
    return {
        keyword: _whole(getattr(rules, rule))
        for rule, keyword in keywords.items()
        if rule in known and rules.HasField(rule)
    }


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value
