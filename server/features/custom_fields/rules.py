"""Validates custom field labels and values, and derives keys."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from enum import IntEnum
from itertools import islice
from operator import itemgetter
from typing import Any

from anyascii import anyascii

from ...rpc.errors import Detail, invalid
from ...values.suggestions import MAX_SUGGESTIONS, did_you_mean
from ...values.texts import has_control_characters

MAX_FIELDS = 100
MAX_KEY_LENGTH = 64
MAX_TEXT_LENGTH = 1_000
# The characters of a text that an index contains. PostgreSQL limits the size of its entries.
TEXT_KEY_LENGTH = 64
# The maximum size of all values of a subscriber with their keys, as JSON in UTF-8. A page of 100
# such subscribers is within the 4 MiB that gRPC clients accept.
MAX_VALUES_BYTES = 32 * 1024
# The maximum bytes of a character in JSON, such as \u001f.
_BYTES_PER_CHARACTER = 6
# The maximum characters of a number or a boolean.
_PLAIN_CHARACTERS = 26
# The characters of the punctuation of a JSON member.
_MEMBER_CHARACTERS = 6
# Every integer up to this one is exact as a double.
LARGEST_EXACT = 2**53
# An empty key in the path of an error.
EMPTY_KEY = '""'
# A date, optionally with a time. Seconds, fractions and the offset are optional too.
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
# Booleans in cells and forms.
BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,4})?", re.ASCII)
# The names of built-in fields in templates and exports.
RESERVED_KEYS = frozenset(
    {
        "id",
        "email",
        "first_name",
        "last_name",
        "status",
        "tags",
        "created_at",
        "updated_at",
        "custom_fields",
        "unsubscribe_url",
    }
)


class DataType(IntEnum):
    """The type of a field's values; the numbers of CustomField.DataType."""

    TEXT = 1
    NUMBER = 2
    BOOLEAN = 3
    DATE = 4


class FieldTypes(dict[str, int]):
    """The data types of custom fields by key.

    `converted` are the keys of those that can have values that were stored with another type, see
    `value_conversion.py`.
    """

    converted: frozenset[str] = frozenset()


def derive_key(label: str) -> str:
    """Returns the key of a label.

    The label is converted to Unicode NFKD, ASCII and lower case. Each run of other characters
    becomes an underscore, except at the start and end. A leading digit gets the prefix `f_`.
    The key is truncated to 64 characters. Camel case is not split. Raises ValidationError if
    the key is empty, for example of an emoji, or reserved.
    """
    plain = "".join(_transliterate(letter) for letter in unicodedata.normalize("NFKD", label))
    key = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
    if not key:
        raise invalid("label", "INVALID_FORMAT", "must contain a letter or a digit")
    if key[0].isdigit():
        key = f"f_{key}"
    key = key[:MAX_KEY_LENGTH].rstrip("_")
    if key in RESERVED_KEYS:
        raise invalid(
            "label", "RESERVED", f"has the key {key}, which is reserved; choose another label"
        )
    return key


def as_json(value: Any) -> Any:
    """Returns a value for JSON: an integer without a fraction, if that is exact."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_EXACT:
        # An integer cannot represent minus zero.
        return int(value) if value or math.copysign(1.0, value) > 0 else value
    return value


def merge_tag(key: str) -> str:
    """Returns the merge tag of the field with this key."""
    return f"{{{{customFields.{key}}}}}"


def check_values(values: Mapping[str, Any], types: Mapping[str, int]) -> list[Detail]:
    """Returns the errors of a subscriber's values, given the data types of the fields by key.

    None removes a value and is valid for every field. The errors are in the order of the keys,
    because members of a JSON object have no order.
    """
    faults = []
    for key, value in sorted(values.items(), key=itemgetter(0)):
        path = f"customFields.{key or EMPTY_KEY}"
        if key not in types:
            faults.append(Detail(path, "UNKNOWN_FIELD", "is not a custom field of the account"))
        elif value is not None:
            fault = _CHECKS[DataType(types[key])](value)
            if fault is not None:
                faults.append(Detail(path, *fault))
    return faults


def with_suggestions(faults: Sequence[Detail], types: Mapping[str, int]) -> list[Detail]:
    """Returns the errors of `check_values` with the nearest keys for the first unknown ones.

    Not for errors of rows, which have no message, nor of sign-ups, which anyone can send: they
    would reveal the keys of the account.
    """
    suggested = list(faults)
    unknown = (index for index, fault in enumerate(faults) if fault.code == "UNKNOWN_FIELD")
    for index in islice(unknown, MAX_SUGGESTIONS):
        fault = faults[index]
        hint = did_you_mean(fault.field.partition(".")[2], types)
        suggested[index] = replace(fault, message=fault.message + hint)
    return suggested


def merged(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of a subscriber after a change; None removes one."""
    return {key: value for key, value in {**stored, **changes}.items() if value is not None}


def check_size(values: Mapping[str, Any], stored: Mapping[str, Any] | None = None) -> list[Detail]:
    """Returns an error if all values of a subscriber are too large.

    Values that are too large, but not larger than the stored ones, are valid. So values stored
    by an earlier version can be reduced step by step.
    """
    if _is_small(values):
        return []
    size = _size(values)
    if size <= MAX_VALUES_BYTES or (stored and size <= _size(stored)):
        return []
    text = f"must leave the subscriber with at most {MAX_VALUES_BYTES:,} bytes of values, as JSON"
    return [Detail("customFields", "TOO_LONG", text)]


def _is_small(values: Mapping[str, Any]) -> bool:
    """Returns whether values are within the bound by their number of characters; see `_size`."""
    characters = sum(
        len(key) + (len(value) if isinstance(value, str) else _PLAIN_CHARACTERS)
        for key, value in values.items()
    )
    max_bytes = _BYTES_PER_CHARACTER * (characters + _MEMBER_CHARACTERS * len(values))
    return max_bytes <= MAX_VALUES_BYTES


def _size(values: Mapping[str, Any]) -> int:
    plain = {key: as_json(value) for key, value in values.items() if value is not None}
    return len(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode())


def typed_value(text: str, data_type: int) -> Any:
    """Returns the value of a cell or form field, or its text if it does not have the type."""
    trimmed = text.strip()
    if data_type == DataType.NUMBER and _NUMBER.fullmatch(trimmed):
        return float(trimmed)
    if data_type == DataType.BOOLEAN:
        return BOOLEANS.get(trimmed.lower(), trimmed)
    return text if data_type == DataType.TEXT else trimmed


Fault = tuple[str, str]


def _check_text(value: Any) -> Fault | None:
    if not isinstance(value, str):
        return "INVALID_TYPE", "must be a string"
    if len(value) > MAX_TEXT_LENGTH:
        return "TOO_LONG", f"must be at most {MAX_TEXT_LENGTH} characters long"
    if has_control_characters(value, multiline=True):
        message = "must not contain control characters other than tabs and line breaks"
        return "INVALID_CHARACTER", message
    return None


def _check_number(value: Any) -> Fault | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "INVALID_TYPE", "must be a number"
    return None if math.isfinite(value) else ("OUT_OF_RANGE", "must be a finite number")


def _check_boolean(value: Any) -> Fault | None:
    return None if isinstance(value, bool) else ("INVALID_TYPE", "must be true or false")


def is_date(text: str) -> bool:
    """Whether a text is a value of a DATE field."""
    if _DATE.fullmatch(text):
        with suppress(ValueError):
            datetime.fromisoformat(text)
            return True
    return False


def _check_date(value: Any) -> Fault | None:
    if not isinstance(value, str):
        return "INVALID_TYPE", "must be a string"
    if is_date(value):
        return None
    return "INVALID_FORMAT", "must be a date such as 2026-01-31 or an ISO 8601 timestamp"


_CHECKS: Mapping[DataType, Callable[[Any], Fault | None]] = {
    DataType.TEXT: _check_text,
    DataType.NUMBER: _check_number,
    DataType.BOOLEAN: _check_boolean,
    DataType.DATE: _check_date,
}


def _transliterate(letter: str) -> str:
    # anyascii also has names for emoji, between colons (:thumbsup:). They are dropped, because
    # a key should not consist of the name of a picture.
    plain: str = anyascii(letter)
    is_picture = unicodedata.category(letter) == "So" or plain[:1] == plain[-1:] == ":"
    return " " if is_picture else plain
