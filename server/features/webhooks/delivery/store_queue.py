"""The delivery queue of an account: the lock for its deliveries, and the time of the next work.

A transaction that changes deliveries locks their queue row until it ends. The dispatcher skips
queues that another process has locked and takes no account lock. Calls wait for the queue; a
transaction that needs both locks takes the account lock first.
"""

from __future__ import annotations

from operator import itemgetter
from typing import NamedTuple

from peewee import SQL, fn

from ....storage.statements import Statement, param, params
from ....storage.transaction import Transaction
from ...events.models import EventStream
from ..models import DeliveryQueue


class Queue(NamedTuple):
    """A stored queue. Events up to `expanded` have their deliveries.

    Nothing is due before `due_at`. `attempts` counts finished attempts. `last_sequence` is that
    of the account's last event, read before the lock is held; there may be newer events.
    """

    expanded: int
    due_at: int | None
    attempts: int
    last_sequence: int


_COLUMNS = (DeliveryQueue.expanded, DeliveryQueue.due_at, DeliveryQueue.attempts)
_OF_ACCOUNT = DeliveryQueue.account_id == param("account_id")
# A subquery, because a separate statement would be one more in each dispatch cycle.
_LAST_SEQUENCE = EventStream.select(EventStream.sequence).where(
    EventStream.account_id == param("account_id")
)
_QUEUE = DeliveryQueue.select(*_COLUMNS, fn.COALESCE(_LAST_SEQUENCE, SQL("0"))).where(_OF_ACCOUNT)
_INSERT = Statement(
    lambda _: DeliveryQueue.insert(params(DeliveryQueue.account_id, *_COLUMNS)).on_conflict_ignore()
)
_LOCK = Statement(lambda dialect: dialect.locking(_QUEUE))
_LOCK_QUEUE_ONLY = Statement(lambda dialect: dialect.locking(_QUEUE), without_account_lock=True)
_LOCK_IF_FREE = Statement(
    lambda dialect: dialect.locking(_QUEUE, skips=True), without_account_lock=True
)
_UPDATE = Statement(
    lambda _: DeliveryQueue.update(params(*_COLUMNS)).where(_OF_ACCOUNT), without_account_lock=True
)
_WAITING_SINCE = fn.COALESCE(DeliveryQueue.due_at, SQL("0"))
# The only search across accounts. It reads the accounts that have or had a webhook.
_WITH_WORK = Statement(
    lambda _: (
        DeliveryQueue.select(DeliveryQueue.account_id, _WAITING_SINCE)
        .join(EventStream, on=EventStream.account_id == DeliveryQueue.account_id)
        .where(
            (DeliveryQueue.due_at <= param("now")) | (EventStream.sequence > DeliveryQueue.expanded)
        )
        .order_by(_WAITING_SINCE, DeliveryQueue.account_id)
        .limit(param("limit"))
    )
)
_ALL = Statement(lambda _: DeliveryQueue.select(DeliveryQueue.account_id))


def ensure(account_id: str, sequence: int, tx: Transaction, *, is_first: bool) -> None:
    """Creates the queue of an account unless it exists.

    For the first webhook of the account, events up to `sequence` are skipped.
    """
    tx.run(_INSERT, account_id=account_id, expanded=sequence, due_at=None, attempts=0)
    queue = lock(account_id, tx)
    if is_first:
        put(account_id, queue._replace(expanded=max(sequence, queue.expanded)), tx)


def lock(account_id: str, tx: Transaction) -> Queue:
    """Waits for the lock of an existing queue and returns the queue."""
    return _locked(account_id, _LOCK, tx)


def lock_queue_only(account_id: str, tx: Transaction) -> Queue:
    """Locks like `lock`, for a transaction that does not take the account lock."""
    return _locked(account_id, _LOCK_QUEUE_ONLY, tx)


def _locked(account_id: str, statement: Statement, tx: Transaction) -> Queue:
    row = tx.one(statement, account_id=account_id)
    if row is None:
        raise LookupError(f"account {account_id} has no delivery queue")
    return Queue._make(row)


def lock_if_free(account_id: str, tx: Transaction) -> Queue | None:
    """Returns the locked queue, or None if another transaction holds it or it does not exist."""
    row = tx.one(_LOCK_IF_FREE, account_id=account_id)
    return Queue._make(row) if row else None


def put(account_id: str, queue: Queue, tx: Transaction) -> None:
    """Stores a locked queue."""
    tx.run(_UPDATE, account_id=account_id, **queue._asdict())


def wake(account_id: str, tx: Transaction) -> None:
    """Locks the queue and makes it due now; dispatchers are notified after the commit."""
    queue = lock(account_id, tx)
    put(account_id, queue._replace(due_at=tx.now), tx)
    tx.accounts_to_notify.add(account_id)


def ids_of_any_account_with_queue(tx: Transaction) -> list[str]:
    """Returns all accounts that have or had a webhook. Runs when the service starts."""
    return [account_id for (account_id,) in tx.all(_ALL)]


def ids_of_any_account_with_work(limit: int, tx: Transaction) -> list[str]:
    """Returns accounts with due deliveries or new events, those that wait longest first."""
    rows = tx.all(_WITH_WORK, now=tx.now, limit=limit)
    return [account_id for account_id, _ in sorted(rows, key=itemgetter(1))]
