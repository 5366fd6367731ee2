"""Stores the results of attempts, the next attempts, and the health of the endpoints.

A result is accepted only with the current fence: it is rejected if the delivery was leased
again or retried by a client in the meantime. Endpoints that keep failing are disabled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

from ....storage.statements import Statement, params
from ....storage.transaction import Transaction
from ...events.rules import Change, EventType
from ...events.store import record
from ..endpoints.store_reading import ONE, WebhookRow, find_or_none
from ..models import Delivery, DeliveryAttempt, Webhook
from ..rules import GONE, DeliveryState, DisabledReason, Health, retry_delay
from .store_expansion import Endpoint, endpoints_of
from .store_leases import Lease, LeaseBatch, lease_due
from .store_queue import (
    LEASED,
    Queue,
    QueueStatement,
    lock,
    lock_if_free,
    lock_queue_only,
    put,
    wake,
)

_FINISH_DELIVERY = QueueStatement(
    lambda _: Delivery.update(
        params(
            Delivery.status,
            Delivery.attempts,
            Delivery.step,
            Delivery.due_at,
            Delivery.finished_at,
        )
    ).where(LEASED)
)
_INSERT_ATTEMPTS = QueueStatement(
    lambda dialect: dialect.insert_all(
        DeliveryAttempt.account_id,
        (
            DeliveryAttempt.delivery_id,
            DeliveryAttempt.number,
            DeliveryAttempt.position,
            DeliveryAttempt.webhook_id,
            DeliveryAttempt.started_at,
            DeliveryAttempt.duration_ms,
            DeliveryAttempt.http_status,
            DeliveryAttempt.error,
            DeliveryAttempt.response_body,
            DeliveryAttempt.request_headers,
            DeliveryAttempt.next_attempt_at,
        ),
        "rows",
    )
)
_SET_HEALTH = QueueStatement(
    lambda _: Webhook.update(
        params(Webhook.failures, Webhook.failing_since, Webhook.paused_until)
    ).where(ONE)
)
_DISABLE = Statement(
    lambda _: Webhook.update(
        params(Webhook.enabled, Webhook.disabled_reason, Webhook.updated_at)
    ).where(ONE)
)


class FinishedAttempt(NamedTuple):
    """The result of an attempt. `http_status` is None without a response, `error` empty on success.

    `random` is a number from 0 to 1 that places the next attempt within its bounds. `url` is
    the endpoint whose health the result changes; None for a test delivery. `request_headers` is a
    JSON object, or empty.
    """

    delivery: Lease
    started_at: int
    milliseconds: int
    http_status: int | None
    error: str
    response_body: str
    retry_after: float | None
    random: float
    url: str | None = None
    request_headers: str = ""

    @property
    def succeeded(self) -> bool:
        return not self.error

    def next_attempt_at(self, now: int) -> int | None:
        """Returns the time of the next attempt, or None if it succeeded or was the last one."""
        if self.succeeded:
            return None
        delay = retry_delay(self.delivery.step, self.retry_after, self.random)
        return None if delay is None else now + delay


class RecordedAttempts(NamedTuple):
    """The number of accepted results, and the webhooks to disable."""

    accepted: int
    to_disable: dict[str, DisabledReason]


def run_cycle(
    account_id: str, finished: Sequence[FinishedAttempt], capacity: int, tx: Transaction
) -> tuple[RecordedAttempts, LeaseBatch]:
    """Stores results and leases due deliveries within the capacity.

    Leases nothing while there are webhooks to disable. Without results, does nothing if another
    process has locked the queue.
    """
    before = lock_queue_only(account_id, tx) if finished else lock_if_free(account_id, tx)
    if before is None:
        return RecordedAttempts(0, {}), LeaseBatch([], more=False)
    queue, recorded, endpoints = _record(account_id, finished, before, tx)
    batch = LeaseBatch([], more=True)
    if not recorded.to_disable:
        queue, batch = lease_due(account_id, queue, endpoints, capacity, tx)
    if queue != before:
        put(account_id, queue, tx)
    return recorded, batch


def record_attempts(
    account_id: str, finished: Sequence[FinishedAttempt], tx: Transaction
) -> RecordedAttempts:
    """Stores results and the health of their endpoints."""
    queue, recorded, _ = _record(account_id, finished, lock_queue_only(account_id, tx), tx)
    put(account_id, queue, tx)
    return recorded


def _record(
    account_id: str, finished: Sequence[FinishedAttempt], queue: Queue, tx: Transaction
) -> tuple[Queue, RecordedAttempts, list[Endpoint]]:
    """Stores results under the lock of the queue. Returns the queue to store, and all endpoints.

    After a result the queue is due now, so the next dispatch cycle reads it.
    """
    accepted = [attempt for attempt in finished if _finish_delivery(account_id, attempt, tx)]
    rows = [
        (
            attempt.delivery.id,
            attempt.delivery.attempts + 1,
            position,
            attempt.delivery.webhook_id,
            attempt.started_at,
            attempt.milliseconds,
            attempt.http_status,
            attempt.error,
            attempt.response_body,
            attempt.request_headers,
            attempt.next_attempt_at(tx.now),
        )
        for position, attempt in enumerate(accepted, start=queue.attempts + 1)
    ]
    if rows:
        tx.run(_INSERT_ATTEMPTS, account_id=account_id, rows=rows)
    if finished:
        queue = queue._replace(due_at=tx.now, attempts=queue.attempts + len(accepted))
    to_disable, endpoints = _update_health(account_id, accepted, tx)
    return queue, RecordedAttempts(len(accepted), to_disable), endpoints


def _finish_delivery(account_id: str, attempt: FinishedAttempt, tx: Transaction) -> bool:
    """Stores the result of a delivery. Returns False if its lease has ended."""
    delivery, due_at = attempt.delivery, attempt.next_attempt_at(tx.now)
    status = DeliveryState.SUCCEEDED if attempt.succeeded else DeliveryState.FAILED
    if due_at is not None:
        status = DeliveryState.PENDING
    changed = tx.run(
        _FINISH_DELIVERY,
        account_id=account_id,
        id=delivery.id,
        fence=delivery.fence,
        status=status,
        attempts=delivery.attempts + 1,
        step=delivery.step + 1,
        due_at=due_at,
        finished_at=tx.now if due_at is None else None,
    )
    return changed > 0


def _update_health(
    account_id: str, accepted: Sequence[FinishedAttempt], tx: Transaction
) -> tuple[dict[str, DisabledReason], list[Endpoint]]:
    """Stores the health of endpoints; returns the webhooks to disable, and all endpoints."""
    attempts: dict[str, list[FinishedAttempt]] = defaultdict(list)
    for attempt in accepted:
        attempts[attempt.delivery.webhook_id].append(attempt)
    to_disable, endpoints = {}, []
    for endpoint in endpoints_of(account_id, tx):
        webhook = endpoint.webhook
        if webhook.id in attempts:
            health, is_gone = _health_after(attempts[webhook.id], webhook, tx.now)
            if health != webhook.health:
                tx.run(_SET_HEALTH, account_id=account_id, id=webhook.id, **health._asdict())
                endpoint = endpoint._replace(webhook=webhook._replace(**health._asdict()))
            if is_gone:
                to_disable[webhook.id] = DisabledReason.GONE
            elif health.is_failing_too_long(tx.now):
                to_disable[webhook.id] = DisabledReason.FAILING
        endpoints.append(endpoint)
    return to_disable, endpoints


def _health_after(
    attempts: Sequence[FinishedAttempt], webhook: WebhookRow, now: int
) -> tuple[Health, bool]:
    """Returns the health of an endpoint after attempts, and whether it has responded 410 Gone.

    Attempts at an earlier URL of the webhook do not count.
    """
    health, is_gone = webhook.health, False
    for attempt in attempts:
        if attempt.url == webhook.url:
            health = Health() if attempt.succeeded else health.after_failure(now)
            is_gone = is_gone or attempt.http_status == GONE
    return health, is_gone


def end_pause(account_id: str, webhook: WebhookRow, tx: Transaction) -> WebhookRow:
    """Ends the pause of an endpoint and returns the webhook; the queue must be locked.

    Its failures still count: one delivery is sent, and if that fails, a longer pause begins.
    """
    if webhook.paused_until <= tx.now:
        return webhook
    health = webhook.health._replace(paused_until=tx.now)
    tx.run(_SET_HEALTH, account_id=account_id, id=webhook.id, **health._asdict())
    wake(account_id, tx)
    return webhook._replace(**health._asdict())


def disable(account_id: str, webhook_id: str, reason: DisabledReason, tx: Transaction) -> None:
    """Disables a failing webhook, and records the event. Its pending deliveries stay pending.

    Does nothing if the webhook was disabled or deleted, or if a change of its URL or enabling it
    has reset its failures.
    """
    lock(account_id, tx)
    before = find_or_none(account_id, webhook_id, tx)
    if before is None or not before.enabled or not before.failures:
        return
    changes: dict[str, Any] = {
        "enabled": False,
        "disabled_reason": int(reason),
        "updated_at": tx.now,
    }
    tx.run(_DISABLE, account_id=account_id, id=webhook_id, **changes)
    change = Change(EventType.WEBHOOK_DISABLED, before, before._replace(**changes))
    record(account_id, [change], tx)
