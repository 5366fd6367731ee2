"""Parses the dates in files of other services and databases.

The order of day and month is never guessed: a numeric date needs a `DateFormat`, unless a year of
four digits comes first.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone
from enum import IntEnum

from .timestamps import is_valid_time, milliseconds_of

_MAX_LENGTH = 100
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# The zones with a name in RFC 2822, in hours from UTC.
_ZONES = {"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7}
# Years of two digits are from 1970 to 2069.
_FIRST_SHORT_YEAR = 70

_CLOCK = (
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?: ?(?P<half>[ap])\.?m\.?)?"
)
# Go writes an offset and a name, JavaScript the name in parentheses.
_ZONE = (
    r"(?: ?(?P<zone>z|utc|gmt|[ecmp][sd]t))?"
    r"(?: ?(?P<offset>[+-]\d\d(?::?\d\d)?)(?: \(?[a-z][a-z ]*\)?| [+-]\d\d(?:\d\d)?)?)?"
    r"(?: \(coordinated universal time\))?"
)
_TIME = rf"(?:(?:t|, ?| at | ?- ?|, at | ){_CLOCK})?{_ZONE}"
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,? )?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\.?"
_YEAR = r"(?P<year>\d{4})"
_FORMATS = [
    re.compile(pattern, re.ASCII)
    for pattern in (
        rf"{_YEAR}[-/.](?P<month>\d{{1,2}})[-/.]{_DAY}{_TIME}",
        rf"{_WEEKDAY}{_DAY}[ -]{_MONTH}[ -]{_YEAR}{_TIME}",
        rf"{_WEEKDAY}{_DAY} {_MONTH}, {_YEAR}{_TIME}",
        rf"{_WEEKDAY}{_MONTH} {_DAY},? {_YEAR}{_TIME}",
        rf"{_YEAR}[ -]{_MONTH}[ -]{_DAY}{_TIME}",
        rf"{_WEEKDAY}{_MONTH} {_DAY} {_CLOCK}{_ZONE} {_YEAR}",
    )
]
_SHORT_YEAR = r"(?P<year>\d{4}|\d\d)"
_NUMBER = r"\d{1,2}"
_BY_ORDER = [
    re.compile(rf"{first}(?P<separator>[-/.]) ?{second}(?P=separator) ?{third}{_TIME}", re.ASCII)
    for first, second, third in (
        (rf"(?P<month>{_NUMBER})", rf"(?P<day>{_NUMBER})", _SHORT_YEAR),
        (rf"(?P<day>{_NUMBER})", rf"(?P<month>{_NUMBER})", _SHORT_YEAR),
        (r"(?P<year>\d\d)", rf"(?P<month>{_NUMBER})", rf"(?P<day>{_NUMBER})"),
    )
]
_EPOCH = re.compile(r"(\d{9,10})(\.\d{1,9})?|(\d{12,13})", re.ASCII)
# Databases write zeros or NULL, .NET and Go the first day of the year 1, and PHP the day that it
# computes from zeros.
_NO_DATE = re.compile(
    r"null|\\n|0[0:/. tzuc+-]*|(?:0000[-/.]\d\d[-/.]\d\d|-0001-11-30|0?1[-/.]0?1[-/.]0001)"
    r"(?:[t ].*)?",
    re.ASCII,
)
_COMPACT = re.compile(r"(?:19|20)\d{6}(?:t\d{6}(?:z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_INVISIBLE = str.maketrans("", "", "\u200b\u200e\u200f\u2060\ufeff")


class DateFormat(IntEnum):
    """The order of day, month and year in numeric dates, with the numbers of DateFormat.Order."""

    MDY = 1
    DMY = 2
    YMD = 3


_HINT = (
    "Write dates such as 2024-12-31, or set dateFormat to MDY, DMY or YMD for dates"
    " such as 12/31/2024."
)


_HINT_WITH_ORDER = "There is no such day with dateFormat={}, or it is written in another format."


class UnknownDate(Exception):
    """A text that is not a date, or whose order of day and month is not known.

    `hint` is what to do about it, or None if the text cannot be a date.
    """

    def __init__(self, text: str = "", order: DateFormat | None = None) -> None:
        super().__init__()
        hint = _HINT if order is None else _HINT_WITH_ORDER.format(order.name)
        self.hint = hint if re.search(r"\d", text) else None


def parse_time(cell: str, order: DateFormat | None, now: int | None) -> int | None:
    """Returns a time in milliseconds since 1970, or None for a text that means no time.

    Raises UnknownDate, also if the time is before 1970 or after `now`, which None allows.
    """
    date = parse_date(cell, order)
    if date is None:
        return None
    time = milliseconds_of(date)
    if now is not None and not is_valid_time(time, now):
        raise UnknownDate
    return time


def parse_date(cell: str, order: DateFormat | None) -> datetime | None:
    """Returns a date with its time, or None for a text that means no date. Raises UnknownDate.

    Without an offset, the result has no time zone and means UTC.
    """
    text = cell.strip()
    if text[4:5] == "-":  # the most common format
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            pass
        else:
            return time if time.year > 1 else None
    if len(text) > _MAX_LENGTH:
        raise UnknownDate
    try:
        return _parse(" ".join(text.translate(_INVISIBLE).lower().split()), order)
    except (ValueError, OverflowError):  # such as the 30th of February
        raise UnknownDate(text, order) from None


def iso_date(cell: str, order: DateFormat | None) -> str:
    """Returns a date in ISO 8601, without a time if the cell has none.

    A text that means no date is empty. Raises UnknownDate.
    """
    time = parse_date(cell, order)
    if time is None:
        return ""
    if time.tzinfo is not None:
        return f"{time.astimezone(UTC).replace(tzinfo=None).isoformat()}Z"
    is_date = ":" not in cell and not any((time.hour, time.minute, time.second))
    return time.date().isoformat() if is_date else time.isoformat()


def _parse(text: str, order: DateFormat | None) -> datetime | None:
    """Parses a text in lower case. Raises ValueError, also for an impossible date."""
    if _NO_DATE.fullmatch(text):
        return None
    if match := _EPOCH.fullmatch(text):
        seconds, fraction, milliseconds = match.groups()
        milliseconds = milliseconds or f"{seconds}{(fraction or '.')[1:4]:0<3}"
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(milliseconds))
    if _COMPACT.fullmatch(text):
        return datetime.fromisoformat(text.upper())
    formats = [*_FORMATS, _BY_ORDER[order - 1]] if order else _FORMATS
    found = next((match for each in formats if (match := each.fullmatch(text))), None)
    if found is None:
        raise ValueError
    parts = found.groupdict()
    year, month = parts["year"], parts["month"]
    time = datetime(
        _full_year(int(year)) if len(year) == 2 else int(year),
        int(month) if month.isdigit() else _MONTHS.index(month) + 1,
        int(parts["day"]),
        _hour(parts),
        int(parts["minute"] or 0),
        int(parts["second"] or 0),
        int((parts["fraction"] or "").ljust(6, "0")[:6]),
        _time_zone(parts),
    )
    return time if time.year > 1 else None


def _full_year(year: int) -> int:
    return year + (1900 if year >= _FIRST_SHORT_YEAR else 2000)


def _hour(parts: dict[str, str | None]) -> int:
    """Returns the hour of the day. Raises ValueError for an hour without minutes, such as 15."""
    hour, half = int(parts["hour"] or 0), parts["half"]
    if half is None:
        if parts["hour"] and not parts["minute"]:
            raise ValueError
        return hour
    if not 1 <= hour <= 12:
        raise ValueError
    return hour % 12 + (12 if half == "p" else 0)


def _time_zone(parts: dict[str, str | None]) -> timezone | None:
    zone, offset = parts["zone"], parts["offset"]
    if zone in _ZONES and offset is None:
        return timezone(timedelta(hours=_ZONES[zone]))
    if zone is None and offset is None:
        return None
    digits = (offset or "+0000").replace(":", "").ljust(5, "0")
    delta = timedelta(hours=int(digits[1:3]), minutes=int(digits[3:]))
    return timezone(-delta if digits[0] == "-" else delta)
