"""Converts Struct, ListValue and Value, which hold any JSON.

Readers fill the message in place. `strict_json` limits the depth of their input. JSON paths
are computed in a second pass, and only if a number is out of range.

null is a value of Value. By the specification, a Value that is NaN or infinite has no JSON
form, because a string would be read as a string.
"""

from __future__ import annotations

import math
from typing import Any

from google.protobuf.struct_pb2 import NULL_VALUE, ListValue, Struct, Value

from ..request_errors import Violations, join
from .scalars import NoJsonForm, plain_number


def read_struct(value: Any, path: str, violations: Violations, target: Struct) -> None:
    if type(value) is not dict:
        violations.add(path, "INVALID_TYPE", "must be an object")
        return
    try:
        _fill_struct(target, value)
    except OverflowError:
        _collect_overflows(value, path, violations)


def read_list(value: Any, path: str, violations: Violations, target: ListValue) -> None:
    if type(value) is not list:
        violations.add(path, "INVALID_TYPE", "must be an array")
        return
    try:
        _fill_list(target, value)
    except OverflowError:
        _collect_overflows(value, path, violations)


def read_value(value: Any, path: str, violations: Violations, target: Value) -> None:
    """Reads any JSON, including null."""
    try:
        _fill(target, value)
    except OverflowError:
        _collect_overflows(value, path, violations)


def _fill(target: Value, value: Any) -> None:
    """Sets a Value. Raises OverflowError if a number is out of the range of a double."""
    kind = type(value)
    if kind is str:
        target.string_value = value
    elif kind is float or kind is int:
        target.number_value = value
    elif kind is bool:
        target.bool_value = value
    elif value is None:
        target.null_value = NULL_VALUE
    elif kind is dict:
        struct = target.struct_value
        struct.SetInParent()
        _fill_struct(struct, value)
    else:
        array = target.list_value
        array.SetInParent()
        _fill_list(array, value)


def _fill_struct(target: Struct, value: dict[str, Any]) -> None:
    fields = target.fields
    for key, item in value.items():
        _fill(fields[key], item)


def _fill_list(target: ListValue, value: list[Any]) -> None:
    add = target.values.add
    for item in value:
        _fill(add(), item)


def _collect_overflows(value: Any, path: str, violations: Violations) -> None:
    if type(value) is dict:
        for key, item in value.items():
            _collect_overflows(item, join(path, key), violations)
    elif type(value) is list:
        for index, item in enumerate(value):
            _collect_overflows(item, f"{path}[{index}]", violations)
    elif type(value) is int:
        try:
            float(value)
        except OverflowError:
            message = "must be a number within the range of a double"
            violations.add(path, "OUT_OF_RANGE", message)


def write_struct(struct: Struct) -> dict[str, Any]:
    """Returns an object with sorted keys. Raises NoJsonForm as `write_value` does."""
    fields = struct.fields
    if not fields:
        return {}
    # The order of a protobuf map is not deterministic.
    return {key: write_value(fields[key]) for key in sorted(fields)}


def write_list(array: ListValue) -> list[Any]:
    """Returns an array. Raises NoJsonForm as `write_value` does."""
    return [write_value(value) for value in array.values[:]]


def write_value(value: Value) -> Any:
    """Returns the JSON value; None if no kind is set, as json_format does.

    Raises NoJsonForm if a number is NaN or infinite.
    """
    # Reading a field is faster than WhichOneof, so the common kinds are tried first.
    if text := value.string_value:
        return text
    if number := value.number_value:
        return _write_number(number)
    return _write_by_kind(value)


def _write_by_kind(value: Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return write_struct(value.struct_value)
    if kind == "list_value":
        return write_list(value.list_value)
    if kind == "bool_value":
        return value.bool_value
    if kind == "string_value":
        return value.string_value
    if kind == "number_value":
        return _write_number(value.number_value)
    return None


def _write_number(number: float) -> int | float:
    if not math.isfinite(number):
        raise NoJsonForm(f"google.protobuf.Value of {number} has no JSON form")
    return plain_number(number)
