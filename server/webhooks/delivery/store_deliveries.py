"""Deliveries and their attempts as callers see them: those of webhooks that exist."""

from __future__ import annotations

from typing import NamedTuple

from ...errors import WebhookDeliveryNotFound
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..models import SENDING, Delivery, DeliveryAttempt, Webhook
from ..rules import DeliveryStatus
from . import store_queue

# Attempts that are returned with a delivery; each has at most 8 KiB of a response.
MAX_ATTEMPTS = 100


class DeliveryRow(NamedTuple):
    """A delivery as it is stored; times are in milliseconds, and no replay is an empty id.

    `due_at` says when it is tried next as long as it is pending.
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
    """An attempt as it is stored: `http_status` is None without an answer, `error` "" for none."""

    number: int
    started_at: int
    milliseconds: int
    http_status: int | None
    error: str
    answer: str


COLUMNS = tuple(getattr(Delivery, name) for name in DeliveryRow._fields)
ATTEMPT_COLUMNS = tuple(getattr(DeliveryAttempt, name) for name in AttemptRow._fields)
# A delivery is found through its webhook.
OF_WEBHOOK = (Webhook.account_id == param("account_id")) & (Webhook.id == Delivery.webhook_id)
_OWN = Delivery.account_id == param("account_id")

_FIND = Statement(
    lambda _: (
        Delivery.select(*COLUMNS)
        .join(Webhook, on=OF_WEBHOOK)
        .where(_OWN & (Delivery.id == param("id")))
    )
)
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
        {
            Delivery.status: param("status"),
            Delivery.step: param("step"),
            Delivery.due_at: param("due_at"),
            Delivery.finished_at: param("finished_at"),
        }
    ).where(_OWN & (Delivery.id == param("id")) & (Delivery.status != SENDING))
)


def find(account_id: str, delivery_id: str, tx: Transaction) -> DeliveryRow:
    """Returns one delivery. Raises WebhookDeliveryNotFound."""
    row = tx.one(_FIND, account_id=account_id, id=delivery_id)
    if row is None:
        raise WebhookDeliveryNotFound
    return DeliveryRow._make(row)


def attempts_of(account_id: str, delivery_id: str, tx: Transaction) -> list[AttemptRow]:
    """Returns the latest attempts at a delivery, first one first, at most MAX_ATTEMPTS."""
    rows = tx.all(_ATTEMPTS, account_id=account_id, id=delivery_id, limit=MAX_ATTEMPTS)
    return [AttemptRow._make(row) for row in reversed(rows)]


def retry(account_id: str, delivery_id: str, tx: Transaction) -> DeliveryRow:
    """Makes a delivery due at once, with its whole schedule before it, and returns it.

    One that is being sent is left to it. Raises WebhookDeliveryNotFound.
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
