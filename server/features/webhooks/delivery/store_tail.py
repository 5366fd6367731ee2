"""Reads attempts in the order in which they finish.

Each attempt of an account has a position, assigned under the lock of the queue. So positions
become visible in ascending order, and a reader that continues after the last position it has
read misses no attempt.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from peewee import ModelSelect

from ....storage.statements import Statement, param
from ....storage.transaction import Transaction
from ..models import Delivery, DeliveryAttempt, DeliveryQueue, Webhook
from .store_conditions import IN_ACCOUNT, OF_WEBHOOK
from .store_deliveries import ATTEMPT_COLUMNS, COLUMNS, AttemptRow, DeliveryRow

# Attempts that are read at a time.
MAX_BATCH = 100


class TailRecord(NamedTuple):
    """A finished attempt, and its delivery as it is now."""

    delivery: DeliveryRow
    attempt: AttemptRow


class TailBatch(NamedTuple):
    """Attempts in order, and the position to continue after."""

    records: list[TailRecord]
    position: int


def _attempts_query() -> ModelSelect[Any]:
    return (
        DeliveryAttempt.select(DeliveryAttempt.place, *COLUMNS, *ATTEMPT_COLUMNS)
        .join(Delivery, on=IN_ACCOUNT & (Delivery.id == DeliveryAttempt.delivery_id))
        .join(Webhook, on=OF_WEBHOOK)
        .where(
            (DeliveryAttempt.account_id == param("account_id"))
            & (DeliveryAttempt.place > param("position"))
            & (DeliveryAttempt.place <= param("last_position"))
        )
        .order_by(DeliveryAttempt.account_id, DeliveryAttempt.place)
        .limit(param("limit"))
    )


_LAST_POSITION = Statement(
    lambda _: DeliveryQueue.select(DeliveryQueue.attempts).where(
        DeliveryQueue.account_id == param("account_id")
    )
)
_ATTEMPTS = Statement(lambda _: _attempts_query())
_ATTEMPTS_OF_WEBHOOK = Statement(
    lambda _: _attempts_query().where(DeliveryAttempt.webhook_id == param("webhook_id"))
)


def last_position(account_id: str, tx: Transaction) -> int:
    """Returns the position of the last finished attempt, or 0."""
    return tx.scalar(_LAST_POSITION, account_id=account_id) or 0


def attempts_after(
    account_id: str, webhook_id: str, position: int, limit: int, tx: Transaction
) -> TailBatch:
    """Returns the next attempts after a position, of one webhook unless `webhook_id` is empty.

    One statement if there are none, otherwise two.
    """
    last = last_position(account_id, tx)
    if last <= position:
        return TailBatch([], position)
    rows = tx.all(
        _ATTEMPTS_OF_WEBHOOK if webhook_id else _ATTEMPTS,
        account_id=account_id,
        webhook_id=webhook_id,
        position=position,
        last_position=last,
        limit=limit,
    )
    records = []
    for place, *values in rows:
        delivery, attempt = values[: len(COLUMNS)], values[len(COLUMNS) :]
        records.append(TailRecord(DeliveryRow._make(delivery), AttemptRow._make(attempt)))
        position = place
    return TailBatch(records, position if len(records) == limit else last)
