"""Reads the values of comparisons in filter expressions."""

from __future__ import annotations

import re
from math import isfinite

from ....rpc.errors import ValidationError
from ....values.emails import key_prefix, parse_email
from ....values.timestamps import parse_timestamp
from ...custom_fields.rules import DataType
from .faults import fault, shown
from .syntax import Comparison

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_BOOLEANS = {"true": 1, "false": 0}
_DAYS = re.compile(r"-?\d{1,6}", re.ASCII)
# A hundred years.
_MAX_DAYS = 36_525
_DAY_MILLISECONDS = 24 * 3600 * 1000


def literal_type(comparison: Comparison) -> DataType:
    """Returns the type of a value: TEXT if it is quoted or a prefix, or has no other type."""
    value = comparison.value
    if comparison.is_quoted or comparison.is_prefix:
        return DataType.TEXT
    if _NUMBER.fullmatch(value):
        return DataType.NUMBER
    if value.lower() in _BOOLEANS:
        return DataType.BOOLEAN
    return DataType.TEXT if parse_timestamp(value) is None else DataType.DATE


def check_is_text(comparison: Comparison) -> None:
    """Raises ValidationError for a value that a custom field of type TEXT is not compared with."""
    literal = literal_type(comparison)
    if literal is not DataType.TEXT:
        message = f"must quote the value of a TEXT field, {_to_convert(literal)}"
        raise fault("INVALID_TYPE", message, comparison.value_column)


def check_not_prefix(comparison: Comparison) -> None:
    if comparison.is_prefix:
        message = f"cannot compare {shown(comparison.field)} with a prefix"
        raise fault("INVALID_VALUE", message, comparison.value_column)


def milliseconds(comparison: Comparison, now: int) -> int:
    """Returns a time in milliseconds since 1970. `now` is the time for `daysAgo`."""
    check_not_prefix(comparison)
    if comparison.function:
        return now - _days(comparison) * _DAY_MILLISECONDS
    time = parse_timestamp(comparison.value)
    if time is None:
        message = (
            f"must compare {shown(comparison.field)} with a date such as 2026-01-31, a timestamp in"
            " quotes, or daysAgo(30)"
        )
        raise fault("INVALID_FORMAT", message, comparison.value_column)
    return time


def check_function(comparison: Comparison, *, is_time: bool) -> None:
    """Raises ValidationError for a function that the field is not compared with."""
    if not comparison.function:
        return
    if comparison.function != "daysAgo":
        message = f"has an unknown function: {shown(comparison.function)}; daysAgo(30) is known"
        raise fault("INVALID_VALUE", message, comparison.value_column)
    if not is_time:
        message = f"cannot compare {shown(comparison.field)} with daysAgo, which is a time"
        raise fault("INVALID_TYPE", message, comparison.value_column)


def boolean(comparison: Comparison, *, is_custom: bool = False) -> int:
    value = _BOOLEANS.get(comparison.value.lower())
    if value is None:
        raise _other_type(comparison, "true or false", is_custom=is_custom)
    return value


def number(comparison: Comparison, *, is_custom: bool = False) -> float:
    is_number = not comparison.is_prefix and _NUMBER.fullmatch(comparison.value)
    found = float(comparison.value) if is_number else float("nan")
    if not isfinite(found):
        raise _other_type(comparison, "a number", is_custom=is_custom)
    return found


def whole_number(comparison: Comparison) -> int:
    found = number(comparison)
    if not found.is_integer():
        raise _other_type(comparison, "a whole number")
    return int(found)


def email(text: str) -> str:
    """Returns an address, or another text, as it is compared with the keys of addresses."""
    parsed = parse_email(text)
    return key_prefix(text) if parsed is None else parsed.key


def domain_part(text: str) -> str:
    """Returns a part of a domain as it is compared with those of the keys of addresses."""
    return key_prefix(f"@{text}")[1:]


def domain(text: str) -> str:
    """Returns a domain as it is stored in the keys of addresses."""
    parsed = parse_email(f"a@{text}")
    return text.lower() if parsed is None else parsed.key.partition("@")[2]


def _days(comparison: Comparison) -> int:
    argument = comparison.value
    if not _DAYS.fullmatch(argument) or abs(int(argument)) > _MAX_DAYS:
        message = f"needs a whole number of days, at most {_MAX_DAYS}, such as daysAgo(30)"
        raise fault("INVALID_VALUE", message, comparison.value_column)
    return int(argument)


def _other_type(
    comparison: Comparison, expected: str, *, is_custom: bool = False
) -> ValidationError:
    message = f"must compare {shown(comparison.field)} with {expected}"
    if is_custom:
        message += f", {_to_convert(DataType.TEXT)}"
    return fault("INVALID_TYPE", message, comparison.value_column)


def _to_convert(data_type: DataType) -> str:
    """Returns what to do to compare a custom field with values of another type."""
    # Short, because an error has at most 120 bytes of a message, also of the filter of a segment.
    return f"or change its dataType to {data_type.name}"
