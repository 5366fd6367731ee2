"""Converts a time range to a range of sequence numbers of an account's events.

The IDs of events contain timestamps and ascend with the sequence.
"""

from __future__ import annotations

from typing import NamedTuple

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from .envelope import PREFIX
from .models import Event

# Greater than every ID, which has a digit in this position.
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
    """The events with a sequence number greater than `after` and at most `until`."""

    after: int
    until: int


def sequence_range(
    account_id: str, first_id: str, end_id: str | None, tx: Transaction
) -> SequenceRange:
    """Returns the events with an ID from `first_id` to before `end_id`. Two statements.

    The IDs have no prefix. Without an end the range includes the last event.
    """
    first = tx.scalar(_FIRST, account_id=account_id, first_id=f"{PREFIX}{first_id}", limit=1)
    end = _AFTER_EVERY_ID if end_id is None else f"{PREFIX}{end_id}"
    last = tx.scalar(_LAST, account_id=account_id, end_id=end, limit=1)
    return SequenceRange(first - 1, last) if first and last else SequenceRange(0, 0)
