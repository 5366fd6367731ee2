"""Converts enum values between JSON and protobuf.

An enum value is written as its name, or as its number if it has no name. By the
specification, the only value of NullValue is null.
"""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import EnumDescriptor

from .scalars import InvalidValue, Reader

NULL_VALUE = "google.protobuf.NullValue"

_LOWEST, _HIGHEST = -(2**31), 2**31 - 1


class UnknownEnumName(InvalidValue):
    """A name that is not in the enum. Another release of the protos may have it."""


def enum_numbers(enum: EnumDescriptor) -> dict[str, int]:
    """Returns the numbers of an enum by name, including aliases."""
    return {value.name: value.number for value in enum.values}


def names_by_lower_case(enum: EnumDescriptor) -> dict[str, str]:
    """Returns the names of an enum by their lower-case form.

    Names that differ only in case are left out.
    """
    lower = [value.name.lower() for value in enum.values]
    return {
        name: value.name
        for name, value in zip(lower, enum.values, strict=True)
        if lower.count(name) == 1
    }


def enum_reader(
    enum: EnumDescriptor, *, any_case: bool = False, accepts_numbers: bool = True
) -> Reader:
    """Returns a reader of an enum's names and, unless it does not accept them, numbers.

    An open enum also accepts numbers without a name. With `any_case`, names can be in any
    letter case.
    """
    numbers = enum_numbers(enum)
    in_lower_case = names_by_lower_case(enum) if any_case else {}
    named = frozenset(numbers.values())
    names = ", ".join(value.name for value in enum.values if value.number)
    accepts_null = enum.full_name == NULL_VALUE

    def read(value: Any) -> int:
        if type(value) is str:
            if value in numbers:
                return numbers[value]
            if value.lower() in in_lower_case:
                return numbers[in_lower_case[value.lower()]]
            raise UnknownEnumName(f"must be one of {names}", "INVALID_VALUE")
        if type(value) is int and accepts_numbers:
            if value in named or (not enum.is_closed and _LOWEST <= value <= _HIGHEST):
                return value
        elif value is None and accepts_null:
            return 0
        raise InvalidValue(f"must be one of {names}", "INVALID_VALUE")

    return read


class _Names(dict[int, str | int | None]):
    """Names by number; a number without a name stays a number."""

    def __missing__(self, number: int) -> int:
        return number


def enum_names(enum: EnumDescriptor) -> dict[int, str | int | None]:
    """Returns the JSON value of each number of an enum: its first name, or the number itself."""
    if enum.full_name == NULL_VALUE:
        return _Names({0: None})
    return _Names({value.number: value.name for value in reversed(enum.values)})
