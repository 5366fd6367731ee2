"""Reads and retries deliveries of existing webhooks, with their attempts."""

from __future__ import annotations

from typing import NamedTuple

from ....rpc.errors import WebhookDeliveryNotFound
from ....storage.statements import Statement, param, params
from ....storage.transaction import Transaction
from ..models import SENDING, Delivery, DeliveryAttempt, Webhook
from ..rules import DeliveryStatus
from . import store_queue
from .store_conditions import OF_WEBHOOK, ONE

# Attempts that are returned with a delivery; each has at most 8 KiB of a response.
MAX_ATTEMPTS = 100


class DeliveryRow(NamedTuple):
    """A stored delivery. Times are in milliseconds; `replay_id` is empty outside of replays.

    While the delivery is pending, `due_at` is the time of the next attempt.
    """

    id: str
    webhook_id: str
    event_id: str
    kind: str
    status: int
    attempts: int
    due_at: int | None
    replay_id: str
    created_at: int
    finished_at: int | None


class AttemptRow(NamedTuple):
    """A stored attempt. `http_status` is None without a response, `error` empty on success."""

    number: int
    started_at: int
    milliseconds: int
    http_status: int | None
    error: str
    answer: str


COLUMNS = tuple(getattr(Delivery, name) for name in DeliveryRow._fields)
ATTEMPT_COLUMNS = tuple(getattr(DeliveryAttempt, name) for name in AttemptRow._fields)

_FIND = Statement(lambda _: Delivery.select(*COLUMNS).join(Webhook, on=OF_WEBHOOK).where(ONE))
_ATTEMPTS = Statement(
    lambda _: (
        DeliveryAttempt.select(*ATTEMPT_COLUMNS)
        .where(
            (DeliveryAttempt.account_id == param("account_id"))
            & (DeliveryAttempt.delivery_id == param("id"))
        )
        .order_by(
            DeliveryAttempt.account_id.desc(),
            DeliveryAttempt.delivery_id.desc(),
            DeliveryAttempt.number.desc(),
        )
        .limit(param("limit"))
    )
)
_RETRY = Statement(
    lambda _: Delivery.update(
        params(Delivery.status, Delivery.step, Delivery.due_at, Delivery.finished_at)
    ).where(ONE & (Delivery.status != SENDING))
)


def find(account_id: str, delivery_id: str, tx: Transaction) -> DeliveryRow:
    """Returns one delivery. Raises WebhookDeliveryNotFound."""
    row = tx.one(_FIND, account_id=account_id, id=delivery_id)
    if row is None:
        raise WebhookDeliveryNotFound
    return DeliveryRow._make(row)


def attempts_of(account_id: str, delivery_id: str, tx: Transaction) -> list[AttemptRow]:
    """Returns the last MAX_ATTEMPTS attempts of a delivery, oldest first."""
    rows = tx.all(_ATTEMPTS, account_id=account_id, id=delivery_id, limit=MAX_ATTEMPTS)
    return [AttemptRow._make(row) for row in reversed(rows)]


def retry(account_id: str, delivery_id: str, tx: Transaction) -> DeliveryRow:
    """Makes a delivery due now, restarts its retry schedule, and returns it.

    A delivery that is being sent is not changed. Raises WebhookDeliveryNotFound.
    """
    find(account_id, delivery_id, tx)
    store_queue.wake(account_id, tx)
    tx.run(
        _RETRY,
        account_id=account_id,
        id=delivery_id,
        status=DeliveryStatus.PENDING,
        step=0,
        due_at=tx.now,
        finished_at=None,
    )
    return find(account_id, delivery_id, tx)
