"""The names of counts.

Totals are `status:NUMBER`, the subscribers with a status, and `tag:ID:NUMBER`, the ones with a tag
and a status. The counts of a day are its flows, and so are those of a quarter hour: the days of all
time zones begin with one.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

EPOCH = date(1970, 1, 1)
_MILLISECONDS_OF_DAY = 86_400_000
_MILLISECONDS_OF_QUARTER = 900_000
QUARTERS_OF_DAY = 96
_LAST_DAY = (date.max - EPOCH).days
# Files in the folder of the zones that are none: the zone of the machine, and zones that count
# leap seconds.
_NOT_ZONES = {"localtime", "posix", "posixrules", "right"}
# The `day` of totals.
TOTALS = 0
STATUS, TAG = "status:", "tag:"
# Greater than letters and digits: ends the range of names with a prefix.
END_OF_NAMES = "~"


class Flow(StrEnum):
    """What is counted for a day.

    CREATED is without the subscribers that imports create, which are IMPORTED; earlier versions
    counted all as CREATED. A status is counted when an existing subscriber changes to it. GROWTH is
    the change of the number of CONFIRMED subscribers, from any cause.
    """

    CREATED = "created"
    IMPORTED = "imported"
    CONFIRMED = "confirmed"
    UNSUBSCRIBED = "unsubscribed"
    BOUNCED = "bounced"
    COMPLAINED = "complained"
    DELETED = "deleted"
    GROWTH = "growth"


def day_of(milliseconds: int) -> int:
    """Returns the day of a time in milliseconds since 1970."""
    return milliseconds // _MILLISECONDS_OF_DAY


def quarter_of(milliseconds: int) -> int:
    """Returns the quarter hour of a time in milliseconds since 1970."""
    return milliseconds // _MILLISECONDS_OF_QUARTER


def zone_of(name: str) -> ZoneInfo | None:
    """Returns the time zone with a name of the IANA database, or None if there is none."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # noqa: PLC0415 - needs much memory

    try:
        return None if name.partition("/")[0] in _NOT_ZONES else ZoneInfo(name)
    except (ZoneInfoNotFoundError, OSError, ValueError):
        return None


def today_in(zone: ZoneInfo, milliseconds: int) -> int:
    """Returns the day of a time zone at a time in milliseconds since 1970."""
    return (datetime.fromtimestamp(milliseconds / 1000, zone).date() - EPOCH).days


def begin_of(day: int, zone: ZoneInfo) -> int:
    """Returns the quarter hour in which a day of a time zone begins."""
    midnight = datetime.combine(EPOCH + timedelta(min(day, _LAST_DAY)), time(), zone)
    return quarter_of(round(midnight.timestamp() * 1000))


def date_of(day: int) -> str:
    """Returns the date of a day, such as 2026-01-31."""
    return (EPOCH + timedelta(day)).isoformat()
