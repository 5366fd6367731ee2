"""Single values between JSON and protobuf, by the ProtoJSON specification."""

from __future__ import annotations

import base64
import math
import struct
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.internal import type_checkers
from hypothesis import given, settings
from hypothesis import strategies as st

from http_gateway.codec import scalars, strict_json
from http_gateway.codec.scalars import READERS

from .refused import code_of

F = FieldDescriptor


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
    [
        *[(1.0, 1), (1e5, 100_000), (-0.0, 0), ("-0", 0), ("1e5", 100_000), ("120e-1", 12)],
        *[("9007199254740993.0", 9_007_199_254_740_993), ("0e9999", 0)],
    ],
    ids=ascii,
)
def test_an_integer_may_be_written_with_an_empty_fraction_or_an_exponent(
    value: Any, number: int
) -> None:
    assert READERS[F.TYPE_INT64](value) == number


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


@pytest.mark.parametrize(
    "value", [1e300, -1e300, "9" * 20, "1e9999", "-1e30", 10**400], ids=lambda v: str(v)[:6]
)
def test_an_integer_of_any_size_is_out_of_range_and_nothing_worse(value: Any) -> None:
    assert code_of(READERS[F.TYPE_INT64], value) == "OUT_OF_RANGE"


@pytest.mark.parametrize("kind", [F.TYPE_INT64, F.TYPE_UINT64])
@pytest.mark.parametrize("number", [-(2**63) - 1, -(2**63) - 1024, 2**64, 2**64 + 1])
def test_an_integer_one_beyond_64_bits_is_not_rounded_into_them(kind: int, number: int) -> None:
    value = strict_json.loads(f'{{"number": {number}}}'.encode())["number"]

    assert code_of(READERS[kind], value) == "OUT_OF_RANGE"


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


def test_a_float_that_would_round_to_infinity_is_refused_and_the_one_below_is_not() -> None:
    half_a_step_beyond = 3.4028235677973366e38
    below = math.nextafter(half_a_step_beyond, 0)

    assert struct.unpack("f", struct.pack("f", below)) == (3.4028234663852886e38,)
    for number in (below, -below):
        assert READERS[F.TYPE_FLOAT](number) == number
    for number in (half_a_step_beyond, -half_a_step_beyond):
        assert code_of(READERS[F.TYPE_FLOAT], number) == "OUT_OF_RANGE"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (1.5, 1.5),
        (7.0, 7),
        (-(2.0**53), -(2**53)),
        (2.0**54, 2.0**54),
        (-0.0, -0.0),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_a_double_is_written_as_json_can_say_it(value: float, written: Any) -> None:
    assert repr(scalars.write_double(value)) == repr(written)


@settings(deadline=None)
@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_is_written_as_the_shortest_number_that_32_bits_read_as_the_same(
    value: float,
) -> None:
    written = scalars.write_float(value)

    assert struct.unpack("f", struct.pack("f", written)) == (value,)
    assert written == type_checkers.ToShortestFloat(value)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0.10000000149011612, 0.1), (3.4028234663852886e38, 3.4028235e38), (math.inf, "Infinity")],
)
def test_a_float_is_written_without_the_digits_that_32_bits_do_not_hold(
    value: float, written: Any
) -> None:
    assert scalars.write_float(value) == written


@settings(deadline=None)
@given(st.binary())
def test_bytes_are_read_from_either_base64_with_or_without_padding(value: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(value).decode()
        assert scalars.read_bytes(text) == scalars.read_bytes(text.rstrip("=")) == value
    assert scalars.write_bytes(value) == base64.b64encode(value).decode()


@pytest.mark.parametrize(
    "value",
    ["a", "Y Q=", "YQ=", "YQ===", "AAAA====", "====", "YQ=a", "é", "YQ\n", 1, None, []],
    ids=ascii,
)
def test_what_is_no_base64_is_refused(value: Any) -> None:
    assert code_of(scalars.read_bytes, value) in ("INVALID_FORMAT", "INVALID_TYPE")
