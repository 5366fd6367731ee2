"""Keys derived from labels of custom fields, and validation of values."""

from __future__ import annotations

import json
import math
from calendar import monthrange
from datetime import UTC, date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.features.custom_fields.rules import (
    MAX_TEXT_LENGTH,
    MAX_VALUES_BYTES,
    RESERVED_KEYS,
    DataType,
    as_json,
    check_size,
    check_values,
    derive_key,
)
from rosterd.server.rpc.errors import ValidationError
from rosterd.server.values.texts import caseless_key

TEXT, NUMBER, BOOLEAN, DATE = DataType
TYPES = {"text": TEXT, "number": NUMBER, "boolean": BOOLEAN, "date": DATE}


@pytest.mark.parametrize(
    ("label", "key"),
    [
        pytest.param("Company", "company", id="a word"),
        pytest.param("Shoe size (EU)", "shoe_size_eu", id="runs of other characters"),
        pytest.param("  --a--b--  ", "a_b", id="surrounding separators"),
        pytest.param("__a__b__", "a_b", id="underscores"),
        pytest.param("favoriteColor", "favoritecolor", id="camel case"),
        pytest.param("Größe", "grosse", id="umlaut and sharp s"),
        pytest.param("Gro\u0308ße", "grosse", id="umlaut in NFD"),
        pytest.param("naïve café", "naive_cafe", id="accents"),
        pytest.param("Æsir", "aesir", id="ligature"),
        pytest.param("ﬁne", "fine", id="compatibility ligature"),
        pytest.param("x²", "x2", id="superscript"),
        pytest.param("Ｃｉｔｙ", "city", id="full width"),
        pytest.param("Город", "gorod", id="Cyrillic"),
        pytest.param("Ελλάδα", "ellada", id="Greek"),
        pytest.param("城市", "chengshi", id="CJK"),
        pytest.param("🎉 Party", "party", id="emoji before a word"),
        pytest.param("I ❤️ NY", "i_ny", id="emoji between words"),
        pytest.param("2nd name", "f_2nd_name", id="leading digit"),
        pytest.param("٣ items", "f_3_items", id="leading digit of another script"),
        pytest.param("#1", "f_1", id="digit alone"),
        pytest.param("a" * 64, "a" * 64, id="64 characters"),
        pytest.param("a" * 65, "a" * 64, id="65 characters"),
        pytest.param(f"{'a' * 63} b", "a" * 63, id="underscore in the 64th place"),
        pytest.param("1" * 80, f"f_{'1' * 62}", id="80 digits"),
        pytest.param("城" * 80, ("cheng" * 80)[:64], id="longer once transliterated"),
        pytest.param("E-mail", "e_mail", id="near a reserved key"),
    ],
)
def test_label_derives_key(label: str, key: str) -> None:
    assert derive_key(label) == key


@pytest.mark.parametrize(
    "label",
    [
        pytest.param("!!!", id="punctuation"),
        pytest.param("___", id="underscores"),
        pytest.param("😀", id="emoji"),
        pytest.param("👍🏽", id="emoji with a skin tone"),
        pytest.param("❤\ufe0f", id="emoji by variation"),
        pytest.param("↔\ufe0f", id="emoji among the mathematical symbols"),
        pytest.param("🇩🇪", id="flag"),
        pytest.param("👩\u200d💻", id="joined emoji"),
        pytest.param("\u0301", id="accent alone"),
        pytest.param("\u200b", id="zero-width space"),
        pytest.param("", id="empty"),
    ],
)
def test_label_without_letters_or_digits_is_rejected(label: str) -> None:
    with pytest.raises(ValidationError) as caught:
        derive_key(label)
    assert [detail.field for detail in caught.value.details] == ["label"]


@pytest.mark.parametrize(
    "label",
    [
        "id",
        "Email",
        "First Name",
        "LAST-NAME",
        "Status",
        "tags",
        "Created at",
        "updated_at",
        "Custom Fields",
        "Unsubscribe URL",
    ],
)
def test_label_that_derives_a_reserved_key_is_rejected(label: str) -> None:
    with pytest.raises(ValidationError) as caught:
        derive_key(label)
    assert [(detail.field, detail.code) for detail in caught.value.details] == [
        ("label", "RESERVED")
    ]


def test_there_are_ten_reserved_keys() -> None:
    assert len(RESERVED_KEYS) == 10


@pytest.mark.parametrize(
    ("one", "other"), [("City", "CITY"), ("É", "e\u0301"), ("GRÖSSE", "größe")], ids=ascii
)
def test_labels_that_differ_in_case_or_normal_form_are_equal(one: str, other: str) -> None:
    assert caseless_key(one) == caseless_key(other)


def test_different_labels_can_derive_the_same_key() -> None:
    assert derive_key("Shoe size") == derive_key("shoe-size")
    assert caseless_key("Shoe size") != caseless_key("shoe-size")


def faults_of(values: dict[str, Any], types: dict[str, DataType] = TYPES) -> list[tuple[str, str]]:
    """Returns the paths and codes of the faults of values."""
    return [(detail.field, detail.code) for detail in check_values(values, types)]


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        pytest.param(TEXT, "", id="empty text"),
        pytest.param(TEXT, " Zürich\n", id="text with whitespace"),
        pytest.param(TEXT, "2026-01-31", id="text like a date"),
        pytest.param(TEXT, "😀" * MAX_TEXT_LENGTH, id="1,000 characters"),
        pytest.param(NUMBER, 0.0, id="zero"),
        pytest.param(NUMBER, -1.5, id="negative"),
        pytest.param(NUMBER, 7, id="integer"),
        pytest.param(NUMBER, 1.7976931348623157e308, id="the greatest number"),
        pytest.param(BOOLEAN, True, id="true"),
        pytest.param(BOOLEAN, False, id="false"),
        pytest.param(DATE, "2026-01-31", id="date"),
        pytest.param(DATE, "2024-02-29", id="leap day"),
        pytest.param(DATE, "0001-01-01", id="first year"),
        pytest.param(DATE, "9999-12-31", id="last year"),
        pytest.param(DATE, "2026-01-31T10:20", id="minutes"),
        pytest.param(DATE, "2026-01-31T10:20:30", id="seconds"),
        pytest.param(DATE, "2026-01-31T10:20:30Z", id="UTC"),
        pytest.param(DATE, "2026-01-31T10:20:30.1Z", id="tenths"),
        pytest.param(DATE, "2026-01-31T10:20:30.123456-03:30", id="microseconds and offset"),
        pytest.param(DATE, "2026-01-31T10:20+14:00", id="minutes and offset"),
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
        pytest.param(NUMBER, -math.inf, "OUT_OF_RANGE", id="negative infinite"),
        pytest.param(NUMBER, math.nan, "OUT_OF_RANGE", id="NaN"),
        pytest.param(DATE, "", "INVALID_FORMAT", id="empty date"),
        pytest.param(DATE, "tomorrow", "INVALID_FORMAT", id="word"),
        pytest.param(DATE, "2026-02-30", "INVALID_FORMAT", id="30 February"),
        pytest.param(DATE, "2025-02-29", "INVALID_FORMAT", id="leap day of a common year"),
        pytest.param(DATE, "2026-13-01", "INVALID_FORMAT", id="13th month"),
        pytest.param(DATE, "2026-00-01", "INVALID_FORMAT", id="month 0"),
        pytest.param(DATE, "0000-01-01", "INVALID_FORMAT", id="year 0"),
        pytest.param(DATE, "10000-01-01", "INVALID_FORMAT", id="five digits of a year"),
        pytest.param(DATE, "2026-W05-6", "INVALID_FORMAT", id="week date"),
        pytest.param(DATE, "2026W056", "INVALID_FORMAT", id="short week date"),
        pytest.param(DATE, "2026-031", "INVALID_FORMAT", id="day of the year"),
        pytest.param(DATE, "20260131", "INVALID_FORMAT", id="no hyphens"),
        pytest.param(DATE, "2026-1-31", "INVALID_FORMAT", id="one digit"),
        pytest.param(DATE, "31.01.2026", "INVALID_FORMAT", id="day first"),
        pytest.param(DATE, " 2026-01-31", "INVALID_FORMAT", id="space before"),
        pytest.param(DATE, "2026-01-31\n", "INVALID_FORMAT", id="line break after"),
        pytest.param(DATE, "2026-01-31\0", "INVALID_FORMAT", id="NUL after"),
        pytest.param(DATE, "٢٠٢٦-٠١-٣١", "INVALID_FORMAT", id="digits of another script"),
        pytest.param(DATE, "2026-01-31Z", "INVALID_FORMAT", id="date in UTC"),
        pytest.param(DATE, "2026-01-31 10:20", "INVALID_FORMAT", id="space instead of T"),
        pytest.param(DATE, "2026-01-31T10", "INVALID_FORMAT", id="hour alone"),
        pytest.param(DATE, "2026-01-31T1020", "INVALID_FORMAT", id="no colon"),
        pytest.param(DATE, "2026-01-31T25:00", "INVALID_FORMAT", id="25th hour"),
        pytest.param(DATE, "2026-01-31T10:60", "INVALID_FORMAT", id="60th minute"),
        pytest.param(DATE, "2026-01-31T10:20:61", "INVALID_FORMAT", id="61st second"),
        pytest.param(DATE, "2026-01-31T10:20:30,5", "INVALID_FORMAT", id="comma"),
        pytest.param(DATE, "2026-01-31T10:20+24:00", "INVALID_FORMAT", id="offset of a day"),
    ],
)
def test_field_rejects_value(data_type: DataType, value: Any, code: str) -> None:
    assert faults_of({"key": value}, {"key": data_type}) == [("customFields.key", code)]


SAMPLES: dict[str, Any] = {
    "string": "1",
    "integer": 1,
    "number": 1.0,
    "boolean": True,
    "array": ["2026-01-31"],
    "object": {"key": "2026-01-31"},
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize(
    ("data_type", "accepted"),
    [(TEXT, {"string"}), (NUMBER, {"integer", "number"}), (BOOLEAN, {"boolean"}), (DATE, set())],
    ids=[data_type.name for data_type in DataType],
)
def test_value_of_another_type_is_rejected(
    data_type: DataType, accepted: set[str], sample: str
) -> None:
    is_malformed_date = data_type is DATE and sample == "string"
    code = "INVALID_FORMAT" if is_malformed_date else "INVALID_TYPE"

    expected = [] if sample in accepted else [("customFields.key", code)]
    assert faults_of({"key": SAMPLES[sample]}, {"key": data_type}) == expected


@pytest.mark.parametrize("value", [None, "", 0.0, False, "x"], ids=repr)
def test_value_of_an_unknown_field_is_rejected_even_if_null(value: Any) -> None:
    assert faults_of({"nothing": value}) == [("customFields.nothing", "UNKNOWN_FIELD")]


@pytest.mark.parametrize(
    ("key", "path"),
    [("", 'customFields.""'), ("Text", "customFields.Text"), ("a.b", "customFields.a.b")],
    ids=ascii,
)
def test_error_names_a_key_that_no_field_can_have(key: str, path: str) -> None:
    assert faults_of({key: "x"}) == [(path, "UNKNOWN_FIELD")]


def test_null_is_valid_for_every_field() -> None:
    assert faults_of(dict.fromkeys(TYPES)) == []


def test_all_invalid_values_are_reported_in_key_order() -> None:
    values = {"number": "1", "nothing": 1, "text": "good", "date": "2026-02-30", "boolean": "yes"}

    assert faults_of(values) == [
        ("customFields.boolean", "INVALID_TYPE"),
        ("customFields.date", "INVALID_FORMAT"),
        ("customFields.nothing", "UNKNOWN_FIELD"),
        ("customFields.number", "INVALID_TYPE"),
    ]


@given(st.dates() | st.datetimes() | st.datetimes(timezones=st.just(UTC)))
def test_every_iso_date_of_python_is_accepted(moment: date) -> None:
    assert faults_of({"date": moment.isoformat()}) == []


@given(st.integers(0, 9999), st.integers(0, 13), st.integers(0, 32))
def test_date_is_accepted_if_it_exists(year: int, month: int, day: int) -> None:
    accepted = not faults_of({"date": f"{year:04}-{month:02}-{day:02}"})

    in_month = 1 <= month <= 12 and year > 0
    assert accepted == (in_month and 1 <= day <= monthrange(year, month)[1])


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
