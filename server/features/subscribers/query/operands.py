"""The fields that filters name.

A value without quotes can be the name of a field too, such as `updatedAt > confirmedAt`. There,
`email` and `name` are texts, because the value of a custom field can be one of these words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ....values.texts import json_name
from ...custom_fields.rules import DataType, FieldTypes
from .. import fields
from ..fields import PROFILE, profile_fields
from .syntax import Comparison
from .tree import Kind

CUSTOM_FIELDS = "customFields."
# Before the kind in the column of an operand, and of a condition, on a custom field that was
# converted, see `custom_fields/value_conversion.py`.
CONVERTED = "converted "
# The kinds of the conditions on a custom field.
VALUE_KINDS = {
    DataType.TEXT: Kind.TEXT_VALUE,
    DataType.NUMBER: Kind.NUMBER_VALUE,
    DataType.BOOLEAN: Kind.BOOLEAN_VALUE,
    DataType.DATE: Kind.DATE_VALUE,
}
_TYPES = {
    fields.Kind.TEXT: DataType.TEXT,
    fields.Kind.NUMBER: DataType.NUMBER,
    fields.Kind.FLAG: DataType.BOOLEAN,
    fields.Kind.TIME: DataType.DATE,
}
_TIMES = (
    *("created_at", "updated_at", "status_changed_at", "confirmed_at", "unsubscribed_at"),
    *profile_fields(fields.Kind.TIME),
)
_OTHERS = ("email", "email.domain", "name", "consent_source", "status", "tags", "tag_count")


class Operand(NamedTuple):
    """A field that is compared, and its type; DATE is any time.

    `column` is a column of subscribers, or "domain", "name", "tag count", or the kind of the
    conditions on a custom field, whose `key` is set.
    """

    type: DataType
    column: str
    key: str | None = None


def _by_name() -> Mapping[str, Operand]:
    profile = {name: each.kind for name, each in PROFILE.items() if each.kind is not None}
    operands = {
        **{name: Operand(_TYPES[kind], name) for name, kind in profile.items()},
        **{name: Operand(DataType.DATE, name) for name in _TIMES},
        "email": Operand(DataType.TEXT, "email_key"),
        "email.domain": Operand(DataType.TEXT, "domain"),
        "name": Operand(DataType.TEXT, "name"),
        "consent_source": Operand(DataType.TEXT, "consent_source"),
        "tag_count": Operand(DataType.NUMBER, Kind.TAG_COUNT),
    }
    return {alias: each for name, each in operands.items() for alias in (name, json_name(name))}


_OPERANDS = _by_name()
# The fields of every account, and their names in messages.
FIXED = {*_OPERANDS, "status", "tags"}
NAMES = (*map(json_name, (*_OTHERS, *PROFILE, *_TIMES)), "customFields")
_ON_THE_RIGHT = _OPERANDS.keys() - {"email", "name"}


def custom_key(field: str) -> str:
    """Returns the key of a custom field, or "" for other fields."""
    for prefix in (CUSTOM_FIELDS, "custom_fields."):
        if field.startswith(prefix):
            return field.removeprefix(prefix)
    return ""


def is_tag_count(field: str) -> bool:
    operand = _OPERANDS.get(field)
    return operand is not None and operand.column == Kind.TAG_COUNT


def operand_of(field: str, types: Mapping[str, int]) -> Operand | None:
    """Returns the operand of a name; None for the status, tags and unknown fields.

    `types` are the data types of the custom fields by key.
    """
    key = custom_key(field)
    if key in types:
        data_type = DataType(types[key])
        kind = VALUE_KINDS[data_type]
        is_converted = isinstance(types, FieldTypes) and key in types.converted
        return Operand(data_type, f"{CONVERTED}{kind}" if is_converted else kind, key)
    return _OPERANDS.get(field)


def fields_of(comparison: Comparison) -> list[str]:
    """Returns the names of the field that is compared and of that it is compared with, if any."""
    field, value = comparison.field, comparison.value
    is_literal = comparison.is_quoted or comparison.is_prefix or comparison.function
    if is_literal or comparison.operator == ":" or field in ("status", "tags"):
        return [field]
    return [field, value] if value in _ON_THE_RIGHT or custom_key(value) else [field]
