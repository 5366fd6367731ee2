"""Creates the deliveries of replays, which deliver past events to a webhook again.

A replay is an operation, which creates its deliveries in steps, only while few deliveries to the
webhook are due. So new events do not wait behind a long replay, and a replay to a disabled webhook
needs little space.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from peewee import SQL, fn

from ....storage.statements import Statement, param
from ....storage.transaction import Transaction
from ...events.store_reading import sequence_range
from ...operations import store as operations
from ...operations.rules import ReplayRequest
from ..endpoints.store_reading import find
from ..models import FAILED, Delivery, Webhook
from .store_expansion import EventRef, add_deliveries, events_between
from .store_queue import DUE, OF_WEBHOOK, TO_WEBHOOK, QueueStatement, wake

# Replays to a webhook with more due deliveries than this wait.
MAX_DUE = 100


class ReplayFilter(NamedTuple):
    """The events to replay: IDs from `first_id` until before `end_id`; None is no end.

    `stored` is the JSON of Operation.Replay. Without event types it selects those that the webhook
    subscribes to.
    """

    first_id: str
    end_id: str | None
    stored: dict[str, Any]


# Reads one row beyond the limit instead of counting. A replay to a deleted webhook does not wait.
_MORE_DUE_THAN_MAX = Statement(
    lambda _: (
        Delivery.select(Delivery.id)
        .join(Webhook, on=OF_WEBHOOK)
        .where(TO_WEBHOOK & DUE)
        .order_by(Delivery.account_id, Delivery.webhook_id, Delivery.due_at, Delivery.id)
        .limit(SQL("1"))
        .offset(param("max_due"))
    )
)
_FAILED = QueueStatement(
    lambda _: (
        Delivery.select(Delivery.sequence)
        .where(
            TO_WEBHOOK
            & (Delivery.sequence >= param("first"))
            & (Delivery.sequence <= param("last"))
        )
        .group_by(Delivery.sequence)
        # FAILED is the greatest status, so the least one is FAILED only if all are.
        .having(fn.MIN(Delivery.status) == FAILED)
    )
)


def create(
    account_id: str, replay_filter: ReplayFilter, tx: Transaction
) -> operations.OperationRow:
    """Stores the operation of a replay. Raises WebhookNotFound or OperationLimitReached."""
    replay = replay_filter.stored
    webhook = find(account_id, replay["webhookId"], tx)
    event_types = replay["eventTypes"] or list(webhook.event_types)
    events = sequence_range(account_id, replay_filter.first_id, replay_filter.end_id, tx)
    request = ReplayRequest({**replay, "eventTypes": event_types}, events.until)
    return operations.create_replay(account_id, request, events.after, tx)


class ReplayStore:
    """Implements `operations.replays.Replays`."""

    def is_waiting(self, account_id: str, webhook_id: str, tx: Transaction) -> bool:
        values = {"account_id": account_id, "webhook_id": webhook_id}
        return tx.one(_MORE_DUE_THAN_MAX, **values, now=tx.now, max_due=MAX_DUE) is not None

    def deliver(
        self,
        account_id: str,
        operation_id: str,
        request: ReplayRequest,
        after: int,
        until: int,
        tx: Transaction,
    ) -> int:
        webhook_id = request.webhook_id
        find(account_id, webhook_id, tx)
        # The deletion of the webhook waits for the queue.
        wake(account_id, tx)
        events = _matching_events(account_id, request, after, until, tx)
        add_deliveries(account_id, [(webhook_id, event) for event in events], tx, operation_id)
        return len(events)


def _matching_events(
    account_id: str, request: ReplayRequest, after: int, until: int, tx: Transaction
) -> list[EventRef]:
    events = events_between(account_id, after, until, until - after, tx)
    event_types = request.replay["eventTypes"]
    matches = [event for event in events if event.matches(event_types)]
    if not (matches and request.replay["onlyFailed"]):
        return matches
    rows = tx.all(
        _FAILED,
        account_id=account_id,
        webhook_id=request.webhook_id,
        first=matches[0].sequence,
        last=matches[-1].sequence,
    )
    failed = {sequence for (sequence,) in rows}
    return [event for event in matches if event.sequence in failed]
