"""Checks the comparisons of filter expressions, and converts them to conditions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from ....rpc.errors import ValidationError
from ....values.emails import key_prefix, parse_email
from ....values.ids import first_id_at
from ....values.suggestions import did_you_mean
from ....values.texts import caseless_key, json_name
from ....values.timestamps import parse_timestamp
from ...custom_fields.rules import TEXT_KEY_LENGTH, DataType
from .. import fields
from ..fields import PROFILE, Status, profile_fields
from .faults import fault, shown
from .syntax import Comparison
from .tree import And, Condition, Kind, Not, comparisons, mapped, range_of

_CUSTOM_FIELDS = "customFields."
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_VALUE_KINDS = {
    DataType.TEXT: Kind.TEXT_VALUE,
    DataType.NUMBER: Kind.NUMBER_VALUE,
    DataType.BOOLEAN: Kind.BOOLEAN_VALUE,
    DataType.DATE: Kind.DATE_VALUE,
}
# The start of messages about text that is compared with a field of another type.
_TO_TEXT = "must name a field of type TEXT, or"
_BOOLEANS = {"true": 1, "false": 0}
_TIMES = (
    *("created_at", "updated_at", "status_changed_at", "confirmed_at", "unsubscribed_at"),
    *profile_fields(fields.Kind.TIME),
)
_TIMES_BY_NAME = {alias: name for name in _TIMES for alias in (name, json_name(name))}
_PROFILE_BY_NAME = {alias: name for name in PROFILE for alias in (name, json_name(name))}
_NAMES = (
    *("email", "email.domain", "status", "tags", "customFields"),
    *map(json_name, (*PROFILE, *_TIMES)),
)
# The fields of every account.
_FIXED = {"email", "email.domain", "status", "tags", *_TIMES_BY_NAME, *_PROFILE_BY_NAME}
# In the order in which messages list them.
_ANY_ORDER = ("=", "!=", "<", "<=", ">", ">=", ":")
_EQUALITY = ("=", "!=", ":")
_OPERATORS = {Kind.TAG: (":",), Kind.BOOLEAN_VALUE: _EQUALITY}


def needs_types(tree: Any) -> bool:
    """Whether a filter has custom fields, or unknown fields for which one may be suggested."""
    return any(comparison.field not in _FIXED for comparison in comparisons(tree))


def custom_key(field: str) -> str:
    """Returns the key of a custom field, or "" for other fields."""
    for prefix in (_CUSTOM_FIELDS, "custom_fields."):
        if field.startswith(prefix):
            return field.removeprefix(prefix)
    return ""


def conditions_of(tree: Any, types: Mapping[str, int]) -> Any:
    """Returns the conditions of a parsed filter.

    `types` are the data types of the custom fields by key. Raises ValidationError for `filter`.
    """
    return mapped(tree, lambda comparison: _condition(comparison, types))


def _condition(comparison: Comparison, types: Mapping[str, int]) -> Any:
    if comparison.operator == "!=":
        return Not(_condition(comparison._replace(operator="="), types))
    name = comparison.field
    if name in _TIMES_BY_NAME:
        return _time(comparison, _TIMES_BY_NAME[name])
    if name == "status":
        return _status(comparison)
    if name in _PROFILE_BY_NAME:
        return _profile(comparison, PROFILE[_PROFILE_BY_NAME[name]])
    if name == "email.domain":
        return _text(comparison, Kind.DOMAIN, "email_key")
    if name in ("email", "tags"):
        return _text(comparison, {"email": Kind.EMAIL, "tags": Kind.TAG}[name])
    key = custom_key(name)
    if not key or key not in types:
        raise _unknown(comparison, types)
    return _custom(comparison, key, DataType(types[key]))


def _unknown(comparison: Comparison, types: Mapping[str, int]) -> ValidationError:
    name = comparison.field
    if name in ("customFields", "custom_fields"):
        message = "must name a custom field by its key, such as customFields.plan"
        return fault("UNKNOWN_FIELD", message, comparison.column)
    hint = did_you_mean(name, [*_NAMES, *(_CUSTOM_FIELDS + key for key in types)])
    return fault("UNKNOWN_FIELD", f"names an unknown field: {name}{hint}", comparison.column)


def _time(comparison: Comparison, column: str) -> Any:
    """Compares with the milliseconds that the API returns."""
    if _is_present(comparison):
        is_optional = column not in ("created_at", "updated_at")
        return Condition(Kind.COLUMN, "present", column=column if is_optional else "id")
    milliseconds = _milliseconds(comparison)
    if column == "created_at":
        # The ID contains the time of creation, and has an index.
        first: Any = first_id_at(milliseconds)
        end: Any = first_id_at(milliseconds + 1)
        column = "id"
    elif column == "updated_at":
        first, end, column = milliseconds * 1000, (milliseconds + 1) * 1000, "revision"
    else:
        first, end = milliseconds, milliseconds + 1

    def bound(operator: str, value: Any) -> Condition:
        return Condition(Kind.COLUMN, operator, (value,), column)

    match comparison.operator:
        case "<":
            return bound("<", first)
        case "<=":
            return bound("<", end)
        case ">":
            return bound(">=", end)
        case ">=":
            return bound(">=", first)
    return And((bound(">=", first), bound("<", end)))


def _status(comparison: Comparison) -> Any:
    _check_operator(comparison, _EQUALITY)
    if _is_present(comparison):
        return Condition(Kind.COLUMN, "present", column="id")
    try:
        status = Status[comparison.value.upper()]
    except KeyError:
        names = ", ".join(Status.__members__)
        raise fault(
            "INVALID_VALUE", f"must compare status with one of {names}", comparison.value_column
        ) from None
    _check_not_prefix(comparison)
    return Condition(Kind.COLUMN, "=", (int(status),), "status")


def _text(comparison: Comparison, kind: Kind, column: str = "") -> Any:
    _check_operator(comparison, _OPERATORS.get(kind, _ANY_ORDER))
    if _is_present(comparison):
        return Condition(kind, "present", column=column)
    if comparison.operator not in _EQUALITY and _literal_type(comparison) is not DataType.TEXT:
        message = "must quote the value of a text field"
        raise fault("INVALID_TYPE", message, comparison.value_column)
    if comparison.is_prefix:
        if comparison.operator not in ("=", ":"):
            _check_not_prefix(comparison)
        prefix = _PREFIXES.get(kind, str)(comparison.value)
        if kind is Kind.EMAIL and "@" not in prefix:
            # The domain is not compared, so only one form of the address is.
            kind, column = Kind.COLUMN, "email_key"
        if kind is Kind.DOMAIN and not prefix.isascii():
            # An incomplete label has no form in ASCII.
            column = "email_unicode_key"
        return Condition(kind, "prefix", range_of(prefix), column)
    value = _EXACT.get(kind, str)(comparison.value)
    return Condition(kind, _sql(comparison.operator), (value,), column)


def _profile(comparison: Comparison, field: fields.Field) -> Any:
    if field.kind is fields.Kind.TEXT:
        return _text(comparison, Kind.COLUMN, field.name)
    is_flag = field.kind is fields.Kind.FLAG
    _check_operator(comparison, _EQUALITY if is_flag else _ANY_ORDER)
    if _is_present(comparison):
        return Condition(Kind.COLUMN, "present", column=field.name)
    _check_not_prefix(comparison)
    value = _boolean(comparison) if is_flag else _number(comparison)
    return Condition(Kind.COLUMN, _sql(comparison.operator), (value,), field.name)


def _custom(comparison: Comparison, key: str, data_type: DataType) -> Any:
    kind = _VALUE_KINDS[data_type]
    _check_operator(comparison, _OPERATORS.get(kind, _ANY_ORDER))
    if _is_present(comparison):
        return Condition(kind, "present", (key,))
    if kind is Kind.TEXT_VALUE:
        _check_is_text(comparison)
        if len(comparison.value) >= TEXT_KEY_LENGTH:
            kind = Kind.LONG_TEXT_VALUE
        condition = _text(comparison, kind)
        return condition._replace(values=(key, *condition.values))
    _check_not_prefix(comparison)
    value: Any
    if kind is Kind.DATE_VALUE:
        value = _milliseconds(comparison)
    elif kind is Kind.NUMBER_VALUE:
        value = _number(comparison, _TO_TEXT)
    else:
        value = _boolean(comparison, _TO_TEXT)
    return Condition(kind, _sql(comparison.operator), (key, value))


def _is_present(comparison: Comparison) -> bool:
    """Whether the comparison is `FIELD:*`, which is true if the field has a value."""
    return comparison.operator == ":" and comparison.is_prefix and not comparison.value


def _sql(operator: str) -> str:
    return "=" if operator == ":" else operator


def _check_operator(comparison: Comparison, operators: Sequence[str]) -> None:
    if comparison.operator not in operators:
        listed = f"one of the operators {' '.join(operators)}"
        if operators == _OPERATORS[Kind.TAG]:
            listed = "the operator :, such as tags:vip or NOT tags:vip"
        message = f"must compare {shown(comparison.field)} with {listed}"
        raise fault("INVALID_VALUE", message, comparison.column)


def _literal_type(comparison: Comparison) -> DataType:
    """Returns the type of a value: TEXT if it is quoted or a prefix, or has no other type."""
    value = comparison.value
    if comparison.is_quoted or comparison.is_prefix:
        return DataType.TEXT
    if _NUMBER.fullmatch(value):
        return DataType.NUMBER
    if value.lower() in _BOOLEANS:
        return DataType.BOOLEAN
    return DataType.TEXT if parse_timestamp(value) is None else DataType.DATE


def _check_is_text(comparison: Comparison) -> None:
    literal = _literal_type(comparison)
    if literal is not DataType.TEXT:
        message = f"must quote the value of a TEXT field, or name a field of type {literal.name}"
        raise fault("INVALID_TYPE", message, comparison.value_column)


def _check_not_prefix(comparison: Comparison) -> None:
    if comparison.is_prefix:
        message = f"cannot compare {shown(comparison.field)} with a prefix"
        raise fault("INVALID_VALUE", message, comparison.value_column)


def _milliseconds(comparison: Comparison) -> int:
    _check_not_prefix(comparison)
    time = parse_timestamp(comparison.value)
    if time is None:
        message = (
            f"must compare {shown(comparison.field)} with a date such as 2026-01-31, or a timestamp"
            ' such as "2026-01-31T12:00:00Z"'
        )
        raise fault("INVALID_FORMAT", message, comparison.value_column)
    return time


def _boolean(comparison: Comparison, must: str = "must") -> int:
    value = _BOOLEANS.get(comparison.value.lower())
    if value is None:
        message = f"{must} compare {shown(comparison.field)} with true or false"
        raise fault("INVALID_TYPE", message, comparison.value_column)
    return value


def _number(comparison: Comparison, must: str = "must") -> float:
    is_number = not comparison.is_prefix and _NUMBER.fullmatch(comparison.value)
    number = float(comparison.value) if is_number else float("nan")
    if not isfinite(number):
        message = f"{must} compare {shown(comparison.field)} with a number"
        raise fault("INVALID_TYPE", message, comparison.value_column)
    return number


def _email(text: str) -> str:
    """Returns an address, or another text, as it is compared with the keys of addresses."""
    email = parse_email(text)
    return key_prefix(text) if email is None else email.key


def _domain_prefix(text: str) -> str:
    return key_prefix(f"@{text}")[1:]


def _domain(text: str) -> str:
    """Returns a domain as it is stored in the keys of addresses."""
    email = parse_email(f"a@{text}")
    return text.lower() if email is None else email.key.partition("@")[2]


_EXACT = {Kind.EMAIL: _email, Kind.DOMAIN: _domain, Kind.TAG: caseless_key}
_PREFIXES = {Kind.EMAIL: key_prefix, Kind.DOMAIN: _domain_prefix, Kind.TAG: caseless_key}
