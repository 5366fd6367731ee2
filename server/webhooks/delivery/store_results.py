"""What became of deliveries: noted with the attempt, the next one, and how the endpoint does.

A round of them does that and then takes on what is due, by what it has read already.

Only whoever holds a delivery is heard: one that was taken on by somebody else since, or was
asked for anew, has another fence.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..endpoints.store_reading import WebhookRow
from ..models import SENDING, Delivery, DeliveryAttempt, Webhook
from ..rules import GONE, DeliveryStatus, DisabledReason, Health, wait_after
from .store_endpoints import Endpoint, endpoints_of
from .store_leases import Due, LeaseBatch, lease_due, lease_locked
from .store_queue import Queue, lock_queue_only, put

_FINISH_DELIVERY = Statement(
    lambda _: Delivery.update(
        {
            Delivery.status: param("status"),
            Delivery.attempts: param("attempts"),
            Delivery.step: param("step"),
            Delivery.due_at: param("due_at"),
            Delivery.finished_at: param("finished_at"),
        }
    ).where(
        (Delivery.account_id == param("account_id"))
        & (Delivery.id == param("id"))
        & (Delivery.fence == param("fence"))
        & (Delivery.status == SENDING)
    ),
    without_account_lock=True,
)
_INSERT_ATTEMPTS = Statement(
    lambda dialect: dialect.insert_all(
        DeliveryAttempt.account_id,
        (
            DeliveryAttempt.delivery_id,
            DeliveryAttempt.number,
            DeliveryAttempt.place,
            DeliveryAttempt.webhook_id,
            DeliveryAttempt.started_at,
            DeliveryAttempt.milliseconds,
            DeliveryAttempt.http_status,
            DeliveryAttempt.error,
            DeliveryAttempt.answer,
        ),
        "rows",
    ),
    without_account_lock=True,
)
_SET_HEALTH = Statement(
    lambda _: Webhook.update(
        {
            Webhook.failures: param("failures"),
            Webhook.failing_since: param("failing_since"),
            Webhook.paused_until: param("paused_until"),
        }
    ).where((Webhook.account_id == param("account_id")) & (Webhook.id == param("webhook_id"))),
    without_account_lock=True,
)


class FinishedAttempt(NamedTuple):
    """An attempt that has ended: `http_status` is None without an answer, `error` "" for a success.

    `chance` from 0 to 1 says where within its bounds the next wait lies. `url` is the URL
    of whose endpoint it says how that does; None for the test of a webhook.
    """

    delivery: Due
    started_at: int
    milliseconds: int
    http_status: int | None
    error: str
    response_body: str
    retry_after: float | None
    chance: float
    url: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the endpoint has taken it."""
        return not self.error


class RecordedAttempts(NamedTuple):
    """How many attempts were heard, and the webhooks that are to be disabled."""

    accepted: int
    to_disable: dict[str, DisabledReason]


def run_cycle(
    account_id: str, finished: Sequence[FinishedAttempt], capacity: int, tx: Transaction
) -> tuple[RecordedAttempts, LeaseBatch]:
    """Notes what has ended, and takes on what is due, as far as there is room.

    Not while there are webhooks to be disabled: nothing is to be sent to them any more.
    """
    if not finished:
        return RecordedAttempts(0, {}), lease_due(account_id, tx, capacity)
    queue, accepted = record_locked(account_id, finished, lock_queue_only(account_id, tx), tx)
    to_disable, endpoints = _update_health(account_id, accepted, tx)
    batch = LeaseBatch([], more=True)
    if not to_disable:
        queue, batch = lease_locked(account_id, queue, endpoints, capacity, tx)
    put(account_id, queue, tx)
    return RecordedAttempts(len(accepted), to_disable), batch


def record_attempts(
    account_id: str, finished: Sequence[FinishedAttempt], tx: Transaction
) -> RecordedAttempts:
    """Notes attempts at deliveries of an account, and how their endpoints do."""
    queue, accepted = record_locked(account_id, finished, lock_queue_only(account_id, tx), tx)
    put(account_id, queue, tx)
    to_disable, _ = _update_health(account_id, accepted, tx)
    return RecordedAttempts(len(accepted), to_disable)


def record_locked(
    account_id: str, finished: Sequence[FinishedAttempt], queue: Queue, tx: Transaction
) -> tuple[Queue, list[FinishedAttempt]]:
    """Notes attempts of an account whose queue is locked, and returns those that were heard.

    And what is to be stored of the queue, so that somebody looks at what is left.
    """
    accepted = [attempt for attempt in finished if _finish_delivery(account_id, attempt, tx)]
    rows = [
        (
            attempt.delivery.id,
            attempt.delivery.attempts + 1,
            place,
            attempt.delivery.webhook_id,
            attempt.started_at,
            attempt.milliseconds,
            attempt.http_status,
            attempt.error,
            attempt.response_body,
        )
        for place, attempt in enumerate(accepted, start=queue.attempts + 1)
    ]
    if rows:
        tx.run(_INSERT_ATTEMPTS, account_id=account_id, rows=rows)
    return queue._replace(due_at=tx.now, attempts=queue.attempts + len(accepted)), accepted


def _finish_delivery(account_id: str, attempt: FinishedAttempt, tx: Transaction) -> bool:
    """Notes what became of a delivery. Returns False if somebody else has it by now."""
    delivery = attempt.delivery
    wait = None
    status = DeliveryStatus.SUCCEEDED
    if not attempt.succeeded:
        wait = wait_after(delivery.step, attempt.retry_after, attempt.chance)
        status = DeliveryStatus.FAILED if wait is None else DeliveryStatus.PENDING
    changed = tx.run(
        _FINISH_DELIVERY,
        account_id=account_id,
        id=delivery.id,
        fence=delivery.fence,
        status=status,
        attempts=delivery.attempts + 1,
        step=delivery.step + 1,
        due_at=None if wait is None else tx.now + wait,
        finished_at=tx.now if wait is None else None,
    )
    return changed > 0


def _update_health(
    account_id: str, accepted: Sequence[FinishedAttempt], tx: Transaction
) -> tuple[dict[str, DisabledReason], list[Endpoint]]:
    """Notes how endpoints do after attempts. Returns those that there is no hope for, and all."""
    attempts: dict[str, list[FinishedAttempt]] = defaultdict(list)
    for attempt in accepted:
        attempts[attempt.delivery.webhook_id].append(attempt)
    to_disable, endpoints = {}, []
    for endpoint in endpoints_of(account_id, tx):
        webhook = endpoint.webhook
        own = attempts.get(webhook.id)
        if own is not None:
            health, is_gone = _health_after(own, webhook, tx.now)
            if health != webhook.health:
                known = health._asdict()
                tx.run(_SET_HEALTH, account_id=account_id, webhook_id=webhook.id, **known)
                endpoint = endpoint._replace(webhook=webhook._replace(**known))
            if is_gone:
                to_disable[webhook.id] = DisabledReason.GONE
            elif health.is_failing_too_long(tx.now):
                to_disable[webhook.id] = DisabledReason.FAILING
        endpoints.append(endpoint)
    return to_disable, endpoints


def _health_after(
    attempts: Sequence[FinishedAttempt], webhook: WebhookRow, now: int
) -> tuple[Health, bool]:
    """Returns how an endpoint does after attempts, and whether one was told that it is gone.

    Where it has moved meanwhile, what its old place said says nothing.
    """
    health, is_gone = webhook.health, False
    for attempt in attempts:
        if attempt.url == webhook.url:
            health = Health() if attempt.succeeded else health.failed(now)
            is_gone = is_gone or attempt.http_status == GONE
    return health, is_gone
