"""Creates deliveries from events: one row for each event and each webhook that subscribes to it.

Events are expanded once, in the order of their sequence. The queue stores the last expanded
sequence in the same transaction. A unique index rejects duplicate deliveries.

Events become deliveries some time after they are recorded, by the settings of the webhooks at
that time. So before a webhook is disabled, enabled or subscribed to other event types, its
deliveries of the pending events are created with its settings before the change, and its
`after_sequence` moves behind them. The client waits for this, so the number of events is limited.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from peewee import fn

from ....storage.statements import Statement, param, params
from ....storage.transaction import Transaction
from ....values.ids import timestamp_of
from ...events.models import Event, EventStream
from ...events.rules import EventType, matches_any
from ..endpoints import store_reading as webhooks
from ..endpoints.store_reading import WebhookRow, row_of
from ..models import Delivery, Webhook
from ..rules import MAX_WEBHOOKS, DeliveryState
from .store_queue import HAS_DUE_TIME, IN_ACCOUNT, Queue, QueueStatement, lock, wake

# Deliveries that one transaction creates, approximately. Other writers wait for it.
MAX_NEW_DELIVERIES = 1_000
# A full expansion reads at least this many events. If fewer were read, there are no more.
MIN_EXPANDED_EVENTS = MAX_NEW_DELIVERIES // MAX_WEBHOOKS
# Events that are expanded before a change. Later ones use the settings after the change.
MAX_PENDING_EVENTS = 4 * MAX_NEW_DELIVERIES

# The columns of a new delivery.
NEW_DELIVERY = (
    Delivery.id,
    Delivery.webhook_id,
    Delivery.sequence,
    Delivery.event_id,
    Delivery.event_type,
    Delivery.replay_id,
    Delivery.status,
    Delivery.attempts,
    Delivery.step,
    Delivery.fence,
    Delivery.due_at,
    Delivery.created_at,
)

_FIRST_DUE_AT = Delivery.select(fn.MIN(Delivery.due_at)).where(
    IN_ACCOUNT & (Delivery.webhook_id == Webhook.id) & HAS_DUE_TIME
)
_ENDPOINTS = QueueStatement(
    lambda _: (
        Webhook.select(Webhook.after_sequence, _FIRST_DUE_AT, *webhooks.COLUMNS)
        .where(webhooks.IN_ACCOUNT)
        .order_by(Webhook.account_id, Webhook.id)
    )
)
_EVENTS = QueueStatement(
    lambda _: (
        Event.select(Event.sequence, Event.id, Event.event_type)
        .where(
            (Event.account_id == param("account_id"))
            & (Event.sequence > param("after"))
            & (Event.sequence <= param("until"))
        )
        .order_by(Event.account_id, Event.sequence)
        .limit(param("limit"))
    )
)
_INSERT_ALL = QueueStatement(
    lambda dialect: dialect.insert_all(Delivery.account_id, NEW_DELIVERY, "rows")
)
_SEQUENCES = Statement(
    lambda _: (
        Webhook.select(Webhook.after_sequence, EventStream.sequence)
        .join(EventStream, on=EventStream.account_id == param("account_id"))
        .where(webhooks.ONE)
    )
)
_SET_AFTER_SEQUENCE = Statement(
    lambda _: Webhook.update(params(Webhook.after_sequence)).where(webhooks.ONE)
)


class Endpoint(NamedTuple):
    """A webhook that receives events after `after_sequence` while it is enabled.

    `due_at` is the due time of its next delivery; None if it has none.
    """

    webhook: WebhookRow
    after_sequence: int
    due_at: int | None


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


def endpoints_of(account_id: str, tx: Transaction) -> list[Endpoint]:
    """Returns the endpoints of an account, oldest first."""
    return [
        Endpoint(row_of(webhook), after_sequence, due_at)
        for after_sequence, due_at, *webhook in tx.all(_ENDPOINTS, account_id=account_id)
    ]


def expand(
    account_id: str, queue: Queue, endpoints: Iterable[Endpoint], tx: Transaction
) -> Expansion:
    """Creates deliveries of the next events to enabled endpoints. At most two statements.

    The queue must be locked.
    """
    if queue.last_sequence <= queue.expanded_sequence:
        return Expansion(queue, set())
    enabled = [endpoint for endpoint in endpoints if endpoint.webhook.enabled]
    if not enabled:
        return Expansion(queue._replace(expanded_sequence=queue.last_sequence), set())
    limit = max(MAX_NEW_DELIVERIES // len(enabled), 1)
    events = events_between(account_id, queue.expanded_sequence, queue.last_sequence, limit, tx)
    matches = [
        (endpoint.webhook.id, event)
        for event in events
        for endpoint in enabled
        if event.sequence > endpoint.after_sequence and event.matches(endpoint.webhook.event_types)
    ]
    add_deliveries(account_id, matches, tx)
    expanded = queue.last_sequence if len(events) < limit else events[-1].sequence
    return Expansion(
        queue._replace(expanded_sequence=expanded), {webhook_id for webhook_id, _ in matches}
    )


def expand_pending(account_id: str, webhook: WebhookRow, tx: Transaction) -> None:
    """Creates a webhook's deliveries of at most MAX_PENDING_EVENTS pending events.

    Events recorded while the webhook was disabled are skipped.
    """
    queue = lock(account_id, tx)
    ((after, until),) = tx.all(_SEQUENCES, account_id=account_id, id=webhook.id)
    after = max(after, queue.expanded_sequence)
    if until <= after:
        return
    if webhook.enabled:
        events = events_between(account_id, after, until, MAX_PENDING_EVENTS, tx)
        if len(events) == MAX_PENDING_EVENTS:
            until = events[-1].sequence
        matches = [(webhook.id, event) for event in events if event.matches(webhook.event_types)]
        if matches:
            add_deliveries(account_id, matches, tx)
            wake(account_id, tx)
    tx.run(_SET_AFTER_SEQUENCE, account_id=account_id, id=webhook.id, after_sequence=until)


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
    # Attempts, step and fence are 0.
    state = (replay_id, DeliveryState.PENDING, 0, 0, 0, tx.now)
    rows = [
        (delivery_id, webhook_id, *event, *state, timestamp_of(delivery_id))
        for delivery_id, (webhook_id, event) in zip(tx.new_ids(len(matches)), matches, strict=True)
    ]
    if rows:
        tx.run(_INSERT_ALL, account_id=account_id, rows=rows)
