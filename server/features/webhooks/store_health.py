"""Reads the health of a webhook from its deliveries and attempts.

Nothing is counted when a delivery ends, so the numbers are those of the rows, also after a process
was killed. At most MAX_COUNTED rows are read for each of them, in the order of an index, so the
time does not depend on the history (`make bench-scale`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from peewee import SQL, Select, fn

from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ...values.ids import timestamp_of
from .delivery.store_queue import HAS_DUE_TIME, TO_WEBHOOK
from .endpoints.store_reading import WebhookRow, find
from .models import PENDING, Delivery, DeliveryAttempt

# Milliseconds in which attempts are counted.
PERIOD = 24 * 3_600_000
# The maximum number of attempts, and of pending deliveries, that are counted.
MAX_COUNTED = 10_000
# Attempts that are returned.
MAX_ATTEMPTS = 50

_OF_WEBHOOK = (DeliveryAttempt.account_id == param("account_id")) & (
    DeliveryAttempt.webhook_id == param("webhook_id")
)


class HealthState(IntEnum):
    """State of a webhook, with the numbers of WebhookHealth.State."""

    HEALTHY = 1
    FAILING = 2
    PAUSED = 3
    DISABLED = 4


class LatestAttempt(NamedTuple):
    """A stored attempt. `http_status` is None without a response, `error` empty on success."""

    delivery_id: str
    number: int
    started_at: int
    duration_ms: int
    http_status: int | None
    error: str


class HealthReport(NamedTuple):
    """The health of a webhook. Times are in milliseconds.

    `succeeded` and `failed` count the latest attempts of the last PERIOD, the first of which
    started at `counted_since`, and `waiting` counts the oldest pending deliveries. `attempts` are
    the latest ones, newest first.
    """

    webhook: WebhookRow
    state: HealthState
    succeeded: int
    failed: int
    counted_since: int | None
    waiting: int
    oldest_waiting_at: int | None
    next_attempt_at: int | None
    attempts: list[LatestAttempt]

    @property
    def last_failure(self) -> LatestAttempt | None:
        """The last failed attempt while the webhook is failing."""
        if self.webhook.failing_since is None:
            return None
        return next((attempt for attempt in self.attempts if attempt.error), None)


def _count_attempts(_: Dialect) -> Select:
    latest = (
        DeliveryAttempt.select(DeliveryAttempt.started_at, DeliveryAttempt.error)
        .where(_OF_WEBHOOK & (DeliveryAttempt.started_at > param("since")))
        .order_by(DeliveryAttempt.started_at.desc())
        .limit(param("limit"))
        .alias("latest")
    )
    error = fn.NULLIF(latest.c.error, SQL("''"))
    return Select([latest], [fn.COUNT(SQL("*")), fn.COUNT(error), fn.MIN(latest.c.started_at)])


def _count_waiting(_: Dialect) -> Select:
    oldest = (
        Delivery.select(Delivery.id)
        .where(TO_WEBHOOK & (Delivery.status == PENDING))
        .order_by(Delivery.id)
        .limit(param("limit"))
        .alias("oldest")
    )
    return Select([oldest], [fn.COUNT(SQL("*")), fn.MIN(oldest.c.id)])


_COUNT_ATTEMPTS = Statement(_count_attempts)
_COUNT_WAITING = Statement(_count_waiting)
_LATEST_ATTEMPTS = Statement(
    lambda _: (
        DeliveryAttempt.select(*(getattr(DeliveryAttempt, name) for name in LatestAttempt._fields))
        .where(_OF_WEBHOOK)
        .order_by(DeliveryAttempt.started_at.desc())
        .limit(param("limit"))
    )
)
_NEXT_DUE_AT = Statement(
    lambda _: (
        Delivery.select(Delivery.due_at)
        .where(TO_WEBHOOK & HAS_DUE_TIME & (Delivery.status == PENDING))
        .order_by(Delivery.due_at)
        .limit(SQL("1"))
    )
)


def health(account_id: str, webhook_id: str, tx: Transaction) -> HealthReport:
    """Returns the health of a webhook. Raises WebhookNotFound. Five statements."""
    webhook = find(account_id, webhook_id, tx)
    of_webhook = {"account_id": account_id, "webhook_id": webhook_id}
    ((number, failed, since),) = tx.all(
        _COUNT_ATTEMPTS, **of_webhook, since=tx.now - PERIOD, limit=MAX_COUNTED
    )
    ((waiting, oldest),) = tx.all(_COUNT_WAITING, **of_webhook, limit=MAX_COUNTED)
    due_at = tx.scalar(_NEXT_DUE_AT, **of_webhook) if webhook.enabled else None
    latest = tx.all(_LATEST_ATTEMPTS, **of_webhook, limit=MAX_ATTEMPTS)
    return HealthReport(
        webhook,
        _state(webhook, tx.now),
        succeeded=number - failed,
        failed=failed,
        counted_since=since,
        waiting=waiting,
        oldest_waiting_at=timestamp_of(oldest) if oldest else None,
        next_attempt_at=None if due_at is None else max(due_at, webhook.paused_until),
        attempts=[LatestAttempt._make(row) for row in latest],
    )


def _state(webhook: WebhookRow, now: int) -> HealthState:
    if not webhook.enabled:
        return HealthState.DISABLED
    if webhook.failing_since is None:
        return HealthState.HEALTHY
    return HealthState.PAUSED if webhook.paused_until > now else HealthState.FAILING
