"""The names of counts.

Totals are `status:NUMBER`, the subscribers with a status, and `tag:ID:NUMBER`, the ones with a tag
and a status. The counts of a day are its flows.
"""

from __future__ import annotations

from datetime import date, timedelta
from enum import StrEnum

EPOCH = date(1970, 1, 1)
_MILLISECONDS_OF_DAY = 86_400_000
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


def date_of(day: int) -> str:
    """Returns the date of a day, such as 2026-01-31."""
    return (EPOCH + timedelta(day)).isoformat()
