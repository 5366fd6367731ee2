"""JSON values of each field type: forms that are accepted, and violations of the others."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from rosterd.http_gateway.codec import scalars, strict_json
from rosterd.http_gateway.codec.options import SERVICE, SPECIFICATION
from rosterd.http_gateway.codec.scalars import NoJsonForm
from rosterd.http_gateway.codec.strict_json import MAX_DEPTH

from ...cases import each
from .all_fields import Example
from .test_specification import read, written

# The smallest number that is rounded to infinity as a float.
TOO_LARGE = 3.4028235677973366e38
MAX_DURATION = 315_576_000_000
RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "fixed64": (0, 2**64 - 1),
}


def items(kind: str, values: list[Any]) -> Any:
    """Returns the parsed JSON of a request with a list of values of this type."""
    return strict_json.loads(json.dumps({f"{kind}Many": values}).encode())


ACCEPTED: dict[str, tuple[list[Any], list[Any]]] = {
    "int64": (
        [1.0, 1e5, -0.0, "-0", "1e5", "120e-1", "9007199254740993.0", "0e9999"],
        ["1", "100000", "0", "0", "100000", "12", "9007199254740993", "0"],
    ),
    "double": (
        [1.5, "-1e3", "Infinity", "NaN", 7.0, 2.0**54, -0.0],
        [1.5, -1000, "Infinity", "NaN", 7, 2.0**54, -0.0],
    ),
    "bytes": (["YQ", "YQ==", "_-8", "/+8="], ["YQ==", "YQ==", "/+8=", "/+8="]),
    "color": (["RED", 1, 99], ["RED", "RED", 99]),
    "mask": (["firstName,customFields.homeTown"], ["firstName,customFields.homeTown"]),
    "value": ([5.0, -0.0, 1.5, -(2.0**53), 2.0**53 + 2], [5, -0.0, 1.5, -(2**53), 2.0**53 + 2]),
}


@each("kind", list(ACCEPTED))
def test_every_accepted_form_is_written_in_one_form(kind: str) -> None:
    values, expected = ACCEPTED[kind]
    into = Example()

    assert read(items(kind, values), into) == []
    assert repr(written(into)[f"{kind}Many"]) == repr(expected)


@each("kind", list(RANGES))
def test_integer_is_read_from_a_number_or_text_within_its_range(kind: str) -> None:
    low, high = RANGES[kind]
    for number in (low, high):
        assert read(items(kind, [number, str(number)]), Example()) == []
    for number in (low - 1, high + 1):
        for value in (number, str(number)):
            assert read(items(kind, [value]), Example()) == [(f"{kind}Many[0]", "OUT_OF_RANGE")]


def test_float_that_rounds_to_infinity_is_rejected() -> None:
    largest = math.nextafter(TOO_LARGE, 0)

    assert read(items("float", [largest, -largest]), Example()) == []
    for number in (TOO_LARGE, -TOO_LARGE):
        assert read(items("float", [number]), Example()) == [("floatMany[0]", "OUT_OF_RANGE")]


REJECTED: dict[str, dict[str, list[Any]]] = {
    "string": {"INVALID_TYPE": [1, None, []]},
    "bool": {"INVALID_TYPE": [1, "true", None]},
    "int32": {"INVALID_TYPE": [1.5, "1.5", True, "", " 1", "+1", "１"]},
    "double": {"INVALID_TYPE": ["", "nan", True, None], "OUT_OF_RANGE": ["1e999"]},
    "bytes": {"INVALID_TYPE": [1], "INVALID_FORMAT": ["a", "Y Q=", "YQ=", "===="]},
    "color": {"INVALID_VALUE": ["red", -(2**31) - 1, None, True]},
    "struct": {"INVALID_TYPE": ["x", [], None]},
    "list": {"INVALID_TYPE": [1, {"a": 1}]},
    "mask": {
        "INVALID_TYPE": [None, 1, [], {}],
        "INVALID_FORMAT": ["first_name", "a,,b", ",", "a,"],
    },
    "timestamp": {
        "INVALID_TYPE": [0],
        "OUT_OF_RANGE": ["0001-01-01T00:00:00+01:00"],
        "INVALID_FORMAT": [
            *("2026-01-02", "2026-01-02T03:04:05", "2026-01-02T03:04:05.1234567890Z"),
            *("2026-01-02T03:04:05+0100", "２026-01-02T03:04:05Z", "2026-02-30T00:00:00Z"),
            *("2026-01-02T23:59:60Z", "0000-01-01T00:00:00Z"),
        ],
    },
    "duration": {
        "INVALID_TYPE": [None],
        "OUT_OF_RANGE": [f"-{MAX_DURATION + 1}s"],
        "INVALID_FORMAT": ["", "1", "+1s", ".5s", "1.0000000001s", "１s"],
    },
}


@each("kind", list(REJECTED))
def test_other_values_are_rejected_with_their_code(kind: str) -> None:
    for code, values in REJECTED[kind].items():
        for value in values:
            found = read(items(kind, [value]), Example())
            assert found == [(f"{kind}Many[0]", code)], value


def test_closed_enum_accepts_no_unnamed_number() -> None:
    assert read({"type": "TYPE_BOOL"}, FieldDescriptorProto()) == []
    assert read({"type": 99}, FieldDescriptorProto()) == [("type", "INVALID_VALUE")]


@each("value", [2, 1.0, "", " true", []])
def test_boolean_like_value_is_a_boolean_a_number_or_a_word(value: Any) -> None:
    assert {scalars.read_boolean_like(word) for word in (False, 0, "0", "No")} == {False}
    with pytest.raises(scalars.InvalidValue, match="must be"):
        scalars.read_boolean_like(value)


def test_number_beyond_a_double_is_reported_by_path() -> None:
    large = 10**400
    value = {"structOne": {"a": {"b": [1, large]}}, "listOne": [{"": -large}], "valueOne": large}

    assert sorted(read(value, Example())) == [
        ("listOne[0].", "OUT_OF_RANGE"),
        ("structOne.a.b[1]", "OUT_OF_RANGE"),
        ("valueOne", "OUT_OF_RANGE"),
    ]


def test_object_of_maximum_depth_survives_the_wire_format() -> None:
    value: dict[str, Any] = {}
    for _ in range(MAX_DEPTH - 2):  # The body and the innermost object are also levels.
        value = {"a": value}
    message = Example()

    assert read({"structOne": value, "valueOne": value}, message) == []

    found = written(Example.FromString(message.SerializeToString()))
    assert found == {"structOne": value, "valueOne": value}


def test_struct_keys_are_sorted() -> None:
    message = Example()
    assert read({"structOne": dict.fromkeys("zéba", 1)}, message) == []

    assert list(written(message)["structOne"]) == sorted("zéba")


OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@settings(deadline=None)
@given(st.datetimes(timezones=OFFSETS).filter(lambda timestamp: 1 < timestamp.year < 9999))
def test_timestamp_is_read_with_any_offset_and_written_in_utc_with_milliseconds(
    timestamp: datetime,
) -> None:
    into = Example()
    assert read({"timestampOne": timestamp.isoformat()}, into) == []

    assert into.timestamp_one.ToDatetime(UTC) == timestamp
    text = written(into, SERVICE)["timestampOne"]
    assert len(text) == len("2026-01-02T03:04:05.000Z")
    truncated = timestamp.replace(microsecond=timestamp.microsecond // 1000 * 1000)
    assert datetime.fromisoformat(text) == truncated


def number_in(field: str, number: float) -> Any:
    """Returns a message with a number in an object within this field."""
    message = Example()
    holder = {
        "struct": lambda: message.struct_one.fields["a"],
        "list": message.list_one.values.add,
        "value": message.value_one.list_value.values.add,
    }[field]()
    holder.struct_value.fields["number"].number_value = number
    return message


UNWRITABLE = [
    *(
        Example(timestamp_one=Timestamp(seconds=seconds, nanos=nanos))
        for seconds, nanos in ((-62_135_596_801, 0), (253_402_300_800, 0), (0, -1), (0, 10**9))
    ),
    *(
        Example(duration_one=Duration(seconds=seconds, nanos=nanos))
        for seconds, nanos in ((MAX_DURATION + 1, 0), (1, -1), (0, 10**9))
    ),
    *(Example(mask_one=FieldMask(paths=["a", path])) for path in ("firstName", "a__b", "a,b")),
    *(
        number_in(field, each)
        for field in ("struct", "list", "value")
        for each in (math.nan, -math.inf)
    ),
]


@each("message", UNWRITABLE)
def test_value_without_a_json_form_is_not_written(message: Any) -> None:
    for options in (SERVICE, SPECIFICATION):
        with pytest.raises(NoJsonForm, match="no JSON form"):
            written(message, options)
