"""Timestamp and Duration between JSON and protobuf."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given, settings
from hypothesis import strategies as st

from rosterd.http_gateway.codec.scalars import NoJsonForm
from rosterd.http_gateway.codec.timestamps import (
    fill_duration,
    fill_timestamp,
    write_duration,
    write_milliseconds,
    write_timestamp,
)

from .rejection import code_of

MAX_DURATION = 315_576_000_000


def read_timestamp(value: Any) -> Timestamp:
    timestamp = Timestamp()
    fill_timestamp(value, timestamp)
    return timestamp


def read_duration(value: Any) -> Duration:
    duration = Duration()
    fill_duration(value, duration)
    return duration


OFFSETS = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@settings(deadline=None)
@given(st.datetimes(timezones=OFFSETS).filter(lambda timestamp: 1 < timestamp.year < 9999))
def test_timestamp_is_read_with_any_offset_and_written_in_utc_with_milliseconds(
    timestamp: datetime,
) -> None:
    read = read_timestamp(timestamp.isoformat())

    assert read.ToDatetime(UTC) == timestamp
    written = write_milliseconds(read)
    assert len(written) == len("2026-01-02T03:04:05.000Z")
    truncated = timestamp.replace(microsecond=timestamp.microsecond // 1000 * 1000)
    assert datetime.fromisoformat(written) == truncated


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("2026-01-02", "INVALID_FORMAT"),
        ("2026-01-02T03:04:05", "INVALID_FORMAT"),
        ("2026-01-02T03:04:05.1234567890Z", "INVALID_FORMAT"),
        ("2026-01-02T03:04:05+0100", "INVALID_FORMAT"),
        ("２026-01-02T03:04:05Z", "INVALID_FORMAT"),
        ("2026-02-30T00:00:00Z", "INVALID_FORMAT"),
        ("2026-01-02T23:59:60Z", "INVALID_FORMAT"),
        ("0000-01-01T00:00:00Z", "INVALID_FORMAT"),
        ("0001-01-01T00:00:00+01:00", "OUT_OF_RANGE"),
        (0, "INVALID_TYPE"),
    ],
    ids=ascii,
)
def test_invalid_timestamp_is_rejected(value: Any, code: str) -> None:
    assert code_of(read_timestamp, value) == code


@pytest.mark.parametrize(
    ("seconds", "nanos", "written"),
    [(0, 999_999_999, "1970-01-01T00:00:00.999Z"), (-1, 1_000_000, "1969-12-31T23:59:59.001Z")],
)
def test_timestamp_is_truncated_to_three_digits(seconds: int, nanos: int, written: str) -> None:
    assert write_milliseconds(Timestamp(seconds=seconds, nanos=nanos)) == written


@pytest.mark.parametrize(
    ("seconds", "nanos"),
    [
        *[(-62_135_596_801, 0), (253_402_300_800, 0), (0, -1), (0, 1_000_000_000)],
    ],
)
@pytest.mark.parametrize("write", [write_timestamp, write_milliseconds])
def test_timestamp_out_of_range_is_not_written(write: Any, seconds: int, nanos: int) -> None:
    with pytest.raises(NoJsonForm, match="no JSON form"):
        write(Timestamp(seconds=seconds, nanos=nanos))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *[(text, "INVALID_FORMAT") for text in ("", "1", "+1s", ".5s", "1.0000000001s", "１s")],
        *[(f"-{MAX_DURATION + 1}s", "OUT_OF_RANGE"), (None, "INVALID_TYPE")],
    ],
    ids=ascii,
)
def test_invalid_duration_is_rejected(value: Any, code: str) -> None:
    assert code_of(read_duration, value) == code


@pytest.mark.parametrize(
    ("seconds", "nanos"),
    [
        (MAX_DURATION + 1, 0),
        (1, -1),
        (0, 10**9),
    ],
)
def test_duration_out_of_range_is_not_written(seconds: int, nanos: int) -> None:
    with pytest.raises(NoJsonForm, match="no JSON form"):
        write_duration(Duration(seconds=seconds, nanos=nanos))
