"""Why and when addresses are suppressed."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple


class Reason(IntEnum):
    """Why an address is suppressed; the numbers of Suppression.Reason."""

    UNSUBSCRIBED = 3
    BOUNCED = 4
    COMPLAINED = 5
    MANUAL = 6


# Reasons by strictness. The strictness of statuses follows from it.
STRICTNESS = {
    Reason.BOUNCED: 1,
    Reason.MANUAL: 2,
    Reason.UNSUBSCRIBED: 2,
    Reason.COMPLAINED: 3,
}


class NewSuppression(NamedTuple):
    """A suppression to add. `created_at` is in milliseconds; None is the current time."""

    email_key: str
    reason: Reason
    created_at: int | None = None


def strictest(suppressions: Iterable[NewSuppression]) -> dict[str, NewSuppression]:
    """Returns the first suppression of each address that has its strictest reason."""
    found: dict[str, NewSuppression] = {}
    for each in sorted(suppressions, key=lambda each: STRICTNESS[each.reason], reverse=True):
        found.setdefault(each.email_key, each)
    return found


class Row(NamedTuple):
    """A row of a suppression list as it was sent; None is the default."""

    line: int
    email: str
    reason: Reason | None = None
    created_at: int | None = None
    # A field that could not be parsed; empty for the whole row.
    fault: str | None = None
