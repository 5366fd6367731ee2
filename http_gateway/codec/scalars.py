"""Converts scalars between JSON and protobuf, by the ProtoJSON specification.

A reader converts a JSON value to a protobuf value, or raises InvalidValue.
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
# The most digits of a protobuf integer, and a number that is out of range for all of them.
_MAX_DIGITS = 20
_OUT_OF_RANGE = 10**20
# orjson parses integers beyond 64 bits as floats. Those just below the minimum of int64 round
# to this float, which is therefore rejected, even if it was written as -9223372036854775808.0.
# All other such integers are out of range as floats too.
_MIN_INT64_AS_FLOAT = -(2.0**63)
# The smallest number that rounds to infinity in 32 bits.
_INFINITE_FLOAT = 3.4028235677973366e38
_FLOAT = struct.Struct("f")
# Doubles represent every integer up to this one.
_MAX_EXACT_INTEGER = 2.0**53
_BOOLEAN_LIKE = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class InvalidValue(ValueError):
    """A JSON value that is invalid for a field. `code` is that of the violation."""

    def __init__(self, message: str, code: str = "INVALID_TYPE") -> None:
        super().__init__(message)
        self.code = code


class NoJsonForm(ValueError):
    """A value of a message that cannot be represented in JSON."""


def read_string(value: Any) -> str:
    if type(value) is not str:
        raise InvalidValue("must be a string")
    return value


def read_bool(value: Any) -> bool:
    if type(value) is not bool:
        raise InvalidValue("must be true or false")
    return value


def read_boolean_like(value: Any) -> bool:
    """Reads true, false, 1, 0, and the strings true, false, 1, 0, yes and no in any case."""
    if type(value) is bool:
        return value
    if type(value) is str and value.lower() in _BOOLEAN_LIKE:
        return _BOOLEAN_LIKE[value.lower()]
    if type(value) is int and value in (0, 1):
        return value == 1
    raise InvalidValue('must be true or false, 1 or 0, or "yes" or "no"')


def integer_reader(bits: int, *, signed: bool) -> Reader:
    """Returns a reader of integers: numbers without a fraction, or strings of such numbers."""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def read(value: Any) -> int:
        if type(value) is str and _NUMBER.fullmatch(value):
            value = _exact(value)
        if type(value) is float and value.is_integer():
            value = int(value) if value != _MIN_INT64_AS_FLOAT else -_OUT_OF_RANGE
        if type(value) is not int:
            raise InvalidValue("must be an integer")
        if not low <= value <= high:
            raise InvalidValue(f"must be between {low} and {high}", "OUT_OF_RANGE")
        return value

    return read


def _exact(text: str) -> int | float:
    """Returns the exact integer that a string represents; a float if it has a fraction."""
    if _INTEGER.fullmatch(text):
        return int(text)
    number = Decimal(text)
    if number and number.adjusted() > _MAX_DIGITS:
        return _OUT_OF_RANGE
    return int(number) if number == int(number) else float(number)


def read_double(value: Any) -> float:
    """Reads numbers, strings of numbers, and "NaN", "Infinity" and "-Infinity"."""
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
    """Reads what `read_double` reads, within the range of a float."""
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
            raise ValueError("b64decode ignores excess padding")
        return base64.b64decode(plain, validate=True)
    except (binascii.Error, ValueError):
        raise InvalidValue("must be a base64-encoded string", "INVALID_FORMAT") from None


def write_double(value: float) -> float | str:
    if math.isfinite(value):
        return plain_number(value)
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def plain_number(number: float) -> int | float:
    """Returns a finite number as an integer if that is exact, else unchanged."""
    if not -_MAX_EXACT_INTEGER <= number <= _MAX_EXACT_INTEGER:
        return number
    # An integer cannot represent minus zero.
    is_integer = number.is_integer() and (number or math.copysign(1.0, number) > 0)
    return int(number) if is_integer else number


def write_float(value: float) -> float | str:
    """Returns the shortest number that is the same float in 32 bits."""
    if not math.isfinite(value):
        return write_double(value)
    for digits in (6, 7, 8):
        short = float(f"{value:.{digits}g}")
        if abs(short) < _INFINITE_FLOAT and _FLOAT.unpack(_FLOAT.pack(short)) == (value,):
            return short
    return float(f"{value:.9g}")


def write_bytes(value: bytes) -> str:
    return base64.b64encode(value).decode()


_F = FieldDescriptor
_SIGNED_64 = (_F.TYPE_INT64, _F.TYPE_SINT64, _F.TYPE_SFIXED64)
_UNSIGNED_64 = (_F.TYPE_UINT64, _F.TYPE_FIXED64)

READERS: dict[int, Reader] = {
    _F.TYPE_STRING: read_string,
    _F.TYPE_BOOL: read_bool,
    _F.TYPE_BYTES: read_bytes,
    _F.TYPE_DOUBLE: read_double,
    _F.TYPE_FLOAT: read_float,
    **dict.fromkeys(
        (_F.TYPE_INT32, _F.TYPE_SINT32, _F.TYPE_SFIXED32), integer_reader(32, signed=True)
    ),
    **dict.fromkeys((_F.TYPE_UINT32, _F.TYPE_FIXED32), integer_reader(32, signed=False)),
    **dict.fromkeys(_SIGNED_64, integer_reader(64, signed=True)),
    **dict.fromkeys(_UNSIGNED_64, integer_reader(64, signed=False)),
}

# The types with values that are converted.
WRITERS: dict[int, Writer] = {
    _F.TYPE_BYTES: write_bytes,
    _F.TYPE_DOUBLE: write_double,
    _F.TYPE_FLOAT: write_float,
    **dict.fromkeys((*_SIGNED_64, *_UNSIGNED_64), str),
}
