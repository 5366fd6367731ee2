"""Deletes old attempts, and old events with their deliveries.

Rows are stored oldest first, so the first rows show whether there is anything to delete. A
delivery is deleted with its event, regardless of its status, because there is nothing left to send.
Replays that were created as long ago are deleted too.
"""

from __future__ import annotations

from typing import NamedTuple

from peewee import SQL

from ....storage.statements import Statement, param
from ....storage.transaction import Transaction
from ....values.ids import first_id_at
from ...events.models import Event
from ..models import Delivery, DeliveryAttempt, Replay, Webhook
from . import store_conditions as deliveries
from .store_queue import lock_queue_only

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
_OLD_REPLAYS = (Replay.account_id == param("account_id")) & (Replay.id < param("end_id"))

_OLDEST_EVENTS = Statement(
    lambda _: (
        Event.select(Event.sequence, Event.created_at)
        .where(_OF_EVENT)
        .order_by(Event.account_id, Event.sequence)
        .limit(param("limit"))
    ),
    without_account_lock=True,
)
_OLDEST_ATTEMPTS = Statement(
    lambda _: (
        DeliveryAttempt.select(DeliveryAttempt.place, DeliveryAttempt.started_at)
        .where(_OF_ATTEMPT)
        .order_by(DeliveryAttempt.account_id, DeliveryAttempt.place)
        .limit(param("limit"))
    ),
    without_account_lock=True,
)
_OLD_DELIVERIES = Statement(
    lambda _: (
        Delivery.select(Delivery.id)
        .where(deliveries.IN_ACCOUNT & (Delivery.id < param("end_id")))
        .order_by(Delivery.account_id, Delivery.id)
        .limit(param("limit"))
    ),
    without_account_lock=True,
)
_ONE_OLD_REPLAY = Statement(
    lambda _: Replay.select(Replay.id).where(_OLD_REPLAYS).limit(SQL("1")),
    without_account_lock=True,
)
_PURGE_ATTEMPTS = Statement(
    lambda _: DeliveryAttempt.delete().where(
        _OF_ATTEMPT & (DeliveryAttempt.place <= param("last"))
    ),
    without_account_lock=True,
)
_PURGE_EVENTS = Statement(
    lambda _: Event.delete().where(_OF_EVENT & (Event.sequence <= param("last"))),
    without_account_lock=True,
)
# The subquery makes SQLite find the IDs with the index of sequences. Otherwise it reads all
# deliveries of the account.
_PURGE_DELIVERIES_OF_EVENTS = Statement(
    lambda dialect: Delivery.delete().where(
        deliveries.IN_ACCOUNT
        & dialect.within(
            Delivery.id,
            Delivery.select(Delivery.id).where(
                deliveries.IN_ACCOUNT
                & dialect.within(
                    Delivery.webhook_id,
                    Webhook.select(Webhook.id).where(Webhook.account_id == param("account_id")),
                )
                & (Delivery.sequence <= param("last"))
            ),
        )
    ),
    without_account_lock=True,
)
_PURGE_DELIVERIES = Statement(
    lambda dialect: Delivery.delete().where(
        deliveries.IN_ACCOUNT & dialect.any_of(Delivery.id, "ids")
    ),
    without_account_lock=True,
)
_PURGE_REPLAYS = Statement(lambda _: Replay.delete().where(_OLD_REPLAYS), without_account_lock=True)


def has_old(account_id: str, tx: Transaction) -> bool:
    """Whether `purge` would delete anything. At most four statements."""
    end_id = first_id_at(tx.now - EVENT_RETENTION)
    return (
        _last_old_attempt(account_id, 1, tx) is not None
        or _last_old_event(account_id, 1, tx) is not None
        or tx.one(_OLD_DELIVERIES, account_id=account_id, end_id=end_id, limit=1) is not None
        or tx.one(_ONE_OLD_REPLAY, account_id=account_id, end_id=end_id) is not None
    )


def purge(account_id: str, tx: Transaction, limits: PurgeLimits = _LIMITS) -> int:
    """Deletes some old rows, the oldest first, and returns their number; 0 if none are left."""
    lock_queue_only(account_id, tx)
    end_id = first_id_at(tx.now - EVENT_RETENTION)
    purged = tx.run(_PURGE_REPLAYS, account_id=account_id, end_id=end_id)
    attempt = _last_old_attempt(account_id, limits.rows, tx)
    if attempt is not None:
        purged += tx.run(_PURGE_ATTEMPTS, account_id=account_id, last=attempt)
    event = _last_old_event(account_id, limits.events, tx)
    if event is not None:
        purged += tx.run(_PURGE_DELIVERIES_OF_EVENTS, account_id=account_id, last=event)
        purged += tx.run(_PURGE_EVENTS, account_id=account_id, last=event)
    # Deliveries of deleted webhooks.
    rows = tx.all(_OLD_DELIVERIES, account_id=account_id, end_id=end_id, limit=limits.rows)
    if rows:
        ids = [delivery_id for (delivery_id,) in rows]
        purged += tx.run(_PURGE_DELIVERIES, account_id=account_id, ids=ids)
    return purged


def _last_old_attempt(account_id: str, limit: int, tx: Transaction) -> int | None:
    """Returns the position of the last old attempt among the oldest `limit` attempts."""
    return _last_old(_OLDEST_ATTEMPTS, account_id, tx.now - ATTEMPT_RETENTION, limit, tx)


def _last_old_event(account_id: str, limit: int, tx: Transaction) -> int | None:
    """Returns the sequence of the last old event among the oldest `limit` events."""
    return _last_old(_OLDEST_EVENTS, account_id, tx.now - EVENT_RETENTION, limit, tx)


def _last_old(
    statement: Statement, account_id: str, end: int, limit: int, tx: Transaction
) -> int | None:
    rows = tx.all(statement, account_id=account_id, limit=limit)
    last = None
    for number, timestamp in rows:
        if timestamp > end:
            break
        last = number
    return last
