"""Reads the events about one subscriber, and removes personal data from events."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from peewee import Expression, ModelSelect, Node, fn

from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ...values.emails import json_without_addresses
from .envelope import without_person
from .models import Event
from .rules import EventType
from .store_reading import EventRow

# Events per read. Bounds the memory.
_BATCH = 100

# Sequence numbers are selected from the index of subscribers, which contains them. Without
# statistics, SQLite would read all events of the account instead.
_Other = Event.alias()
_OF_SUBSCRIBERS = (_Other.account_id == param("account_id")) & _Other.subscriber_id.is_null(False)


def select_about() -> ModelSelect[Any]:
    """Selects the sequence numbers of the events about the subscriber `subscriber_id`."""
    return _Other.select(_Other.sequence).where(
        _OF_SUBSCRIBERS & (_Other.subscriber_id == param("subscriber_id"))
    )


def _events(dialect: Dialect) -> Node:
    """Selects the events about a subscriber from a sequence number on."""
    numbers = select_about().where(_Other.sequence >= param("first"))
    numbers = numbers.order_by(_Other.sequence).limit(param("limit"))
    events = Event.select(Event.sequence, Event.id, Event.envelope)
    return events.where(_numbered(dialect, numbers)).order_by(Event.sequence)


def _recent(dialect: Dialect) -> Node:
    numbers = _Other.select(_Other.sequence).where(
        _OF_SUBSCRIBERS & dialect.any_of(_Other.subscriber_id, "subscriber_ids")
    )
    return Event.select(Event.sequence).where(
        _numbered(dialect, numbers)
        & dialect.any_of(Event.event_type, "event_types")
        & (Event.created_at >= param("since"))
    )


def _numbered(dialect: Dialect, numbers: Node) -> Expression:
    return (Event.account_id == param("account_id")) & dialect.within(Event.sequence, numbers)


_EVENTS = Statement(_events)
_COUNT = Statement(lambda _: select_about().select(fn.COUNT(_Other.sequence)))
_OF_TYPE = Statement(
    lambda _: (
        Event.select(Event.sequence, Event.id, Event.envelope)
        .where(
            (Event.account_id == param("account_id"))
            & (Event.event_type == param("event_type"))
            & (Event.sequence >= param("first"))
        )
        .order_by(Event.sequence)
        .limit(param("limit"))
    )
)
_RECENT = Statement(_recent)
_REPLACE = Statement(
    lambda _: Event.update({Event.envelope: param("envelope")}).where(
        (Event.account_id == param("account_id")) & (Event.sequence == param("sequence"))
    )
)


def events_about(
    account_id: str, subscriber_id: str, first: int, tx: Transaction
) -> Iterator[EventRow]:
    """Yields the events about a subscriber from a sequence number on, oldest first."""
    yield from _in_batches(_EVENTS, first, tx, account_id=account_id, subscriber_id=subscriber_id)


def count_about(account_id: str, subscriber_id: str, tx: Transaction) -> int:
    """Returns the number of events about a subscriber."""
    return int(tx.scalar(_COUNT, account_id=account_id, subscriber_id=subscriber_id))


def _in_batches(
    statement: Statement, first: int, tx: Transaction, **values: str
) -> Iterator[EventRow]:
    while True:
        rows = tx.all(statement, **values, first=first, limit=_BATCH)
        yield from map(EventRow._make, rows)
        if len(rows) < _BATCH:
            return
        first = rows[-1][0] + 1


def has_recent_event(
    account_id: str,
    subscriber_ids: Sequence[str],
    event_types: Sequence[str],
    since: int,
    tx: Transaction,
) -> bool:
    """Returns whether a subscriber has an event of these types since a time in milliseconds."""
    row = tx.one(
        _RECENT,
        account_id=account_id,
        subscriber_ids=subscriber_ids,
        event_types=event_types,
        since=since,
    )
    return row is not None


def remove_person(account_id: str, event: EventRow, tx: Transaction) -> None:
    """Removes personal data from an event about a subscriber."""
    envelope = without_person(event.envelope)
    tx.run(_REPLACE, account_id=account_id, sequence=event.sequence, envelope=envelope)


def remove_from_operation_events(
    account_id: str, addresses: Collection[str], tx: Transaction
) -> Iterator[EventRow]:
    """Removes addresses, given by `text_key`, from events of operations. Yields the events."""
    values = {"event_type": EventType.OPERATION_COMPLETED}
    for event in _in_batches(_OF_TYPE, 0, tx, account_id=account_id, **values):
        envelope = json_without_addresses(event.envelope, addresses)
        if envelope != event.envelope:
            tx.run(_REPLACE, account_id=account_id, sequence=event.sequence, envelope=envelope)
            yield event
