"""Stretches of an account's events: from moments, as callers name them, to places in the sequence.

The moments are those in the ids of events, which rise with the sequence.
"""

from __future__ import annotations

from typing import NamedTuple

from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .envelope import PREFIX
from .models import Event

# Greater than every id: no id has a letter at this place.
_AFTER_EVERY_ID = f"{PREFIX}Z"

_IN_ACCOUNT = Event.account_id == param("account_id")
_FIRST = Statement(
    lambda _: (
        Event.select(Event.sequence)
        .where(_IN_ACCOUNT & (Event.id >= param("first_id")))
        .order_by(Event.account_id, Event.id)
        .limit(param("limit"))
    )
)
_LAST = Statement(
    lambda _: (
        Event.select(Event.sequence)
        .where(_IN_ACCOUNT & (Event.id < param("end_id")))
        .order_by(Event.account_id.desc(), Event.id.desc())
        .limit(param("limit"))
    )
)


class SequenceRange(NamedTuple):
    """The events whose sequence is greater than `after` and at most `until`; maybe none."""

    after: int
    until: int


def sequence_range(
    account_id: str, first_id: str, end_id: str | None, tx: Transaction
) -> SequenceRange:
    """Returns the events from one moment to before another, or up to now. Two statements.

    The moments are given as the first ids of all that may have been made at them.
    """
    first = tx.one(_FIRST, account_id=account_id, first_id=f"{PREFIX}{first_id}", limit=1)
    beyond = _AFTER_EVERY_ID if end_id is None else f"{PREFIX}{end_id}"
    last = tx.one(_LAST, account_id=account_id, end_id=beyond, limit=1)
    return SequenceRange(first[0] - 1, last[0]) if first and last else SequenceRange(0, 0)
