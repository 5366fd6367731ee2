"""Creates deliveries from events: one row for each event and each webhook that subscribes to it.

Events are expanded once, in the order of their sequence. The queue stores the last expanded
sequence in the same transaction. A unique index rejects duplicate deliveries.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from ....storage.statements import Statement, param
from ....storage.transaction import Transaction
from ....values.ids import timestamp_of
from ...events.models import Event
from ...events.rules import EventType, matches_any
from ..models import Delivery
from ..rules import MAX_WEBHOOKS, DeliveryStatus
from .store_endpoints import Endpoint
from .store_queue import Queue

# Deliveries that one transaction creates, approximately. Other writers wait for it.
MAX_NEW_DELIVERIES = 1_000
# A full expansion reads at least this many events. If fewer were read, there are no more.
MIN_EXPANDED_EVENTS = MAX_NEW_DELIVERIES // MAX_WEBHOOKS

# The columns of a new delivery.
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
_INSERT_ALL = Statement(
    lambda dialect: dialect.insert_all(Delivery.account_id, NEW_DELIVERY, "rows"),
    without_account_lock=True,
)


class EventRef(NamedTuple):
    """An event without its envelope."""

    sequence: int
    id: str
    event_type: str

    def matches(self, patterns: Collection[str]) -> bool:
        """Whether the event is delivered to webhooks that subscribe to `patterns`.

        The event of a test delivery never is: the test creates its own delivery.
        """
        is_test = self.event_type == EventType.WEBHOOK_TEST
        return not is_test and matches_any(self.event_type, patterns)


class Expansion(NamedTuple):
    """The queue after an expansion, and the webhooks that have new deliveries."""

    queue: Queue
    webhook_ids: set[str]


def expand(
    account_id: str, queue: Queue, endpoints: Sequence[Endpoint], tx: Transaction
) -> Expansion:
    """Creates deliveries of the next events to enabled endpoints. At most two statements.

    The queue must be locked.
    """
    if queue.last_sequence <= queue.expanded:
        return Expansion(queue, set())
    enabled = [endpoint for endpoint in endpoints if endpoint.webhook.enabled]
    if not enabled:
        return Expansion(queue._replace(expanded=queue.last_sequence), set())
    limit = max(MAX_NEW_DELIVERIES // len(enabled), 1)
    events = events_between(account_id, queue.expanded, queue.last_sequence, limit, tx)
    matches = [
        (endpoint.webhook.id, event)
        for event in events
        for endpoint in enabled
        if event.sequence > endpoint.after_sequence and event.matches(endpoint.webhook.event_types)
    ]
    add_deliveries(account_id, matches, tx)
    expanded = queue.last_sequence if len(events) < limit else events[-1].sequence
    return Expansion(queue._replace(expanded=expanded), {webhook_id for webhook_id, _ in matches})


def events_between(
    account_id: str, after: int, until: int, limit: int, tx: Transaction
) -> list[EventRef]:
    """Returns the first events of a range of the sequence, excluding `after`."""
    rows = tx.all(_EVENTS, account_id=account_id, after=after, until=until, limit=limit)
    return [EventRef._make(row) for row in rows]


def add_deliveries(
    account_id: str, matches: Sequence[tuple[str, EventRef]], tx: Transaction, replay_id: str = ""
) -> None:
    """Creates deliveries of events to webhooks, due now. Existing deliveries are not changed."""
    rows = [
        (
            delivery_id,
            webhook_id,
            *event,
            replay_id,
            DeliveryStatus.PENDING,
            0,
            0,
            0,
            tx.now,
            timestamp_of(delivery_id),
        )
        for delivery_id, (webhook_id, event) in zip(tx.new_ids(len(matches)), matches, strict=True)
    ]
    if rows:
        tx.run(_INSERT_ALL, account_id=account_id, rows=rows)
