"""Reads the events about one subscriber, and removes personal data from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from peewee import SQL

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
_NEWEST_OF_TYPES = Statement(
    lambda dialect: (
        Event.select(Event.sequence)
        .where(
            (Event.account_id == param("account_id"))
            & (Event.subscriber_id == param("subscriber_id"))
            & dialect.any_of(Event.kind, "event_types")
            & (Event.created_at >= param("since"))
        )
        .order_by(Event.sequence.desc())
        .limit(SQL("1"))
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


def has_recent_event(
    account_id: str, subscriber_id: str, event_types: Sequence[str], since: int, tx: Transaction
) -> bool:
    """Returns whether a subscriber has an event of these types since a time in milliseconds."""
    row = tx.one(
        _NEWEST_OF_TYPES,
        account_id=account_id,
        subscriber_id=subscriber_id,
        event_types=event_types,
        since=since,
    )
    return row is not None


def remove_person(account_id: str, event: EventRow, tx: Transaction) -> None:
    """Removes personal data from an event about a subscriber."""
    envelope = without_person(event.envelope)
    tx.run(_REPLACE, account_id=account_id, sequence=event.sequence, envelope=envelope)
