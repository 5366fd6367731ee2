"""From events to deliveries: a row for each event and each webhook that wants to hear of it.

Events are taken in their sequence and each once. What was done is noted with the queue in
the same transaction; and the same delivery could not be there twice in any case.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..events.models import Event, EventStream
from ..events.rules import Kind, is_wanted
from ..ids import moment_of
from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .models import Delivery, Webhook
from .rules import MAX_WEBHOOKS, DeliveryStatus
from .store_queue import Queue
from .store_reading import types_read

# Deliveries that are made in one transaction, about: other writers wait meanwhile.
EXPANDED_AT_ONCE = 1_000
# So many events are looked at in one transaction at least: where there were fewer, it was all.
SMALLEST_PIECE = EXPANDED_AT_ONCE // MAX_WEBHOOKS

# What a delivery begins with.
NEW_DELIVERY = (
    Delivery.id,
    Delivery.webhook_id,
    Delivery.sequence,
    Delivery.event_id,
    Delivery.kind,
    Delivery.replay_id,
    Delivery.status,
    Delivery.attempts,
    Delivery.step,
    Delivery.fence,
    Delivery.due_at,
    Delivery.created_at,
)

_REACHED = Statement(
    lambda _: EventStream.select(EventStream.sequence).where(
        EventStream.account_id == param("account_id")
    ),
    beside=True,
)
_EVENTS = Statement(
    lambda _: (
        Event.select(Event.sequence, Event.id, Event.kind)
        .where(
            (Event.account_id == param("account_id"))
            & (Event.sequence > param("after"))
            & (Event.sequence <= param("until"))
        )
        .order_by(Event.account_id, Event.sequence)
        .limit(param("limit"))
    ),
    beside=True,
)
_LISTENERS = Statement(
    lambda _: (
        Webhook.select(Webhook.id, Webhook.event_types, Webhook.after_sequence)
        .where((Webhook.account_id == param("account_id")) & (Webhook.enabled == param("enabled")))
        .order_by(Webhook.account_id, Webhook.id)
    ),
    beside=True,
)
_ADD = Statement(
    lambda dialect: dialect.insert_all(
        Delivery.account_id,
        NEW_DELIVERY,
        "rows",
    ),
    beside=True,
)


class EventRef(NamedTuple):
    """An event without its envelope."""

    sequence: int
    id: str
    kind: str


class _Listener(NamedTuple):
    webhook_id: str
    event_types: tuple[str, ...]
    after_sequence: int

    def hears(self, event: EventRef) -> bool:
        return event.sequence > self.after_sequence and is_wanted(event.kind, self.event_types)


def expand(account_id: str, queue: Queue, tx: Transaction) -> Queue:
    """Makes deliveries of the next events, and returns how far that goes. Four statements at most.

    The queue is locked.
    """
    reached = tx.one(_REACHED, account_id=account_id)
    if reached is None or reached[0] <= queue.expanded:
        return queue
    listeners = [
        _Listener(webhook_id, types_read(event_types), after)
        for webhook_id, event_types, after in tx.all(
            _LISTENERS, account_id=account_id, enabled=True
        )
    ]
    most = max(EXPANDED_AT_ONCE // max(len(listeners), 1), 1)
    events = events_between(account_id, queue.expanded, reached[0], most, tx)
    # The test of a webhook has a delivery of its own, which is sent at once.
    wanted = [
        (listener.webhook_id, event)
        for event in events
        if event.kind != Kind.WEBHOOK_TEST
        for listener in listeners
        if listener.hears(event)
    ]
    add_deliveries(account_id, wanted, "", tx)
    is_all = len(events) < most
    return queue._replace(expanded=reached[0] if is_all else events[-1].sequence)


def events_between(
    account_id: str, after: int, until: int, most: int, tx: Transaction
) -> list[EventRef]:
    """Returns the first events after a place in the sequence, up to another."""
    rows = tx.all(_EVENTS, account_id=account_id, after=after, until=until, limit=most)
    return [EventRef._make(row) for row in rows]


def add_deliveries(
    account_id: str, wanted: Iterable[tuple[str, EventRef]], replay_id: str, tx: Transaction
) -> None:
    """Adds deliveries that are due now, of events to webhooks; those that are there stay."""
    pairs = list(wanted)
    rows = [
        (
            own_id,
            webhook_id,
            *event,
            replay_id,
            DeliveryStatus.PENDING,
            0,
            0,
            0,
            tx.now,
            moment_of(own_id),
        )
        for own_id, (webhook_id, event) in zip(tx.new_ids(len(pairs)), pairs, strict=True)
    ]
    if rows:
        tx.run(_ADD, account_id=account_id, rows=rows)
