"""Validates custom field labels and values, and derives keys."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from enum import IntEnum
from operator import itemgetter
from typing import Any

from anyascii import anyascii

from ..errors import Detail, invalid
from ..texts import has_control_characters

MAX_FIELDS = 100
MAX_KEY_LENGTH = 64
MAX_TEXT_LENGTH = 1_000
# All values of a subscriber with their keys, as JSON in UTF-8: a page of 100 subscribers with
# so much each keeps within the 4 MiB that gRPC clients accept.
MAX_VALUES_BYTES = 32 * 1024
# What JSON makes of a character at most, such as \u001f.
_BYTES_PER_CHARACTER = 6
# Characters of a number, true or false at most, and of the quotes and signs around a member.
_PLAIN_CHARACTERS, _MEMBER_CHARACTERS = 26, 6
# Up to here every whole number is a double.
LARGEST_EXACT = 2**53
# How a path names a key that is empty.
EMPTY_KEY = '""'
# A date, and maybe a time with seconds, fractions and an offset that need not be there.
_DATE = re.compile(
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII
)
# The words that templates and exports use for what every subscriber has.
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
    """What values of a field are; the numbers of CustomField.DataType."""

    TEXT = 1
    NUMBER = 2
    BOOLEAN = 3
    DATE = 4


def label_key(label: str) -> str:
    """Returns the label as it is compared: Unicode NFC, without regard to case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", label).casefold())


def derive_key(label: str) -> str:
    """Returns the key of a label.

    Unicode NFKD, transliterated to ASCII, lower case, every run of other
    characters one underscore, none at the edges, at most 64 characters, `f_`
    before a leading digit. Camel case is not split. Raises ValidationError if
    nothing is left (an emoji, say) or the key is one of the service's own words.
    """
    plain = "".join(_transliterate(letter) for letter in unicodedata.normalize("NFKD", label))
    key = re.sub(r"[^a-z0-9]+", "_", plain.lower()).strip("_")
    if not key:
        raise invalid("label", "INVALID_FORMAT", "must contain a letter or a digit")
    if key[0].isdigit():
        key = f"f_{key}"
    key = key[:MAX_KEY_LENGTH].rstrip("_")
    if key in RESERVED_KEYS:
        raise invalid("label", "RESERVED", f"derives the key {key}, which is reserved")
    return key


def as_json(value: Any) -> Any:
    """Returns a value as JSON has it: a whole number without a fraction, where that is exact."""
    if isinstance(value, float) and value.is_integer() and abs(value) <= LARGEST_EXACT:
        return int(value)
    return value


def merge_tag(key: str) -> str:
    """Returns what a template writes to get the value of the field with this key."""
    return f"{{{{customFields.{key}}}}}"


def check_values(values: Mapping[str, Any], types: Mapping[str, int]) -> list[Detail]:
    """Returns what is wrong with the values of a subscriber, by the data types of the fields.

    A value of None removes what is stored, and is right for every field that there is.
    The faults are in the order of the keys: the members of an object have none.
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


def merged(stored: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values of a subscriber after a change; None removes one."""
    return {key: value for key, value in {**stored, **changes}.items() if value is not None}


def check_size(values: Mapping[str, Any], stored: Mapping[str, Any] | None = None) -> list[Detail]:
    """Returns what is wrong with the size of all values of a subscriber.

    Values that are too large but no larger than the stored ones are right: a subscriber of
    an earlier version can be made smaller step by step.
    """
    if _is_small(values):
        return []
    size = _size(values)
    if size <= MAX_VALUES_BYTES or (stored and size <= _size(stored)):
        return []
    text = f"must leave the subscriber with at most {MAX_VALUES_BYTES:,} bytes of values, as JSON"
    return [Detail("customFields", "TOO_LONG", text)]


def _is_small(values: Mapping[str, Any]) -> bool:
    """Whether values are within the bound whatever their characters are; cheaper than `_size`."""
    characters = sum(
        len(key) + (len(value) if isinstance(value, str) else _PLAIN_CHARACTERS)
        for key, value in values.items()
    )
    most = _BYTES_PER_CHARACTER * (characters + _MEMBER_CHARACTERS * len(values))
    return most <= MAX_VALUES_BYTES


def _size(values: Mapping[str, Any]) -> int:
    plain = {key: as_json(value) for key, value in values.items() if value is not None}
    return len(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode())


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
    return None if math.isfinite(value) else ("OUT_OF_RANGE", "must be finite")


def _check_boolean(value: Any) -> Fault | None:
    return None if isinstance(value, bool) else ("INVALID_TYPE", "must be true or false")


def _check_date(value: Any) -> Fault | None:
    if not isinstance(value, str):
        return "INVALID_TYPE", "must be a string"
    if _DATE.fullmatch(value):
        with suppress(ValueError):
            datetime.fromisoformat(value)
            return None
    return "INVALID_FORMAT", "must be a date such as 2026-01-31 or an ISO 8601 timestamp"


_CHECKS: Mapping[DataType, Callable[[Any], Fault | None]] = {
    DataType.TEXT: _check_text,
    DataType.NUMBER: _check_number,
    DataType.BOOLEAN: _check_boolean,
    DataType.DATE: _check_date,
}


def _transliterate(letter: str) -> str:
    # The tables have names for emoji too, between colons (:thumbsup:), but a
    # field that is labelled with pictures alone has no word to be called by.
    plain: str = anyascii(letter)
    is_picture = unicodedata.category(letter) == "So" or plain[:1] == plain[-1:] == ":"
    return " " if is_picture else plain
