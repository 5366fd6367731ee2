"""The queue of an account's deliveries: the lock under which they change, and when work is due.

Whoever changes deliveries holds the lock of their queue until the transaction ends. Those
who deliver do so beside the writers of the account, and pass over a queue that another
process is busy with. Callers wait for it, as writers of the account: who needs both locks
takes that of the account first.
"""

from __future__ import annotations

from typing import NamedTuple

from peewee import SQL, fn

from ...events.models import EventStream
from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ..models import DeliveryQueue


class Queue(NamedTuple):
    """A queue: events up to `expanded` have their deliveries; nothing is due before `due_at`.

    `attempts` counts those that have ended. The last event is `reached`: of those that were
    there when the queue was read, so that another may have gone beyond it.
    """

    expanded: int
    due_at: int | None
    attempts: int
    reached: int


_COLUMNS = (DeliveryQueue.expanded, DeliveryQueue.due_at, DeliveryQueue.attempts)
_OWN = DeliveryQueue.account_id == param("account_id")
# It comes with the queue, since a statement by itself would be one more in every round.
_REACHED = EventStream.select(EventStream.sequence).where(
    EventStream.account_id == param("account_id")
)
_QUEUE = DeliveryQueue.select(*_COLUMNS, fn.COALESCE(_REACHED, SQL("0"))).where(_OWN)
_BEGIN = Statement(
    lambda _: DeliveryQueue.insert(
        {
            DeliveryQueue.account_id: param("account_id"),
            DeliveryQueue.expanded: param("expanded"),
            DeliveryQueue.due_at: param("due_at"),
            DeliveryQueue.attempts: param("attempts"),
        }
    ).on_conflict_ignore()
)
_LOCK = Statement(lambda dialect: dialect.locking(_QUEUE))
_LOCK_QUEUE_ONLY = Statement(lambda dialect: dialect.locking(_QUEUE), without_account_lock=True)
_LOCK_IF_FREE = Statement(
    lambda dialect: dialect.locking(_QUEUE, skips=True), without_account_lock=True
)
_UPDATE = Statement(
    lambda _: DeliveryQueue.update({column: param(column.name) for column in _COLUMNS}).where(_OWN),
    without_account_lock=True,
)
# The one search that goes through all accounts: those which have, or once had, a webhook.
_WITH_WORK = Statement(
    lambda _: (
        DeliveryQueue.select(DeliveryQueue.account_id)
        .join(EventStream, on=EventStream.account_id == DeliveryQueue.account_id)
        .where(
            (DeliveryQueue.due_at <= param("now")) | (EventStream.sequence > DeliveryQueue.expanded)
        )
        .order_by(fn.COALESCE(DeliveryQueue.due_at, SQL("0")), DeliveryQueue.account_id)
        .limit(param("limit"))
    )
)

_EVERY = Statement(lambda _: DeliveryQueue.select(DeliveryQueue.account_id))


def begin(account_id: str, sequence: int, tx: Transaction, *, first: bool) -> None:
    """Sees to it that an account with a webhook has a queue.

    If this is the `first` one, what happened before is nobody's: those events are passed over.
    """
    tx.run(_BEGIN, account_id=account_id, expanded=sequence, due_at=None, attempts=0)
    queue = lock(account_id, tx)
    if first:
        put(account_id, queue._replace(expanded=max(sequence, queue.expanded)), tx)


def lock(account_id: str, tx: Transaction) -> Queue:
    """Waits for the queue of an account that has one, and returns it."""
    return _locked(account_id, _LOCK, tx)


def lock_queue_only(account_id: str, tx: Transaction) -> Queue:
    """Does as `lock` beside a writer of the account, for a transaction that is none."""
    return _locked(account_id, _LOCK_QUEUE_ONLY, tx)


def _locked(account_id: str, statement: Statement, tx: Transaction) -> Queue:
    row = tx.one(statement, account_id=account_id)
    if row is None:
        raise LookupError(f"account {account_id} has no queue of deliveries")
    return Queue._make(row)


def lock_if_free(account_id: str, tx: Transaction) -> Queue | None:
    """Returns the queue of an account, or None if there is none or somebody is busy with it."""
    row = tx.one(_LOCK_IF_FREE, account_id=account_id)
    return Queue._make(row) if row else None


def put(account_id: str, queue: Queue, tx: Transaction) -> None:
    """Stores a queue that is locked."""
    tx.run(_UPDATE, account_id=account_id, **queue._asdict())


def wake(account_id: str, tx: Transaction) -> None:
    """Locks the queue and has somebody look after it as soon as the transaction stands."""
    queue = lock(account_id, tx)
    put(account_id, queue._replace(due_at=tx.now), tx)
    tx.accounts_to_notify.add(account_id)


def ids_of_any_account_with_queue(tx: Transaction) -> list[str]:
    """Returns all accounts that have, or once had, a webhook. For the start of the service."""
    return [account_id for (account_id,) in tx.all(_EVERY)]


def ids_of_any_account_with_work(most: int, tx: Transaction) -> list[str]:
    """Returns accounts that have something to deliver now, those waiting longest first."""
    return [account_id for (account_id,) in tx.all(_WITH_WORK, now=tx.now, limit=most)]
