"""Single values between JSON and protobuf, by the ProtoJSON specification."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st
from roster.v1 import custom_fields_pb2

from http_gateway.codec import scalars
from http_gateway.codec.scalars import READERS, WrongValue

F = FieldDescriptor
DATA_TYPE = custom_fields_pb2.CustomField.DataType.DESCRIPTOR


def code_of(read: Callable[[Any], Any], value: Any) -> str:
    """Reads what has to be refused and returns the code."""
    with pytest.raises(WrongValue) as caught:
        read(value)
    assert str(caught.value)
    return caught.value.code


@pytest.mark.parametrize("value", [1, True, None, [], {}, 1.5])
def test_a_string_is_text_only(value: Any) -> None:
    assert scalars.read_string("1") == "1"
    assert code_of(scalars.read_string, value) == "INVALID_TYPE"


@pytest.mark.parametrize("value", [1, 0, "true", None, [], {}])
def test_a_boolean_is_true_or_false_only(value: Any) -> None:
    assert scalars.read_bool(True) is True
    assert code_of(scalars.read_bool, value) == "INVALID_TYPE"


@pytest.mark.parametrize("value", [True, 1, "1", "true", "TRUE", "True", "yes", "YES"])
def test_what_is_like_true_is_true(value: Any) -> None:
    assert scalars.read_boolean_like(value) is True


@pytest.mark.parametrize("value", [False, 0, "0", "false", "FALSE", "False", "no", "No"])
def test_what_is_like_false_is_false(value: Any) -> None:
    assert scalars.read_boolean_like(value) is False


@pytest.mark.parametrize("value", [2, -1, 1.0, 0.0, "", " true", "on", "y", "2", None, [], {}])
def test_what_is_like_neither_is_refused(value: Any) -> None:
    assert code_of(scalars.read_boolean_like, value) == "INVALID_TYPE"


BOUNDS = [
    (F.TYPE_INT32, -(2**31), 2**31 - 1),
    (F.TYPE_SFIXED32, -(2**31), 2**31 - 1),
    (F.TYPE_UINT32, 0, 2**32 - 1),
    (F.TYPE_INT64, -(2**63), 2**63 - 1),
    (F.TYPE_SINT64, -(2**63), 2**63 - 1),
    (F.TYPE_FIXED64, 0, 2**64 - 1),
]


@pytest.mark.parametrize(("kind", "low", "high"), BOUNDS)
def test_an_integer_is_a_number_or_its_digits_within_its_bounds(
    kind: int, low: int, high: int
) -> None:
    for value in (low, 0, high):
        assert READERS[kind](value) == READERS[kind](str(value)) == value
    for value in (low - 1, high + 1):
        assert code_of(READERS[kind], value) == "OUT_OF_RANGE"
        assert code_of(READERS[kind], str(value)) == "OUT_OF_RANGE"


@pytest.mark.parametrize(
    ("value", "number"),
    [(1.0, 1), (1e5, 100_000), (-0.0, 0), ("-0", 0), ("1e5", 100_000)],
    ids=ascii,
)
def test_an_integer_may_be_written_with_an_empty_fraction_or_an_exponent(
    value: Any, number: int
) -> None:
    assert READERS[F.TYPE_INT32](value) == number


@pytest.mark.parametrize(
    "value",
    [
        1.5,
        "1.5",
        True,
        False,
        None,
        "",
        " 1",
        "1 ",
        "+1",
        "0x1",
        "1_0",
        "１",
        "01",
        "-",
        "x",
        [],
        {},
    ],
    ids=ascii,
)
def test_what_is_no_integer_is_refused(value: Any) -> None:
    assert code_of(READERS[F.TYPE_INT32], value) == "INVALID_TYPE"


@pytest.mark.parametrize("value", [1e300, -1e300, "9" * 20, 10**400], ids=lambda v: str(v)[:6])
def test_an_integer_of_any_size_is_out_of_range_and_nothing_worse(value: Any) -> None:
    assert code_of(READERS[F.TYPE_INT64], value) == "OUT_OF_RANGE"


@pytest.mark.parametrize(
    ("value", "number"),
    [(1, 1.0), (1.5, 1.5), ("1.5", 1.5), ("-1e3", -1000.0), ("Infinity", math.inf)],
)
def test_a_double_is_a_number_or_its_digits(value: Any, number: float) -> None:
    assert scalars.read_double(value) == number


def test_a_double_may_be_no_number() -> None:
    assert math.isnan(scalars.read_double("NaN"))


@pytest.mark.parametrize(
    "value",
    ["", " 1", "nan", "infinity", "inf", "1e999", "0x1", "1_0", "１", True, None, [], {}],
    ids=ascii,
)
def test_what_is_no_double_is_refused(value: Any) -> None:
    assert code_of(scalars.read_double, value) in ("INVALID_TYPE", "OUT_OF_RANGE")


@pytest.mark.parametrize("value", [3.5e38, -3.5e38, 1e300, "3.5e38"])
def test_a_float_beyond_its_range_is_refused(value: Any) -> None:
    assert code_of(READERS[F.TYPE_FLOAT], value) in ("INVALID_TYPE", "OUT_OF_RANGE")


@pytest.mark.parametrize(
    ("value", "written"),
    [(1.5, 1.5), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (math.nan, "NaN")],
)
def test_a_double_is_written_as_json_can_say_it(value: float, written: Any) -> None:
    assert scalars.write_double(value) == written


@settings(deadline=None)
@given(st.binary())
def test_bytes_are_read_from_either_base64_with_or_without_padding(value: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(value).decode()
        assert scalars.read_bytes(text) == scalars.read_bytes(text.rstrip("=")) == value
    assert scalars.write_bytes(value) == base64.b64encode(value).decode()


@pytest.mark.parametrize("value", ["a", "Y Q=", "YQ=a", "é", "YQ\n", 1, None, []], ids=ascii)
def test_what_is_no_base64_is_refused(value: Any) -> None:
    assert code_of(scalars.read_bytes, value) in ("INVALID_FORMAT", "INVALID_TYPE")


@pytest.mark.parametrize(("value", "number"), [("TEXT", 1), (1, 1), ("DATE", 4), (0, 0)])
def test_an_enum_is_a_name_or_its_number(value: Any, number: int) -> None:
    assert scalars.enum_reader(DATA_TYPE)(value) == number


@pytest.mark.parametrize("value", ["text", "", "1", "TEXT ", 99, -1, 1.5, True, None, [], {}])
def test_what_is_no_value_of_an_enum_is_refused(value: Any) -> None:
    assert code_of(scalars.enum_reader(DATA_TYPE), value) == "INVALID_VALUE"


def test_an_enum_is_written_by_name_or_as_the_number_that_has_none() -> None:
    names = scalars.enum_names(DATA_TYPE)

    assert [names[1], names[0], names[99]] == ["TEXT", "DATA_TYPE_UNSPECIFIED", 99]


@settings(deadline=None)
@given(
    st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31)),
    st.integers(-1439, 1439),
)
def test_a_moment_is_read_in_any_offset_and_written_in_utc_cut_to_milliseconds(
    naive: datetime, minutes: int
) -> None:
    moment = naive.replace(tzinfo=timezone(timedelta(minutes=minutes)))

    read = scalars.read_timestamp(moment.isoformat())

    assert read.ToDatetime(UTC) == moment
    written = scalars.write_timestamp(read)
    assert len(written) == len("2026-01-02T03:04:05.000Z")
    cut = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert datetime.fromisoformat(written) == cut


@pytest.mark.parametrize(
    ("text", "seconds", "nanos"),
    [
        ("1970-01-01T00:00:00Z", 0, 0),
        ("1970-01-01T00:00:00.000000001Z", 0, 1),
        ("1970-01-01T01:00:00.5+01:00", 0, 500_000_000),
        ("1969-12-31T23:59:59.999Z", -1, 999_000_000),
        ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
        ("9999-12-31T23:59:59.999999999Z", 253_402_300_799, 999_999_999),
    ],
)
def test_a_moment_is_read_to_the_nanosecond(text: str, seconds: int, nanos: int) -> None:
    assert scalars.read_timestamp(text) == Timestamp(seconds=seconds, nanos=nanos)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "INVALID_FORMAT"),
        ("2026-01-02", "INVALID_FORMAT"),
        ("2026-01-02T03:04:05", "INVALID_FORMAT"),
        ("2026-01-02 03:04:05Z", "INVALID_FORMAT"),
        ("2026-01-02T03:04Z", "INVALID_FORMAT"),
        ("2026-01-02T03:04:05.Z", "INVALID_FORMAT"),
        ("2026-01-02T03:04:05.1234567890Z", "INVALID_FORMAT"),
        ("2026-01-02T03:04:05+0100", "INVALID_FORMAT"),
        ("2026-01-02T03:04:05+24:00", "INVALID_FORMAT"),
        ("２026-01-02T03:04:05Z", "INVALID_FORMAT"),
        ("2026-02-30T00:00:00Z", "INVALID_FORMAT"),
        ("2026-01-02T24:00:00Z", "INVALID_FORMAT"),
        ("2026-01-02T23:59:60Z", "INVALID_FORMAT"),
        ("0000-01-01T00:00:00Z", "INVALID_FORMAT"),
        ("0001-01-01T00:00:00+01:00", "OUT_OF_RANGE"),
        ("9999-12-31T23:59:59-01:00", "OUT_OF_RANGE"),
        (0, "INVALID_TYPE"),
        (None, "INVALID_TYPE"),
        ({}, "INVALID_TYPE"),
    ],
    ids=ascii,
)
def test_what_is_no_moment_is_refused(value: Any, code: str) -> None:
    assert code_of(scalars.read_timestamp, value) == code


@pytest.mark.parametrize(
    ("seconds", "nanos", "written"),
    [
        (0, 0, "1970-01-01T00:00:00.000Z"),
        (0, 999_999_999, "1970-01-01T00:00:00.999Z"),
        (-1, 1_000_000, "1969-12-31T23:59:59.001Z"),
        (-62_135_596_800, 0, "0001-01-01T00:00:00.000Z"),
        (253_402_300_799, 0, "9999-12-31T23:59:59.000Z"),
    ],
)
def test_a_moment_is_written_with_three_digits_cut_off(
    seconds: int, nanos: int, written: str
) -> None:
    assert scalars.write_timestamp(Timestamp(seconds=seconds, nanos=nanos)) == written
