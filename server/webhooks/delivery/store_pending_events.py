"""What a webhook is still to hear of when it changes: what happened before, as it was then.

Events become deliveries some time after they happened, by what their webhooks say at that
time. So a webhook that is about to hear of other things gets its own deliveries of what is
left first, and hears from there on. Callers wait meanwhile, so there is an end to it.
"""

from __future__ import annotations

from ...events.models import EventStream
from ...events.rules import EventType, matches_any
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..endpoints.store_reading import ONE, WebhookRow
from ..models import Webhook
from . import store_queue
from .store_expansion import EXPANDED_AT_ONCE, add_deliveries, events_between

# Events that a webhook hears of before it changes, beyond which it need not wait for more.
EXPANDED_PER_TRANSACTION = 4 * EXPANDED_AT_ONCE

_SEQUENCES = Statement(
    lambda _: (
        Webhook.select(Webhook.after_sequence, EventStream.sequence)
        .join(EventStream, on=EventStream.account_id == param("account_id"))
        .where(ONE)
    )
)
_SET_AFTER_SEQUENCE = Statement(
    lambda _: Webhook.update({Webhook.after_sequence: param("after_sequence")}).where(ONE)
)


def expand_pending(account_id: str, webhook: WebhookRow, tx: Transaction) -> None:
    """Makes a webhook's deliveries of what has happened, so that it may hear of other things.

    What happened while it was disabled is passed over. Of very many events only the first
    are heard now: the others are heard by what the webhook says next.
    """
    queue = store_queue.lock(account_id, tx)
    after, reached = tx.all(_SEQUENCES, account_id=account_id, id=webhook.id)[0]
    after = max(after, queue.expanded)
    if reached <= after:
        return
    if webhook.enabled:
        reached = _expand_range(account_id, webhook, after, reached, tx)
    tx.run(_SET_AFTER_SEQUENCE, account_id=account_id, id=webhook.id, after_sequence=reached)


def _expand_range(
    account_id: str, webhook: WebhookRow, after: int, until: int, tx: Transaction
) -> int:
    """Makes deliveries of the first events of a stretch, and returns how far that goes."""
    events = events_between(account_id, after, until, EXPANDED_PER_TRANSACTION, tx)
    matches = [
        (webhook.id, event)
        for event in events
        if event.kind != EventType.WEBHOOK_TEST and matches_any(event.kind, webhook.event_types)
    ]
    if matches:
        add_deliveries(account_id, matches, "", tx)
        store_queue.wake(account_id, tx)
    return until if len(events) < EXPANDED_PER_TRANSACTION else events[-1].sequence
