"""Single values between JSON and protobuf, by the ProtoJSON specification.

A reader takes a JSON value and returns the protobuf value, or raises ValueError
with a sentence for people and, in `code`, a value of Error.Detail.Code.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

Reader = Callable[[Any], Any]
Writer = Callable[[Any], Any]

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,19})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,400})(?:\.[0-9]{1,400})?(?:[eE][+-]?[0-9]{1,4})?")
# No integer of protobuf has more digits, and none is as large.
_MOST_DIGITS = 20
_BEYOND = 10**20
# JSON's integers beyond 64 bits come as floats, and those just below the least come as this
# one: it is refused, even where it was the least itself, written with a fraction of zero.
# All others are beyond the bounds as floats too.
_ROUNDED = -(2.0**63)
# The least that 32 bits round to infinity: half a step beyond the largest number of theirs.
_INFINITE_FLOAT = 3.4028235677973366e38
# The largest number up to which a double holds every integer.
_LARGEST_EXACT = 2.0**53
_BOOLEAN_LIKE = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class InvalidValue(ValueError):
    """A JSON value that a field does not take."""

    def __init__(self, message: str, code: str = "INVALID_TYPE") -> None:
        super().__init__(message)
        self.code = code


class NoJsonForm(ValueError):
    """A value that a message can hold and that JSON cannot say."""


def read_string(value: Any) -> str:
    if type(value) is not str:
        raise InvalidValue("must be a string")
    return value


def read_bool(value: Any) -> bool:
    if type(value) is not bool:
        raise InvalidValue("must be true or false")
    return value


def read_boolean_like(value: Any) -> bool:
    """Takes true and false, 1 and 0, and "true", "false", "1", "0", "yes", "no" in any case."""
    if type(value) is bool:
        return value
    if type(value) is str and value.lower() in _BOOLEAN_LIKE:
        return _BOOLEAN_LIKE[value.lower()]
    if type(value) is int and value in (0, 1):
        return value == 1
    raise InvalidValue('must be true or false, 1 or 0, or "yes" or "no"')


def integer_reader(bits: int, *, signed: bool) -> Reader:
    """Returns a reader of integers: numbers without a fraction, or the same in a string."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def read(value: Any) -> int:
        if type(value) is str and _NUMBER.fullmatch(value):
            value = _exact(value)
        if type(value) is float and value.is_integer():
            value = int(value) if value != _ROUNDED else -_BEYOND
        if type(value) is not int:
            raise InvalidValue("must be an integer")
        if not low <= value <= high:
            raise InvalidValue(f"must be between {low} and {high}", "OUT_OF_RANGE")
        return value

    return read


def _exact(text: str) -> int | float:
    """Returns the integer that a text of digits says, every one of them; else another number."""
    if _INTEGER.fullmatch(text):
        return int(text)
    number = Decimal(text)
    if number and number.adjusted() > _MOST_DIGITS:
        return _BEYOND
    return int(number) if number == int(number) else float(number)


def read_double(value: Any) -> float:
    """Takes numbers, the same in a string, and "NaN", "Infinity" and "-Infinity"."""
    if value in ("NaN", "Infinity", "-Infinity"):
        return float(value)
    if type(value) is str and _NUMBER.fullmatch(value):
        value = float(value)
    if type(value) not in (int, float):
        raise InvalidValue("must be a number")
    if not math.isfinite(value):
        raise InvalidValue("must be a number within the range of a double", "OUT_OF_RANGE")
    return float(value)


def read_float(value: Any) -> float:
    """Takes what `read_double` takes, within the range of 32 bits."""
    number = read_double(value)
    if math.isfinite(number) and abs(number) >= _INFINITE_FLOAT:
        raise InvalidValue("must be a number within the range of a float", "OUT_OF_RANGE")
    return number


def read_bytes(value: Any) -> bytes:
    if type(value) is not str:
        raise InvalidValue("must be a base64-encoded string")
    try:
        plain = value.replace("-", "+").replace("_", "/")
        if "=" not in plain:
            plain += "=" * (-len(plain) % 4)
        if plain.endswith("==="):
            raise ValueError("Python lets it pass behind whole groups")
        return base64.b64decode(plain, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidValue("must be a base64-encoded string", "INVALID_FORMAT") from None


def write_double(value: float) -> float | str:
    if math.isfinite(value):
        return plain_number(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def plain_number(number: float) -> int | float:
    """Returns an integer where that says the same, else the number, which is finite."""
    if not -_LARGEST_EXACT <= number <= _LARGEST_EXACT:
        return number
    # Minus zero is no integer: it would be read again as another message.
    is_integer = number.is_integer() and (number or math.copysign(1.0, number) > 0)
    return int(number) if is_integer else number


def write_float(value: float) -> float | str:
    """Writes the shortest number that 32 bits hold as the same."""
    if not math.isfinite(value):
        return write_double(value)
    for digits in (6, 7, 8):
        short = float(f"{value:.{digits}g}")
        if abs(short) < _INFINITE_FLOAT and _as_float(short) == value:
            return short
    return float(f"{value:.9g}")


def _as_float(value: float) -> float:
    number: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    return number


_FLOAT = struct.Struct("f")


def write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


_F = FieldDescriptor
_SIGNED_32 = integer_reader(32, signed=True)
_SIGNED_64 = integer_reader(64, signed=True)
_UNSIGNED_32 = integer_reader(32, signed=False)
_UNSIGNED_64 = integer_reader(64, signed=False)

READERS: dict[int, Reader] = {
    _F.TYPE_STRING: read_string,
    _F.TYPE_BOOL: read_bool,
    _F.TYPE_BYTES: read_bytes,
    _F.TYPE_DOUBLE: read_double,
    _F.TYPE_FLOAT: read_float,
    _F.TYPE_INT32: _SIGNED_32,
    _F.TYPE_SINT32: _SIGNED_32,
    _F.TYPE_SFIXED32: _SIGNED_32,
    _F.TYPE_UINT32: _UNSIGNED_32,
    _F.TYPE_FIXED32: _UNSIGNED_32,
    _F.TYPE_INT64: _SIGNED_64,
    _F.TYPE_SINT64: _SIGNED_64,
    _F.TYPE_SFIXED64: _SIGNED_64,
    _F.TYPE_UINT64: _UNSIGNED_64,
    _F.TYPE_FIXED64: _UNSIGNED_64,
}

# What is not written as it is.
WRITERS: dict[int, Writer] = {
    _F.TYPE_BYTES: write_bytes,
    _F.TYPE_DOUBLE: write_double,
    _F.TYPE_FLOAT: write_float,
    _F.TYPE_INT64: str,
    _F.TYPE_SINT64: str,
    _F.TYPE_SFIXED64: str,
    _F.TYPE_UINT64: str,
    _F.TYPE_FIXED64: str,
}
