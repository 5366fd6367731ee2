"""Converts Timestamp and Duration between JSON and protobuf.

Readers fill a message that is there already, since a message type can exist once in
each pool of descriptors. Both types have bounds, which their fields do not keep by
themselves: what is beyond them has no JSON form and raises NoJsonForm.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from .scalars import InvalidValue, NoJsonForm

_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d{1,9}))?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_HOUR = re.compile(r"\d{4}-\d\d-\d\dT\d\d", re.ASCII)
_SPAN = re.compile(r"(-?)(\d{1,12})(?:\.(\d{1,9}))?s", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS_OF_DAY = 86_400
_FIRST_SECOND = -62_135_596_800
_LAST_SECOND = 253_402_300_799
# Whole seconds; a fraction may follow the last one.
_LONGEST = 315_576_000_000
_SECOND_IN_NANOS = 1_000_000_000


# What stands after the hour in the timestamps that most programs send, in UTC with no
# fraction or with milliseconds: to look it up is also to check it.
_SECONDS = {f":{n // 60:02}:{n % 60:02}": n for n in range(3600)}
_ENDS = {"Z": 0} | {f".{n:03}Z": n * 1_000_000 for n in range(1000)}


def fill_timestamp(value: Any, target: Any) -> None:
    """Takes RFC 3339 with an offset and up to nine fractional digits. Raises InvalidValue."""
    try:
        seconds = _hour(value[:13]) + _SECONDS[value[13:19]]
        nanos = _ENDS[value[19:]]
    except (KeyError, TypeError, ValueError):
        _fill_any_timestamp(value, target)
    else:
        target.seconds = seconds
        target.nanos = nanos


@lru_cache(4096)
def _hour(text: str) -> int:
    """Returns the first second of an hour. Raises ValueError if there is no such hour."""
    if not _HOUR.fullmatch(text):
        raise ValueError(text)
    since = datetime.fromisoformat(text).replace(tzinfo=UTC) - _EPOCH
    return since.days * _SECONDS_OF_DAY + since.seconds


def _fill_any_timestamp(value: Any, target: Any) -> None:
    match = _MOMENT.fullmatch(value) if type(value) is str else None
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
    # A datetime has no more than microseconds.
    target.nanos = int((match[1] or "").ljust(9, "0"))


def write_milliseconds(moment: Any) -> str:
    """Writes UTC with exactly three fractional digits, cut off, not rounded."""
    return _second(moment.seconds) + _MILLISECONDS[moment.nanos // 1_000_000]


def write_timestamp(moment: Any) -> str:
    """Writes UTC with as many fractional digits as are needed: none, three, six or nine."""
    nanos = moment.nanos
    if not 0 <= nanos < _SECOND_IN_NANOS:
        raise NoJsonForm(f"a google.protobuf.Timestamp of {nanos} nanoseconds has no JSON form")
    return f"{_second(moment.seconds)}{_fraction(nanos)}Z"


@lru_cache(4096)
def _second(seconds: int) -> str:
    if not _FIRST_SECOND <= seconds <= _LAST_SECOND:
        raise NoJsonForm(f"a google.protobuf.Timestamp of {seconds} seconds has no JSON form")
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S").rjust(19, "0")


class _Milliseconds(dict[int, str]):
    """The ends of timestamps by their milliseconds."""

    def __missing__(self, number: int) -> str:
        raise NoJsonForm(f"a google.protobuf.Timestamp of {number} milliseconds has no JSON form")


_MILLISECONDS = _Milliseconds({number: f".{number:03}Z" for number in range(1000)})


def fill_duration(value: Any, target: Any) -> None:
    """Takes seconds with up to nine fractional digits and an "s". Raises InvalidValue."""
    match = _SPAN.fullmatch(value) if type(value) is str else None
    if match is None:
        message = "must be a duration such as 1.5s"
        raise InvalidValue(message, "INVALID_FORMAT" if type(value) is str else "INVALID_TYPE")
    sign, seconds, nanos = match[1], int(match[2]), int((match[3] or "").ljust(9, "0"))
    if seconds > _LONGEST:
        raise InvalidValue(f"must be between -{_LONGEST}s and {_LONGEST}s", "OUT_OF_RANGE")
    target.seconds = -seconds if sign else seconds
    target.nanos = -nanos if sign else nanos


def write_duration(span: Any) -> str:
    """Writes seconds with none, three, six or nine fractional digits."""
    seconds, nanos = span.seconds, span.nanos
    if abs(seconds) > _LONGEST or abs(nanos) >= _SECOND_IN_NANOS or seconds * nanos < 0:
        text = f"{seconds} seconds and {nanos} nanoseconds"
        raise NoJsonForm(f"a google.protobuf.Duration of {text} has no JSON form")
    sign = "-" if seconds < 0 or nanos < 0 else ""
    return f"{sign}{abs(seconds)}{_fraction(abs(nanos))}s"


def _fraction(nanos: int) -> str:
    """Returns the point and the digits after it; empty for a whole second."""
    if not nanos:
        return ""
    if not nanos % 1_000_000:
        return f".{nanos // 1_000_000:03}"
    if not nanos % 1_000:
        return f".{nanos // 1_000:06}"
    return f".{nanos:09}"
