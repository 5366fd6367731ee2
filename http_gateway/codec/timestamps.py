"""Converts Timestamp and Duration between JSON and protobuf.

Readers fill an existing message, since each descriptor pool has its own class for a type.
Values outside the bounds of the specification have no JSON form.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from .scalars import InvalidValue, NoJsonForm

_TIMESTAMP = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(?:Z|[+-]\d\d:\d\d)", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_HOUR = re.compile(r"\d{4}-\d\d-\d\dT\d\d", re.ASCII)
_DURATION = re.compile(r"(-?)(\d{1,12})(?:\.(\d{1,9}))?s", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_OF_DAY = 86_400
_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_799
_MAX_DURATION = 315_576_000_000
_SECOND_IN_NANOS = 1_000_000_000


# The text after the hour in the most common timestamps, in UTC without a fraction or with
# milliseconds. The lookup also validates it.
_SECONDS = {f":{n // 60:02}:{n % 60:02}": n for n in range(3600)}
_ENDS = {"Z": 0} | {f".{n:03}Z": n * 1_000_000 for n in range(1000)}


def fill_timestamp(value: Any, target: Any) -> None:
    """Reads RFC 3339 with an offset and up to nine fractional digits. Raises InvalidValue."""
    try:
        seconds = _hour(value[:13]) + _SECONDS[value[13:19]]
        nanos = _ENDS[value[19:]]
    except (KeyError, TypeError, ValueError):
        _fill_any_timestamp(value, target)
    else:
        target.seconds = seconds
        target.nanos = nanos


def fill_date_like(value: Any, target: Any) -> None:
    """Reads a timestamp, or a date, which means midnight UTC. Raises InvalidValue."""
    if type(value) is str and _DATE.fullmatch(value):
        value += "T00:00:00Z"
    fill_timestamp(value, target)


@lru_cache(4096)
def _hour(text: str) -> int:
    """Returns the Unix time of an hour. Raises ValueError if there is no such hour."""
    if not _HOUR.fullmatch(text):
        raise ValueError(text)
    since = datetime.fromisoformat(text).replace(tzinfo=UTC) - _EPOCH
    return since.days * _SECONDS_OF_DAY + since.seconds


def _fill_any_timestamp(value: Any, target: Any) -> None:
    match = _TIMESTAMP.fullmatch(value) if type(value) is str else None
    if match is None:
        message = "must be a timestamp such as 2026-01-02T03:04:05.000Z"
        raise InvalidValue(message, "INVALID_FORMAT" if type(value) is str else "INVALID_TYPE")
    try:
        since = datetime.fromisoformat(value) - _EPOCH
    except (ValueError, OverflowError):
        raise InvalidValue("must be a valid date and time", "INVALID_FORMAT") from None
    seconds = since.days * _SECONDS_OF_DAY + since.seconds
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise InvalidValue("must be between the years 1 and 9999", "OUT_OF_RANGE")
    target.seconds = seconds
    # A datetime has only microseconds.
    target.nanos = int((match[1] or "").ljust(9, "0"))


def write_milliseconds(timestamp: Any) -> str:
    """Writes UTC with exactly three fractional digits, truncated."""
    return _second(timestamp.seconds) + _MILLISECONDS[timestamp.nanos // 1_000_000]


def write_timestamp(timestamp: Any) -> str:
    """Writes UTC with none, three, six or nine fractional digits, as many as needed."""
    nanos = timestamp.nanos
    if not 0 <= nanos < _SECOND_IN_NANOS:
        raise NoJsonForm(f"google.protobuf.Timestamp of {nanos} nanoseconds has no JSON form")
    return f"{_second(timestamp.seconds)}{_fraction(nanos)}Z"


@lru_cache(4096)
def _second(seconds: int) -> str:
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise NoJsonForm(f"google.protobuf.Timestamp of {seconds} seconds has no JSON form")
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


class _Milliseconds(dict[int, str]):
    def __missing__(self, number: int) -> str:
        raise NoJsonForm(f"google.protobuf.Timestamp of {number} milliseconds has no JSON form")


_MILLISECONDS = _Milliseconds({number: f".{number:03}Z" for number in range(1000)})


def fill_duration(value: Any, target: Any) -> None:
    """Reads seconds with up to nine fractional digits and an "s". Raises InvalidValue."""
    match = _DURATION.fullmatch(value) if type(value) is str else None
    if match is None:
        message = "must be a duration such as 1.5s"
        raise InvalidValue(message, "INVALID_FORMAT" if type(value) is str else "INVALID_TYPE")
    sign, seconds, nanos = match[1], int(match[2]), int((match[3] or "").ljust(9, "0"))
    if seconds > _MAX_DURATION:
        raise InvalidValue(
            f"must be between -{_MAX_DURATION}s and {_MAX_DURATION}s", "OUT_OF_RANGE"
        )
    target.seconds = -seconds if sign else seconds
    target.nanos = -nanos if sign else nanos


def write_duration(duration: Any) -> str:
    """Writes seconds with none, three, six or nine fractional digits."""
    seconds, nanos = duration.seconds, duration.nanos
    if abs(seconds) > _MAX_DURATION or abs(nanos) >= _SECOND_IN_NANOS or seconds * nanos < 0:
        text = f"{seconds} seconds and {nanos} nanoseconds"
        raise NoJsonForm(f"google.protobuf.Duration of {text} has no JSON form")
    sign = "-" if seconds < 0 or nanos < 0 else ""
    return f"{sign}{abs(seconds)}{_fraction(abs(nanos))}s"


def _fraction(nanos: int) -> str:
    """Returns the decimal point and fractional digits; empty for a whole second."""
    if not nanos:
        return ""
    if not nanos % 1_000_000:
        return f".{nanos // 1_000_000:03}"
    if not nanos % 1_000:
        return f".{nanos // 1_000:06}"
    return f".{nanos:09}"
