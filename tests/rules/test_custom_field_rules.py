"""Keys derived from labels of custom fields, and validation of values."""

from __future__ import annotations

import json
import math
from datetime import UTC, date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.features.custom_fields.rules import (
    MAX_TEXT_LENGTH,
    MAX_VALUES_BYTES,
    DataType,
    as_json,
    check_size,
    check_values,
    derive_key,
)

TEXT, NUMBER, BOOLEAN, DATE = DataType
TYPES = {"text": TEXT, "number": NUMBER, "boolean": BOOLEAN, "date": DATE}


@pytest.mark.parametrize(
    ("label", "key"),
    [
        pytest.param("Shoe size (EU)", "shoe_size_eu", id="runs of other characters"),
        pytest.param("__a__b__", "a_b", id="underscores"),
        pytest.param("favoriteColor", "favoritecolor", id="camel case"),
        pytest.param("Größe", "grosse", id="umlaut and sharp s"),
        pytest.param("ﬁne", "fine", id="compatibility ligature"),
        pytest.param("Город", "gorod", id="Cyrillic"),
        pytest.param("城市", "chengshi", id="CJK"),
        pytest.param("I ❤️ NY", "i_ny", id="emoji between words"),
        pytest.param("2nd name", "f_2nd_name", id="leading digit"),
        pytest.param("٣ items", "f_3_items", id="leading digit of another script"),
        pytest.param("a" * 64, "a" * 64, id="64 characters"),
        pytest.param("a" * 65, "a" * 64, id="65 characters"),
        pytest.param(f"{'a' * 63} b", "a" * 63, id="underscore in the 64th place"),
        pytest.param("城" * 80, ("cheng" * 80)[:64], id="longer once transliterated"),
    ],
)
def test_label_derives_key(label: str, key: str) -> None:
    assert derive_key(label) == key


def faults_of(values: dict[str, Any], types: dict[str, DataType] = TYPES) -> list[tuple[str, str]]:
    """Returns the paths and codes of the faults of values."""
    return [(detail.field, detail.code) for detail in check_values(values, types)]


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        pytest.param(TEXT, "", id="empty text"),
        pytest.param(TEXT, "😀" * MAX_TEXT_LENGTH, id="1,000 characters"),
        pytest.param(NUMBER, 0.0, id="zero"),
        pytest.param(NUMBER, 1.7976931348623157e308, id="the greatest number"),
        pytest.param(BOOLEAN, False, id="false"),
        pytest.param(DATE, "2026-01-31", id="date"),
        pytest.param(DATE, "0001-01-01", id="first year"),
        pytest.param(DATE, "9999-12-31", id="last year"),
        pytest.param(DATE, "2026-01-31T10:20:30Z", id="UTC"),
        pytest.param(DATE, "2026-01-31T10:20:30.123456-03:30", id="microseconds and offset"),
    ],
)
def test_field_accepts_value(data_type: DataType, value: Any) -> None:
    assert faults_of({"key": value}, {"key": data_type}) == []


@pytest.mark.parametrize(
    ("data_type", "value", "code"),
    [
        pytest.param(TEXT, "a" * (MAX_TEXT_LENGTH + 1), "TOO_LONG", id="1,001 characters"),
        pytest.param(TEXT, "a\0b", "INVALID_CHARACTER", id="NUL"),
        pytest.param(NUMBER, math.inf, "OUT_OF_RANGE", id="infinite"),
        pytest.param(NUMBER, math.nan, "OUT_OF_RANGE", id="NaN"),
        pytest.param(DATE, "2026-02-30", "INVALID_FORMAT", id="30 February"),
        pytest.param(DATE, "2026-13-01", "INVALID_FORMAT", id="13th month"),
        pytest.param(DATE, "0000-01-01", "INVALID_FORMAT", id="year 0"),
        pytest.param(DATE, "2026-W05-6", "INVALID_FORMAT", id="week date"),
        pytest.param(DATE, "31.01.2026", "INVALID_FORMAT", id="day first"),
        pytest.param(DATE, " 2026-01-31", "INVALID_FORMAT", id="space before"),
        pytest.param(DATE, "2026-01-31\n", "INVALID_FORMAT", id="line break after"),
        pytest.param(DATE, "٢٠٢٦-٠١-٣١", "INVALID_FORMAT", id="digits of another script"),
        pytest.param(DATE, "2026-01-31 10:20", "INVALID_FORMAT", id="space instead of T"),
        pytest.param(DATE, "2026-01-31T25:00", "INVALID_FORMAT", id="25th hour"),
        pytest.param(DATE, "2026-01-31T10:20:30,5", "INVALID_FORMAT", id="comma"),
        pytest.param(DATE, "2026-01-31T10:20+24:00", "INVALID_FORMAT", id="offset of a day"),
    ],
)
def test_field_rejects_value(data_type: DataType, value: Any, code: str) -> None:
    assert faults_of({"key": value}, {"key": data_type}) == [("customFields.key", code)]


@given(st.dates() | st.datetimes() | st.datetimes(timezones=st.just(UTC)))
def test_every_iso_date_of_python_is_accepted(moment: date) -> None:
    assert faults_of({"date": moment.isoformat()}) == []


SIZED = st.dictionaries(
    st.text("ab_", min_size=1, max_size=64),
    st.none()
    | st.text(max_size=1_000)
    | st.sampled_from(["x", "\u20ac", '"', "\x01", "\U0001f600"]).map(lambda one: one * 1_000)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.booleans(),
    max_size=40,
)


@given(SIZED)
def test_size_of_values_is_the_size_of_their_json(values: dict[str, Any]) -> None:
    stored = {key: as_json(value) for key, value in values.items() if value is not None}
    size = len(json.dumps(stored, ensure_ascii=False, separators=(",", ":")).encode())

    assert bool(check_size(values)) == (size > MAX_VALUES_BYTES)
    # Stored values may be too large, but must not grow.
    assert check_size(values, values) == []
