"""Parses and validates timestamps. Dates in files have more formats, see `file_dates.py`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_WITHOUT_ZONE = datetime(1970, 1, 1)  # noqa: DTZ001
_MILLISECOND = timedelta(milliseconds=1)
_DAY = 24 * 3600 * 1000
_MAX_LENGTH = 50
# Formats that `fromisoformat` does not accept: a space before the offset or the name of UTC, more
# than six fractional digits, and slashes after the year. Go programs write both an offset and a
# time zone.
_OTHER_FORM = re.compile(
    r"(\d{4})[-/](\d\d)[-/](\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)\d*)?"
    r" ?(Z|UTC|GMT|[+-]\d\d:?\d\d)?(?: (?:UTC|GMT|[A-Z]{3,5}|[+-]\d{2,4}))?",
    re.ASCII,
)


def parse_timestamp(cell: str) -> int | None:
    """Returns a timestamp in milliseconds since 1970, or None if the text is not one.

    A date means midnight. Without an offset, the time is in UTC.
    """
    text = cell.strip()
    if len(text) > _MAX_LENGTH:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        match = _OTHER_FORM.fullmatch(text)
        if match is None:
            return None
        year, month, day, clock, offset = match.groups()
        offset = "+00:00" if offset in (None, "Z", "UTC", "GMT") else offset
        try:
            time = datetime.fromisoformat(f"{year}-{month}-{day}T{clock or '00:00'}{offset}")
        except ValueError:
            return None
    return milliseconds_of(time)


def milliseconds_of(time: datetime) -> int:
    """Returns a time in milliseconds since 1970. Without a time zone, it is in UTC."""
    return (time - (_EPOCH if time.tzinfo else _EPOCH_WITHOUT_ZONE)) // _MILLISECOND


def is_valid_time(milliseconds: int, now: int) -> bool:
    """Whether a time is since 1970 and at most a day in the future, because clocks differ."""
    return 0 <= milliseconds <= now + _DAY
