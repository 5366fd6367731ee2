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
TOLD_AT_ONCE = 100


class Ended(NamedTuple):
    """An attempt that has ended, and its delivery as it is now."""

    delivery: DeliveryRow
    attempt: AttemptRow


class Piece(NamedTuple):
    """Attempts in their order, and the place from which to go on."""

    ended: list[Ended]
    place: int


def _ended() -> ModelSelect[Any]:
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
            & (DeliveryAttempt.place <= param("reached"))
        )
        .order_by(DeliveryAttempt.account_id, DeliveryAttempt.place)
        .limit(param("limit"))
    )


_REACHED = Statement(
    lambda _: DeliveryQueue.select(DeliveryQueue.attempts).where(
        DeliveryQueue.account_id == param("account_id")
    )
)
_ENDED = Statement(lambda _: _ended())
_ENDED_OF_ONE = Statement(
    lambda _: _ended().where(DeliveryAttempt.webhook_id == param("webhook_id"))
)


def reached(account_id: str, tx: Transaction) -> int:
    """Returns the place of the attempt that ended last; 0 if none has."""
    row = tx.one(_REACHED, account_id=account_id)
    return int(row[0]) if row else 0


def ended_after(account_id: str, webhook_id: str, place: int, tx: Transaction) -> Piece:
    """Returns the next attempts after a place, those at one webhook where one is named.

    One statement where there are none, else two.
    """
    last = reached(account_id, tx)
    if last <= place:
        return Piece([], place)
    rows = tx.all(
        _ENDED_OF_ONE if webhook_id else _ENDED,
        account_id=account_id,
        place=place,
        reached=last,
        limit=TOLD_AT_ONCE,
        **({"webhook_id": webhook_id} if webhook_id else {}),
    )
    ended = [_row(values) for _, *values in rows]
    return Piece(ended, rows[-1][0] if len(rows) == TOLD_AT_ONCE else last)


def _row(values: list[Any]) -> Ended:
    columns = len(COLUMNS)
    return Ended(DeliveryRow._make(values[:columns]), AttemptRow._make(values[columns:]))
