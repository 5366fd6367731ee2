"""Scalars between JSON and protobuf, according to the ProtoJSON specification."""

from __future__ import annotations

import base64
import math
import struct
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given, settings
from hypothesis import strategies as st

from rosterd.http_gateway.codec import scalars, strict_json
from rosterd.http_gateway.codec.scalars import READERS

from .rejection import code_of

F = FieldDescriptor


@pytest.mark.parametrize("value", [1, None, []])
def test_string_is_read_only_from_a_string(value: Any) -> None:
    assert scalars.read_string("1") == "1"
    assert code_of(scalars.read_string, value) == "INVALID_TYPE"


@pytest.mark.parametrize("value", [1, "true", None])
def test_boolean_is_read_only_from_true_or_false(value: Any) -> None:
    assert scalars.read_bool(True) is True
    assert code_of(scalars.read_bool, value) == "INVALID_TYPE"


@pytest.mark.parametrize(
    ("values", "expected"),
    [((True, 1, "1", "true", "TRUE", "Yes"), True), ((False, 0, "0", "False", "no", "NO"), False)],
)
def test_boolean_like_values(values: tuple[Any, ...], *, expected: bool) -> None:
    assert {scalars.read_boolean_like(value) for value in values} == {expected}


@pytest.mark.parametrize("value", [2, 1.0, "", " true", []])
def test_other_boolean_like_values_are_rejected(value: Any) -> None:
    assert code_of(scalars.read_boolean_like, value) == "INVALID_TYPE"


BOUNDS = [
    (F.TYPE_INT32, -(2**31), 2**31 - 1),
    (F.TYPE_UINT32, 0, 2**32 - 1),
    (F.TYPE_INT64, -(2**63), 2**63 - 1),
    (F.TYPE_FIXED64, 0, 2**64 - 1),
]


@pytest.mark.parametrize(("kind", "low", "high"), BOUNDS)
def test_integer_is_read_from_a_number_or_string_within_its_range(
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
def test_integer_can_have_a_zero_fraction_or_an_exponent(value: Any, number: int) -> None:
    assert READERS[F.TYPE_INT64](value) == number


@pytest.mark.parametrize(
    "value",
    [1.5, "1.5", True, "", " 1", "+1", "１"],
    ids=ascii,
)
def test_invalid_integer_is_rejected(value: Any) -> None:
    assert code_of(READERS[F.TYPE_INT32], value) == "INVALID_TYPE"


@pytest.mark.parametrize("kind", [F.TYPE_INT64, F.TYPE_UINT64])
@pytest.mark.parametrize(
    "number",
    [
        -(2**63) - 1,
        2**64,
    ],
)
def test_integer_beyond_64_bits_is_not_rounded_into_range(kind: int, number: int) -> None:
    value = strict_json.loads(f'{{"number": {number}}}'.encode())["number"]

    assert code_of(READERS[kind], value) == "OUT_OF_RANGE"


@pytest.mark.parametrize(
    ("value", "number"),
    [(1.5, 1.5), ("-1e3", -1000.0), ("Infinity", math.inf)],
)
def test_double_is_read_from_a_number_or_string(value: Any, number: float) -> None:
    assert scalars.read_double(value) == number


@pytest.mark.parametrize(
    "value",
    ["", "nan", "1e999", True, None],
    ids=ascii,
)
def test_invalid_double_is_rejected(value: Any) -> None:
    assert code_of(scalars.read_double, value) in ("INVALID_TYPE", "OUT_OF_RANGE")


def test_float_that_rounds_to_infinity_is_rejected() -> None:
    smallest_rejected = 3.4028235677973366e38
    largest_accepted = math.nextafter(smallest_rejected, 0)

    assert struct.unpack("f", struct.pack("f", largest_accepted)) == (3.4028234663852886e38,)
    for number in (largest_accepted, -largest_accepted):
        assert READERS[F.TYPE_FLOAT](number) == number
    for number in (smallest_rejected, -smallest_rejected):
        assert code_of(READERS[F.TYPE_FLOAT], number) == "OUT_OF_RANGE"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (7.0, 7),
        (2.0**54, 2.0**54),
        (-0.0, -0.0),
        (math.inf, "Infinity"),
        (math.nan, "NaN"),
    ],
)
def test_double_is_written_in_its_json_form(value: float, written: Any) -> None:
    assert repr(scalars.write_double(value)) == repr(written)


@settings(deadline=None)
@given(st.binary())
def test_bytes_are_read_from_both_base64_alphabets_with_or_without_padding(value: bytes) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(value).decode()
        assert scalars.read_bytes(text) == scalars.read_bytes(text.rstrip("=")) == value
    assert scalars.write_bytes(value) == base64.b64encode(value).decode()


@pytest.mark.parametrize(
    "value",
    ["a", "Y Q=", "YQ=", "====", 1],
    ids=ascii,
)
def test_invalid_base64_is_rejected(value: Any) -> None:
    assert code_of(scalars.read_bytes, value) in ("INVALID_FORMAT", "INVALID_TYPE")
