"""Struct, ListValue and Value fields with values that json_format does not accept or write."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rosterd.http_gateway.codec.scalars import NoJsonForm
from rosterd.http_gateway.codec.strict_json import MAX_DEPTH

from .all_fields import Example
from .test_specification import read, written

LARGE = 10**400


def test_violations_are_collected_by_path() -> None:
    value = {
        "structOne": [],
        "structMany": [{}, "x", None],
        "listOne": {"a": 1},
        "listMany": [[], 1],
        "valueMany": {},
    }

    assert sorted(read(value, Example())) == [
        ("listMany[1]", "INVALID_TYPE"),
        ("listOne", "INVALID_TYPE"),
        ("structMany[1]", "INVALID_TYPE"),
        ("structMany[2]", "INVALID_TYPE"),
        ("structOne", "INVALID_TYPE"),
        ("valueMany", "INVALID_TYPE"),
    ]


def test_number_beyond_a_double_is_reported_by_path() -> None:
    value = {"structOne": {"a": {"b": [1, LARGE]}}, "listOne": [{"": -LARGE}], "valueOne": LARGE}

    assert sorted(read(value, Example())) == [
        ("listOne[0].", "OUT_OF_RANGE"),
        ("structOne.a.b[1]", "OUT_OF_RANGE"),
        ("valueOne", "OUT_OF_RANGE"),
    ]


@pytest.mark.parametrize(
    ("number", "value"),
    [(5.0, 5), (-0.0, -0.0), (1.5, 1.5), (-(2.0**53), -(2**53)), (2.0**53 + 2, 2.0**53 + 2)],
)
def test_integral_number_is_written_as_an_integer(number: float, value: Any) -> None:
    message = Example()
    message.value_one.number_value = number

    assert repr(written(message)["valueOne"]) == repr(value)


@pytest.mark.parametrize("number", [math.nan, -math.inf])
@pytest.mark.parametrize("field", ["struct_one", "list_one", "value_one"])
def test_nan_and_infinity_are_not_written(field: str, number: float) -> None:
    message = Example()
    holder = {
        "struct_one": lambda: message.struct_one.fields["a"],
        "list_one": message.list_one.values.add,
        "value_one": message.value_one.list_value.values.add,
    }[field]()
    holder.struct_value.fields["number"].number_value = number

    with pytest.raises(NoJsonForm, match="has no JSON form"):
        written(message)


def test_struct_keys_are_sorted() -> None:
    message = Example()
    assert read({"structOne": dict.fromkeys("zéba", 1)}, message) == []

    assert list(written(message)["structOne"]) == sorted("zéba")


@pytest.mark.parametrize("field", ["structOne", "valueOne"])
def test_object_of_maximum_depth_survives_the_wire_format(field: str) -> None:
    value: dict[str, Any] = {}
    for _ in range(MAX_DEPTH - 2):  # The body and the innermost object are also levels.
        value = {"a": value}
    message = Example()

    assert read({field: value}, message) == []

    assert Example.FromString(message.SerializeToString()) == message
    assert written(message)[field] == value
