"""Reads the events about one subscriber, and removes personal data from them."""

from __future__ import annotations

from collections.abc import Iterator

from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .envelope import without_person
from .models import Event
from .store_reading import EventRow

# The events that are read at once. Bounds the memory.
_BATCH = 100

_EVENTS = Statement(
    lambda _: (
        Event.select(Event.sequence, Event.id, Event.envelope)
        .where(
            (Event.account_id == param("account_id"))
            & (Event.subscriber_id == param("subscriber_id"))
            & (Event.sequence >= param("first"))
        )
        .order_by(Event.sequence)
        .limit(param("limit"))
    )
)
_REPLACE = Statement(
    lambda _: Event.update({Event.envelope: param("envelope")}).where(
        (Event.account_id == param("account_id")) & (Event.sequence == param("sequence"))
    )
)


def events_about(
    account_id: str, subscriber_id: str, first: int, tx: Transaction
) -> Iterator[EventRow]:
    """Yields the events about a subscriber from a sequence number on, oldest first."""
    while True:
        rows = tx.all(
            _EVENTS, account_id=account_id, subscriber_id=subscriber_id, first=first, limit=_BATCH
        )
        yield from map(EventRow._make, rows)
        if len(rows) < _BATCH:
            return
        first = rows[-1][0] + 1


def remove_person(account_id: str, event: EventRow, tx: Transaction) -> None:
    """Removes personal data from an event about a subscriber."""
    envelope = without_person(event.envelope)
    tx.run(_REPLACE, account_id=account_id, sequence=event.sequence, envelope=envelope)
