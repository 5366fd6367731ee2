"""Converts the values of a custom field whose data type was changed.

A change of the type rewrites no value: each stays as it was stored, and is converted when it is
read. It is therefore allowed only if every value converts exactly, and another change back returns
the values as they were.

- Every number, boolean and date is a text: the one that JSON has, without `.0` after an integer.
- A text is a number if it is one of JSON, of at most 63 characters with an exponent of at most two
  digits, and a double has exactly this value: 42, 4.50 and 1e5, but not 042, +5, .5, 1,000 or
  9007199254740993.
- A text is a boolean if it is true or false, in lower case.
- A text is a date if a DATE field accepts it: 2026-01-31 or an ISO 8601 timestamp.

Numbers, booleans and dates convert to each other in no case, because none has the text of another.

The stored data type of such a field has the flag CONVERTED, unless all of its values are texts
before and after, as those of TEXT and DATE are. A program of an earlier version does not know the
number with the flag. It returns the values as they were stored, and fails with INTERNAL where it
would have to compare or check them, so that it selects no other subscribers and stores no value
of the earlier type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from ...values.numbers import exact_number
from ...values.texts import cached_if_short
from .rules import DataType, FieldTypes, is_date

# Added to the stored number of a data type.
CONVERTED = 16
# The greatest number of a data type without the flag, in SQL.
MAX_PLAIN = CONVERTED - 1
_BOOLEANS = {"true": True, "false": False}
# The types whose values are texts in JSON.
_TEXTS = (DataType.TEXT, DataType.DATE)


def plain_type(stored: int) -> DataType:
    """Returns the data type of a stored number."""
    return DataType(stored & ~CONVERTED)


def is_converted(stored: int) -> bool:
    return stored > MAX_PLAIN


def field_types(stored: Mapping[str, int]) -> FieldTypes:
    """Returns the data types of fields, given the stored numbers by key."""
    found = FieldTypes({key: plain_type(number) for key, number in stored.items()})
    found.converted = frozenset(key for key, number in stored.items() if is_converted(number))
    return found


def stored_type(data_type: DataType, before: int) -> int:
    """Returns the number to store for a new data type, given the stored one."""
    is_text = data_type in _TEXTS and plain_type(before) in _TEXTS
    return int(data_type) | (before & CONVERTED if is_text else CONVERTED)


def converted(value: Any, data_type: int) -> Any:
    """Returns a value with a data type, or None if it does not convert exactly."""
    if data_type == DataType.TEXT:
        return value if isinstance(value, str) else _text_of(value)
    if isinstance(value, str):
        return _FROM_TEXT[DataType(data_type)](value)
    is_boolean = data_type == DataType.BOOLEAN
    return value if data_type != DataType.DATE and isinstance(value, bool) is is_boolean else None


def has_type(value: Any, data_type: DataType, *, is_converted: bool) -> bool:
    """Whether a stored value is one of a field with a data type, after conversion if it is."""
    is_text = isinstance(value, str) is (data_type in _TEXTS)
    return (is_converted or is_text) and converted(value, data_type) is not None


def with_types(values: Mapping[str, Any], stored_types: Mapping[str, int]) -> Mapping[str, Any]:
    """Returns the values of a subscriber, given the stored types of the converted fields by key.

    A value that does not convert, which only a defect can store, is returned as it is.
    """
    found = dict(values)
    for key in stored_types.keys() & values.keys():
        value = converted(values[key], plain_type(stored_types[key]))
        if value is not None:
            found[key] = value
    return found


def text_of(value: Any) -> str:
    """Returns a value as text, such as for an example."""
    return value if isinstance(value, str) else _text_of(value)


def _text_of(value: Any) -> str:
    return orjson.dumps(value).decode().removesuffix(".0")


_FROM_TEXT: Mapping[DataType, Any] = {
    DataType.NUMBER: cached_if_short(exact_number),
    DataType.BOOLEAN: _BOOLEANS.get,
    DataType.DATE: lambda text: text if is_date(text) else None,
}
