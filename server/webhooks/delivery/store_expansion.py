"""From events to deliveries: a row for each event and each webhook that wants to hear of it.

Events are taken in their sequence and each once. What was done is noted with the queue in
the same transaction; and the same delivery could not be there twice in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...events.models import Event
from ...events.rules import EventType, matches_any
from ...ids import timestamp_of
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..models import Delivery
from ..rules import MAX_WEBHOOKS, DeliveryStatus
from .store_endpoints import Endpoint
from .store_queue import Queue

# Deliveries that are made in one transaction, about: other writers wait meanwhile.
EXPANDED_AT_ONCE = 1_000
# So many events are looked at in one transaction at least: where there were fewer, it was all.
MIN_EVENTS_PER_EXPANSION = EXPANDED_AT_ONCE // MAX_WEBHOOKS

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
    without_account_lock=True,
)
_ADD = Statement(
    lambda dialect: dialect.insert_all(
        Delivery.account_id,
        NEW_DELIVERY,
        "rows",
    ),
    without_account_lock=True,
)


class EventRef(NamedTuple):
    """An event without its envelope."""

    sequence: int
    id: str
    kind: str


class Expanded(NamedTuple):
    """How far deliveries have been made, and the webhooks that got any."""

    queue: Queue
    webhook_ids: set[str]


def expand(
    account_id: str, queue: Queue, endpoints: Sequence[Endpoint], tx: Transaction
) -> Expanded:
    """Makes deliveries of the next events to those who hear of them. Two statements at most.

    The queue is locked.
    """
    if queue.reached <= queue.expanded:
        return Expanded(queue, set())
    listeners = [each for each in endpoints if each.webhook.enabled]
    if not listeners:
        return Expanded(queue._replace(expanded=queue.reached), set())
    most = max(EXPANDED_AT_ONCE // len(listeners), 1)
    events = events_between(account_id, queue.expanded, queue.reached, most, tx)
    # The test of a webhook has a delivery of its own, which is sent at once.
    matches = [
        (endpoint.webhook.id, event)
        for event in events
        if event.kind != EventType.WEBHOOK_TEST
        for endpoint in listeners
        if _is_subscribed(endpoint, event)
    ]
    add_deliveries(account_id, matches, "", tx)
    last = queue.reached if len(events) < most else events[-1].sequence
    return Expanded(queue._replace(expanded=last), {webhook_id for webhook_id, _ in matches})


def _is_subscribed(endpoint: Endpoint, event: EventRef) -> bool:
    types = endpoint.webhook.event_types
    return event.sequence > endpoint.after_sequence and matches_any(event.kind, types)


def events_between(
    account_id: str, after: int, until: int, most: int, tx: Transaction
) -> list[EventRef]:
    """Returns the first events after a place in the sequence, up to another."""
    rows = tx.all(_EVENTS, account_id=account_id, after=after, until=until, limit=most)
    return [EventRef._make(row) for row in rows]


def add_deliveries(
    account_id: str, matches: Iterable[tuple[str, EventRef]], replay_id: str, tx: Transaction
) -> None:
    """Adds deliveries that are due now, of events to webhooks; those that are there stay."""
    pairs = list(matches)
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
            timestamp_of(own_id),
        )
        for own_id, (webhook_id, event) in zip(tx.new_ids(len(pairs)), pairs, strict=True)
    ]
    if rows:
        tx.run(_ADD, account_id=account_id, rows=rows)
