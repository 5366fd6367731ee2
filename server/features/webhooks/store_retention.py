"""Deletes old attempts, and old events with their deliveries.

Rows are stored oldest first, so the first rows show whether there is anything to delete. A
delivery is deleted with its event, regardless of its state, because there is nothing left to send.
"""

from __future__ import annotations

from typing import NamedTuple

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.ids import first_id_at
from ..events.models import Event
from .delivery.store_queue import IN_ACCOUNT, QueueStatement, lock_queue_only
from .endpoints import store_reading as webhooks
from .models import Delivery, DeliveryAttempt

# Retention of attempts, and of everything else, in milliseconds.
ATTEMPT_RETENTION = 14 * 24 * 3_600_000
EVENT_RETENTION = 30 * 24 * 3_600_000


class PurgeLimits(NamedTuple):
    """The events and other rows that one transaction deletes. An event can have many deliveries."""

    events: int = 100
    rows: int = 500


_LIMITS = PurgeLimits()
_OF_EVENT = Event.account_id == param("account_id")
_OF_ATTEMPT = DeliveryAttempt.account_id == param("account_id")

_OLDEST_EVENTS = QueueStatement(
    lambda _: (
        Event.select(Event.sequence, Event.created_at)
        .where(_OF_EVENT)
        .order_by(Event.account_id, Event.sequence)
        .limit(param("limit"))
    )
)
_OLDEST_ATTEMPTS = QueueStatement(
    lambda _: (
        DeliveryAttempt.select(DeliveryAttempt.position, DeliveryAttempt.started_at)
        .where(_OF_ATTEMPT)
        .order_by(DeliveryAttempt.account_id, DeliveryAttempt.position)
        .limit(param("limit"))
    )
)
_OLD_DELIVERIES = QueueStatement(
    lambda _: (
        Delivery.select(Delivery.id)
        .where(IN_ACCOUNT & (Delivery.id < param("end_id")))
        .order_by(Delivery.account_id, Delivery.id)
        .limit(param("limit"))
    )
)
_PURGE_ATTEMPTS = QueueStatement(
    lambda _: DeliveryAttempt.delete().where(
        _OF_ATTEMPT & (DeliveryAttempt.position <= param("last"))
    )
)
_PURGE_EVENTS = QueueStatement(
    lambda _: Event.delete().where(_OF_EVENT & (Event.sequence <= param("last")))
)
# The subquery makes SQLite find the IDs with the index of sequences. Otherwise it reads all
# deliveries of the account.
_PURGE_DELIVERIES_OF_EVENTS = QueueStatement(
    lambda dialect: Delivery.delete().where(
        IN_ACCOUNT
        & dialect.within(
            Delivery.id,
            Delivery.select(Delivery.id).where(
                IN_ACCOUNT
                & dialect.within(Delivery.webhook_id, webhooks.IDS)
                & (Delivery.sequence <= param("last"))
            ),
        )
    )
)
_PURGE_DELIVERIES = QueueStatement(
    lambda dialect: Delivery.delete().where(IN_ACCOUNT & dialect.any_of(Delivery.id, "ids"))
)


def has_old(account_id: str, tx: Transaction) -> bool:
    """Whether `purge` would delete anything. At most three statements."""
    old = {"account_id": account_id, "end_id": first_id_at(tx.now - EVENT_RETENTION)}
    return (
        _last_old(_OLDEST_ATTEMPTS, account_id, ATTEMPT_RETENTION, 1, tx) is not None
        or _last_old(_OLDEST_EVENTS, account_id, EVENT_RETENTION, 1, tx) is not None
        or tx.one(_OLD_DELIVERIES, **old, limit=1) is not None
    )


def purge(account_id: str, tx: Transaction, limits: PurgeLimits = _LIMITS) -> int:
    """Deletes some old rows, the oldest first, and returns their number; 0 if none are left."""
    lock_queue_only(account_id, tx)
    old = {"account_id": account_id, "end_id": first_id_at(tx.now - EVENT_RETENTION)}
    purged = 0
    attempt = _last_old(_OLDEST_ATTEMPTS, account_id, ATTEMPT_RETENTION, limits.rows, tx)
    if attempt is not None:
        purged += tx.run(_PURGE_ATTEMPTS, account_id=account_id, last=attempt)
    event = _last_old(_OLDEST_EVENTS, account_id, EVENT_RETENTION, limits.events, tx)
    if event is not None:
        purged += tx.run(_PURGE_DELIVERIES_OF_EVENTS, account_id=account_id, last=event)
        purged += tx.run(_PURGE_EVENTS, account_id=account_id, last=event)
    # Deliveries of deleted webhooks.
    ids = [delivery_id for (delivery_id,) in tx.all(_OLD_DELIVERIES, **old, limit=limits.rows)]
    if ids:
        purged += tx.run(_PURGE_DELIVERIES, account_id=account_id, ids=ids)
    return purged


def _last_old(
    statement: Statement, account_id: str, retention: int, limit: int, tx: Transaction
) -> int | None:
    """Returns the number of the last old row among the oldest `limit` rows, or None."""
    rows = tx.all(statement, account_id=account_id, limit=limit)
    old = [number for number, timestamp in rows if timestamp <= tx.now - retention]
    return old[-1] if old else None
