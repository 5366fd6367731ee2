"""What is taken away once it is old: attempts, and events with their deliveries.

What is oldest comes first in the order in which it is stored, so a look at the first rows
tells whether there is anything to do. A delivery goes with its event, whatever has become
of it: there is nothing left to send. Replays that have waited for as long go too.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from peewee import SQL

from ...events.models import Event
from ...ids import first_id_at
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..models import Delivery, DeliveryAttempt, Replay, Webhook
from .store_queue import lock_queue_only

# How long attempts are kept, and how long everything else, in milliseconds.
ATTEMPTS_KEPT = 14 * 24 * 3_600_000
EVENTS_KEPT = 30 * 24 * 3_600_000
# How many are taken away in one transaction. An event may have many deliveries.
EVENTS_AT_ONCE = 100
ROWS_AT_ONCE = 500

_OLDEST_EVENTS = Statement(
    lambda _: (
        Event.select(Event.sequence, Event.created_at)
        .where(Event.account_id == param("account_id"))
        .order_by(Event.account_id, Event.sequence)
        .limit(param("limit"))
    ),
    without_account_lock=True,
)
_OLDEST_ATTEMPTS = Statement(
    lambda _: (
        DeliveryAttempt.select(DeliveryAttempt.place, DeliveryAttempt.started_at)
        .where(DeliveryAttempt.account_id == param("account_id"))
        .order_by(DeliveryAttempt.account_id, DeliveryAttempt.place)
        .limit(param("limit"))
    ),
    without_account_lock=True,
)
_OLD_DELIVERIES = Statement(
    lambda _: (
        Delivery.select(Delivery.id)
        .where((Delivery.account_id == param("account_id")) & (Delivery.id < param("end_id")))
        .order_by(Delivery.account_id, Delivery.id)
        .limit(param("limit"))
    ),
    without_account_lock=True,
)
_ONE_OLD_REPLAY = Statement(
    lambda _: (
        Replay.select(Replay.id)
        .where((Replay.account_id == param("account_id")) & (Replay.id < param("end_id")))
        .limit(SQL("1"))
    ),
    without_account_lock=True,
)
_PURGE_ATTEMPTS = Statement(
    lambda _: DeliveryAttempt.delete().where(
        (DeliveryAttempt.account_id == param("account_id"))
        & (DeliveryAttempt.place <= param("last"))
    ),
    without_account_lock=True,
)
_PURGE_EVENTS = Statement(
    lambda _: Event.delete().where(
        (Event.account_id == param("account_id")) & (Event.sequence <= param("last"))
    ),
    without_account_lock=True,
)
# By way of their ids, which the index of sequences has: SQLite would rather walk through all
# deliveries of the account than look up those of each webhook and then their rows.
_PURGE_DELIVERIES_OF_EVENTS = Statement(
    lambda dialect: Delivery.delete().where(
        (Delivery.account_id == param("account_id"))
        & dialect.within(
            Delivery.id,
            Delivery.select(Delivery.id).where(
                (Delivery.account_id == param("account_id"))
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
        (Delivery.account_id == param("account_id")) & dialect.any_of(Delivery.id, "ids")
    ),
    without_account_lock=True,
)
_PURGE_REPLAYS = Statement(
    lambda _: Replay.delete().where(
        (Replay.account_id == param("account_id")) & (Replay.id < param("end_id"))
    ),
    without_account_lock=True,
)


def has_old(account_id: str, tx: Transaction) -> bool:
    """Whether the account has anything whose time is over. Four statements at most."""
    end_id = first_id_at(tx.now - EVENTS_KEPT)
    return (
        _last_old_attempt(account_id, 1, tx) is not None
        or _last_old_event(account_id, 1, tx) is not None
        or tx.one(_OLD_DELIVERIES, account_id=account_id, end_id=end_id, limit=1) is not None
        or tx.one(_ONE_OLD_REPLAY, account_id=account_id, end_id=end_id) is not None
    )


def purge(account_id: str, tx: Transaction) -> int:
    """Takes some of that away, the oldest first, and returns how many rows; 0 if none are left."""
    lock_queue_only(account_id, tx)
    end_id = first_id_at(tx.now - EVENTS_KEPT)
    purged = tx.run(_PURGE_REPLAYS, account_id=account_id, end_id=end_id)
    attempt = _last_old_attempt(account_id, ROWS_AT_ONCE, tx)
    if attempt is not None:
        purged += tx.run(_PURGE_ATTEMPTS, account_id=account_id, last=attempt)
    event = _last_old_event(account_id, EVENTS_AT_ONCE, tx)
    if event is not None:
        purged += tx.run(_PURGE_DELIVERIES_OF_EVENTS, account_id=account_id, last=event)
        purged += tx.run(_PURGE_EVENTS, account_id=account_id, last=event)
    # Those of webhooks that are no more.
    ids = tx.all(_OLD_DELIVERIES, account_id=account_id, end_id=end_id, limit=ROWS_AT_ONCE)
    if ids:
        purged += tx.run(_PURGE_DELIVERIES, account_id=account_id, ids=[own for (own,) in ids])
    return purged


def _last_old_attempt(account_id: str, most: int, tx: Transaction) -> int | None:
    """Returns the place up to which attempts are old, among the first so many."""
    rows = tx.all(_OLDEST_ATTEMPTS, account_id=account_id, limit=most)
    return _last_until(tx.now - ATTEMPTS_KEPT, rows)


def _last_old_event(account_id: str, most: int, tx: Transaction) -> int | None:
    """Returns the sequence up to which events are old, among the first so many."""
    rows = tx.all(_OLDEST_EVENTS, account_id=account_id, limit=most)
    return _last_until(tx.now - EVENTS_KEPT, rows)


def _last_until(moment: int, rows: Sequence[tuple[int, int]]) -> int | None:
    """Returns the number of the last of those at the beginning that are of the moment or older."""
    old = [number for number, _ in takewhile(lambda row: row[1] <= moment, rows)]
    return old[-1] if old else None
