"""The delivery queue of an account: the lock for its deliveries, and the time of the next work.

A transaction that changes deliveries locks their queue row until it ends. The dispatcher skips
queues that another process has locked and takes no account lock. Calls wait for the queue; a
transaction that needs both locks takes the account lock first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import NamedTuple

from peewee import JOIN, SQL, Node, fn

from ....storage.statements import Dialect, Statement, param, params
from ....storage.transaction import Transaction
from ...events.models import Event, EventStream
from ..models import SENDING, Delivery, DeliveryQueue, Webhook

# Conditions on deliveries.
IN_ACCOUNT = Delivery.account_id == param("account_id")
ONE = IN_ACCOUNT & (Delivery.id == param("id"))
TO_WEBHOOK = IN_ACCOUNT & (Delivery.webhook_id == param("webhook_id"))
# Joins deliveries to their webhooks.
OF_WEBHOOK = (Webhook.account_id == param("account_id")) & (Webhook.id == Delivery.webhook_id)
# The index `delivery_by_due` holds only rows with a due time; SQLite uses it only if the
# query says so.
HAS_DUE_TIME = Delivery.due_at.is_null(False)
DUE = HAS_DUE_TIME & (Delivery.due_at <= param("now"))
# A delivery that is still leased with a fence.
LEASED = ONE & (Delivery.fence == param("fence")) & (Delivery.status == SENDING)


class QueueStatement(Statement):
    """A statement of a transaction that locks the queue, and does not take the account lock."""

    def __init__(self, build: Callable[[Dialect], Node]) -> None:
        super().__init__(build, without_account_lock=True)


class Queue(NamedTuple):
    """A stored queue. Events up to `expanded_sequence` have their deliveries.

    Nothing is due before `due_at`. `attempts` counts finished attempts. `last_sequence` is that
    of the account's last event, read before the lock is held; there may be newer events.
    """

    expanded_sequence: int
    due_at: int | None
    attempts: int
    last_sequence: int


class Backlog(NamedTuple):
    """The number of due deliveries, and how many milliseconds the oldest of them is due.

    If an event has waited for its deliveries for longer, `oldest` is that time.
    """

    deliveries: int = 0
    oldest: int = 0


_COLUMNS = (DeliveryQueue.expanded_sequence, DeliveryQueue.due_at, DeliveryQueue.attempts)
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
_LOCK_QUEUE_ONLY = QueueStatement(lambda dialect: dialect.locking(_QUEUE))
_LOCK_IF_FREE = QueueStatement(lambda dialect: dialect.locking(_QUEUE, skips=True))
_UPDATE = QueueStatement(lambda _: DeliveryQueue.update(params(*_COLUMNS)).where(_OF_ACCOUNT))
_WAITING_SINCE = fn.COALESCE(DeliveryQueue.due_at, SQL("0"))
# The only search across accounts. It reads the accounts that have or had a webhook.
_WITH_WORK = Statement(
    lambda _: (
        DeliveryQueue.select(DeliveryQueue.account_id, _WAITING_SINCE)
        .join(EventStream, on=EventStream.account_id == DeliveryQueue.account_id)
        .where(
            (DeliveryQueue.due_at <= param("now"))
            | (EventStream.sequence > DeliveryQueue.expanded_sequence)
        )
        .order_by(_WAITING_SINCE, DeliveryQueue.account_id)
        .limit(param("limit"))
    )
)
_ALL = Statement(lambda _: DeliveryQueue.select(DeliveryQueue.account_id))
_DUE_AT_WEBHOOK = (
    (Delivery.account_id == Webhook.account_id) & (Delivery.webhook_id == Webhook.id) & DUE
)
# The outer join makes SQLite start with the enabled webhooks, so deliveries to disabled or
# deleted webhooks are not read.
_BACKLOG = Statement(
    lambda _: (
        Webhook.select(fn.COUNT(Delivery.id), fn.MIN(Delivery.due_at))
        .join(Delivery, JOIN.LEFT_OUTER, on=_DUE_AT_WEBHOOK)
        .where(Webhook.enabled == param("enabled"))
    )
)

# The oldest event that has no deliveries yet. The outer join makes SQLite start with the queues.
_OLDEST_EVENT = Statement(
    lambda _: (
        DeliveryQueue.select(fn.MIN(Event.created_at))
        .join(EventStream, on=EventStream.account_id == DeliveryQueue.account_id)
        .join(
            Event,
            JOIN.LEFT_OUTER,
            on=(Event.account_id == DeliveryQueue.account_id)
            & (Event.sequence == DeliveryQueue.expanded_sequence + SQL("1")),
        )
        .where(EventStream.sequence > DeliveryQueue.expanded_sequence)
    )
)


def ensure(account_id: str, sequence: int, tx: Transaction, *, is_first: bool) -> None:
    """Creates the queue of an account unless it exists.

    For the first webhook of the account, events up to `sequence` are skipped.
    """
    tx.run(_INSERT, account_id=account_id, expanded_sequence=sequence, due_at=None, attempts=0)
    queue = lock(account_id, tx)
    if is_first:
        put(
            account_id, queue._replace(expanded_sequence=max(sequence, queue.expanded_sequence)), tx
        )


def lock(account_id: str, tx: Transaction, statement: Statement = _LOCK) -> Queue:
    """Waits for the lock of an existing queue and returns the queue."""
    row = tx.one(statement, account_id=account_id)
    if row is None:
        raise LookupError(f"account {account_id} has no delivery queue")
    return Queue._make(row)


def lock_queue_only(account_id: str, tx: Transaction) -> Queue:
    """Locks like `lock`, for a transaction that does not take the account lock."""
    return lock(account_id, tx, _LOCK_QUEUE_ONLY)


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
    """Returns accounts with due deliveries or new events, the longest waiting first."""
    rows = tx.all(_WITH_WORK, now=tx.now, limit=limit)
    return [account_id for account_id, _ in sorted(rows, key=itemgetter(1))]


def backlog_of_any_account(tx: Transaction) -> Backlog:
    """Returns the backlog of the enabled webhooks of all accounts.

    A failed delivery counts again when its retry is due.
    """
    rows = tx.all(_BACKLOG, now=tx.now, enabled=True)
    events = [Backlog(0, tx.now - created) for (created,) in tx.all(_OLDEST_EVENT) if created]
    return total([*events, *(Backlog(count, tx.now - oldest) for count, oldest in rows if count)])


def total(backlogs: Iterable[Backlog]) -> Backlog:
    """Returns the sum of backlogs, such as those of several nodes."""
    parts = list(backlogs)
    return Backlog(
        sum(part.deliveries for part in parts), max((part.oldest for part in parts), default=0)
    )
