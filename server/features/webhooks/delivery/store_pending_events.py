"""Expands pending events for a webhook before it changes, with its settings before the change.

Events become deliveries some time after they are recorded, by the settings of the webhooks at
that time. So before a webhook is disabled, enabled or subscribed to other event types, its
deliveries of the pending events are created, and its `after_sequence` moves behind them. The
client waits for this, so the number of events is limited.
"""

from __future__ import annotations

from ....storage.statements import Statement, param, params
from ....storage.transaction import Transaction
from ...events.models import EventStream
from ..endpoints.store_reading import ONE, WebhookRow
from ..models import Webhook
from . import store_queue
from .store_expansion import MAX_NEW_DELIVERIES, add_deliveries, events_between

# Events that are expanded before a change. Later ones use the settings after the change.
MAX_PENDING_EVENTS = 4 * MAX_NEW_DELIVERIES

_SEQUENCES = Statement(
    lambda _: (
        Webhook.select(Webhook.after_sequence, EventStream.sequence)
        .join(EventStream, on=EventStream.account_id == param("account_id"))
        .where(ONE)
    )
)
_SET_AFTER_SEQUENCE = Statement(lambda _: Webhook.update(params(Webhook.after_sequence)).where(ONE))


def expand_pending(account_id: str, webhook: WebhookRow, tx: Transaction) -> None:
    """Creates a webhook's deliveries of at most MAX_PENDING_EVENTS pending events.

    Events recorded while the webhook was disabled are skipped.
    """
    queue = store_queue.lock(account_id, tx)
    ((after, until),) = tx.all(_SEQUENCES, account_id=account_id, id=webhook.id)
    after = max(after, queue.expanded)
    if until <= after:
        return
    if webhook.enabled:
        events = events_between(account_id, after, until, MAX_PENDING_EVENTS, tx)
        if len(events) == MAX_PENDING_EVENTS:
            until = events[-1].sequence
        matches = [(webhook.id, event) for event in events if event.matches(webhook.event_types)]
        if matches:
            add_deliveries(account_id, matches, tx)
            store_queue.wake(account_id, tx)
    tx.run(_SET_AFTER_SEQUENCE, account_id=account_id, id=webhook.id, after_sequence=until)
