"""Timestamps in CSV files of other services."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from rosterd.server.values.clock import iso8601
from rosterd.server.values.timestamps import parse_timestamp

from ..cases import each


@each(
    ("cell", "expected"),
    [
        ("2021-03-04", "2021-03-04T00:00:00.000Z"),
        (" 2021-03-04 05:06:07 ", "2021-03-04T05:06:07.000Z"),
        ("2021-03-04T05:06:07.8Z", "2021-03-04T05:06:07.800Z"),
        ("2021-03-04T05:06:07.123456789Z", "2021-03-04T05:06:07.123Z"),
        ("2021-03-04 05:06:07 GMT", "2021-03-04T05:06:07.000Z"),
        ("2021-03-04T05:06:07+02:00", "2021-03-04T03:06:07.000Z"),
        ("2021-03-04 05:06:07.123456789 +0200 EET", "2021-03-04T03:06:07.123Z"),
        ("2021-03-04 05:06:07 -0300 -03", "2021-03-04T08:06:07.000Z"),
    ],
)
def test_common_forms_are_parsed(cell: str, expected: str) -> None:
    time = parse_timestamp(cell)

    assert time is not None
    assert iso8601(time) == expected


@each(
    "cell",
    ["", "never", "05/06/2021", "2021-13-01", "2021-02-30 10:00", "2021", "2021-03-04 25:00"],
)
def test_other_text_is_no_timestamp(cell: str) -> None:
    assert parse_timestamp(cell) is None


@each("cell", ["2021-03-04 " + "1" * 50_000, " " * 50_000 + "x", "-" * 50_000])
def test_hostile_text_is_no_timestamp(cell: str) -> None:
    assert parse_timestamp(cell) is None


@given(time=st.datetimes(datetime(1970, 1, 1), datetime(9999, 12, 30)))  # noqa: DTZ001 - in UTC
def test_written_timestamp_is_parsed_to_the_same_time(time: datetime) -> None:
    milliseconds = int(time.replace(tzinfo=UTC).timestamp() * 1000)

    assert parse_timestamp(iso8601(milliseconds)) == milliseconds
