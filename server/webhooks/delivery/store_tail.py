"""Attempts as they end, for whoever follows them.

Each has a place among those of its account, given under the lock of the queue. So places
become visible in their order, whichever process gives them: whoever has seen one has seen
all before it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from peewee import ModelSelect

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..models import Delivery, DeliveryAttempt, DeliveryQueue, Webhook
from .store_deliveries import ATTEMPT_COLUMNS, COLUMNS, OF_WEBHOOK, AttemptRow, DeliveryRow

# Attempts that are told of at once.
MAX_BATCH = 100


class TailRecord(NamedTuple):
    """An attempt that has ended, and its delivery as it is now."""

    delivery: DeliveryRow
    attempt: AttemptRow


class TailBatch(NamedTuple):
    """Attempts in their order, and the place from which to go on."""

    records: list[TailRecord]
    position: int


def _attempts_query() -> ModelSelect[Any]:
    own = DeliveryAttempt.account_id == param("account_id")
    of_delivery = (Delivery.account_id == param("account_id")) & (
        Delivery.id == DeliveryAttempt.delivery_id
    )
    return (
        DeliveryAttempt.select(DeliveryAttempt.place, *COLUMNS, *ATTEMPT_COLUMNS)
        .join(Delivery, on=of_delivery)
        .join(Webhook, on=OF_WEBHOOK)
        .where(
            own
            & (DeliveryAttempt.place > param("place"))
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
    """Returns the place of the attempt that ended last; 0 if none has."""
    row = tx.one(_LAST_POSITION, account_id=account_id)
    return int(row[0]) if row else 0


def attempts_after(account_id: str, webhook_id: str, position: int, tx: Transaction) -> TailBatch:
    """Returns the next attempts after a place, those at one webhook where one is named.

    One statement where there are none, else two.
    """
    last = last_position(account_id, tx)
    if last <= position:
        return TailBatch([], position)
    rows = tx.all(
        _ATTEMPTS_OF_WEBHOOK if webhook_id else _ATTEMPTS,
        account_id=account_id,
        place=position,
        last_position=last,
        limit=MAX_BATCH,
        **({"webhook_id": webhook_id} if webhook_id else {}),
    )
    records = [_row(values) for _, *values in rows]
    return TailBatch(records, rows[-1][0] if len(rows) == MAX_BATCH else last)


def _row(values: list[Any]) -> TailRecord:
    columns = len(COLUMNS)
    return TailRecord(DeliveryRow._make(values[:columns]), AttemptRow._make(values[columns:]))
