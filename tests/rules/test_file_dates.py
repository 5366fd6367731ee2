"""Dates in files of other services and databases."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.values.clock import iso8601
from rosterd.server.values.file_dates import DateFormat, UnknownDate, iso_date, parse_date
from rosterd.server.values.timestamps import milliseconds_of

from ..cases import each

MDY, DMY, YMD = DateFormat


def written(cell: str, order: DateFormat | None = None) -> str | None:
    """Returns the date of a cell in ISO 8601, or None for one that means no date."""
    date = parse_date(cell, order)
    return None if date is None else iso8601(milliseconds_of(date))


@each(
    ("cell", "expected"),
    [
        (" 2021-03-04 ", "2021-03-04T00:00:00.000Z"),
        ("20210304T050607Z", "2021-03-04T05:06:07.000Z"),
        ("2021-03-04 05:06:07.123456789 +0200 EET", "2021-03-04T03:06:07.123Z"),
        ("2021-03-04 05:06:07 -0300 -03", "2021-03-04T08:06:07.000Z"),
        ("Thu, 04 Mar 2021 05:06:07 +0530", "2021-03-03T23:36:07.000Z"),
        ("4 Mar 2021 05:06 EST", "2021-03-04T10:06:00.000Z"),
        ("Thu Mar  4 05:06:07 2021", "2021-03-04T05:06:07.000Z"),
        ("Thu Mar 4 05:06:07 UTC 2021", "2021-03-04T05:06:07.000Z"),
        ("Thu Mar 04 2021 05:06:07 GMT+0100 (Central European Time)", "2021-03-04T04:06:07.000Z"),
        ("Mar 4, 2021 2:02 PM", "2021-03-04T14:02:00.000Z"),
        ("March 4th, 2021 at 12:30\u202fa.m.", "2021-03-04T00:30:00.000Z"),
        ("04-MAR-2021 3pm", "2021-03-04T15:00:00.000Z"),
        ("1443651125", "2015-09-30T22:12:05.000Z"),
        ("1443651125123", "2015-09-30T22:12:05.123Z"),
    ],
)
def test_forms_with_one_reading_are_parsed(cell: str, expected: str) -> None:
    assert written(cell) == expected


@each(
    "cell",
    [
        *(
            "0000-00-00",
            "0000-00-00 00:00:00",
            "00-00-0000",
            "00/00/00",
            "0000-00-00T00:00:00.000Z",
        ),
        *("0001-01-01T00:00:00Z", "0001-01-01 00:00:00 +0000 UTC", "1/1/0001 12:00:00 AM"),
        *("-0001-11-30T00:00:00+00:00", "0", "NULL", "null", r"\N"),
    ],
)
def test_text_in_place_of_a_missing_date_means_no_date(cell: str) -> None:
    assert parse_date(cell, None) is None


@each(
    ("cell", "order", "expected"),
    [
        ("11/1/16 3pm", MDY, "2016-11-01T15:00:00.000Z"),
        ("1/2/2024, 12:05:06 AM", MDY, "2024-01-02T00:05:06.000Z"),
        ("31.12.2024 15:04", DMY, "2024-12-31T15:04:00.000Z"),
        ("1. 2. 2024", DMY, "2024-02-01T00:00:00.000Z"),
        ("1/2/71", DMY, "1971-02-01T00:00:00.000Z"),
        ("24-12-31", YMD, "2024-12-31T00:00:00.000Z"),
    ],
)
def test_numeric_date_is_parsed_in_the_stated_order(
    cell: str, order: DateFormat, expected: str
) -> None:
    assert written(cell, order) == expected


@each(
    ("cell", "order"),
    [
        *((cell, None) for cell in ("12/31/2024", "31.12.2024", "1-2-24", "11-Apr-23")),
        *((cell, None) for cell in ("2021-02-30", "Feb 30, 2021", "2021-03-04 25:00", "13/1/2021")),
        *((cell, None) for cell in ("2021-03-04 05:06:07 CET", "Mar 4, 2021 13:00 PM", "45292")),
        *((cell, None) for cell in ("yesterday", "2021", "1/1/0001x", "１443651125")),
        ("31.12.2024", MDY),
        ("12/31/2024", DMY),
        ("12/31/2024", YMD),
        ("1/2-2024", MDY),
        *(
            (cell, MDY)
            for cell in ("1" * 50_000, " " * 50_000 + "x", "tue " * 20, "2021-01-01 " * 9)
        ),
    ],
)
def test_other_text_is_rejected(cell: str, order: DateFormat | None) -> None:
    with pytest.raises(UnknownDate):
        parse_date(cell, order)


def test_hint_names_the_option_for_text_that_may_be_a_date() -> None:
    for cell, is_named in (("12/31/2024", True), ("2021-02-30", True), ("soon", False)):
        with pytest.raises(UnknownDate) as caught:
            parse_date(cell, None)
        assert ("dateFormat" in (caught.value.hint or "")) is is_named


@each(
    ("cell", "expected"),
    [
        ("31.12.2024", "2024-12-31"),
        ("Dec 31, 2024", "2024-12-31"),
        ("31.12.2024 15:04", "2024-12-31T15:04:00"),
        ("0000-00-00", ""),
    ],
)
def test_date_is_written_with_the_parts_that_it_has(cell: str, expected: str) -> None:
    assert iso_date(cell, DMY) == expected


@given(
    time=st.datetimes(datetime(1970, 1, 1), datetime(2069, 12, 31)),  # noqa: DTZ001 - in UTC
    order=st.sampled_from(DateFormat),
)
def test_every_written_form_is_parsed_to_the_same_time(time: datetime, order: DateFormat) -> None:
    time = time.replace(microsecond=0)
    numeric = {MDY: "%m/%d/%y", DMY: "%d.%m.%y", YMD: "%y-%m-%d"}[order]
    forms = (
        *("%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d %H:%M:%S", "%a, %d %b %Y %H:%M:%S +0000"),
        *("%B %d, %Y %I:%M:%S %p", "%c", f"{numeric} %H:%M:%S", f"{numeric} %I:%M:%S %p"),
    )

    parsed = [parse_date(time.strftime(form), order) for form in forms]

    assert {p and p.replace(tzinfo=UTC) for p in parsed} == {time.replace(tzinfo=UTC)}
