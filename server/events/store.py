"""Events in the database: the outbox.

An event is written in the transaction of the change that it tells of, so either both
stand or neither. The sequence of an account rises by one with each event, without a gap:
its writers come one after the other. An account without a webhook has no events, and its
changes pay nothing where the one process that writes remembers that; where several
processes write, they ask in one statement.
"""

from __future__ import annotations

from collections.abc import Sequence

from peewee import SQL

from ..ids import timestamp_of
from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .envelope import PREFIX, envelope
from .models import Event, EventStream
from .rules import Change

# How many accounts without webhooks are remembered.
MAX_CACHED_ACCOUNTS = 100_000

_STREAM_OF_ACCOUNT = EventStream.account_id == param("account_id")
_ADVANCE = Statement(
    lambda _: (
        EventStream.update({EventStream.sequence: EventStream.sequence + param("count")})
        .where(_STREAM_OF_ACCOUNT & (EventStream.webhooks > SQL("0")))
        .returning(EventStream.sequence)
    )
)
_STREAM = Statement(
    lambda _: EventStream.select(EventStream.sequence, EventStream.webhooks).where(
        _STREAM_OF_ACCOUNT
    )
)
_BEGIN = Statement(
    lambda _: EventStream.insert(
        {
            EventStream.account_id: param("account_id"),
            EventStream.sequence: param("sequence"),
            EventStream.webhooks: param("webhooks"),
        }
    ).on_conflict_ignore()
)
_COUNT_WEBHOOKS = Statement(
    lambda _: EventStream.update({EventStream.webhooks: param("webhooks")}).where(
        _STREAM_OF_ACCOUNT
    )
)
_INSERT_ALL = Statement(
    lambda dialect: dialect.insert_all(
        Event.account_id,
        (Event.sequence, Event.id, Event.kind, Event.envelope, Event.created_at),
        "rows",
    )
)


def record(account_id: str, changes: Sequence[Change], tx: Transaction) -> None:
    """Writes an event for each change, if the account has a webhook. Two statements at most."""
    if not changes or _cache_key(account_id) in tx.cache:
        return
    advanced = tx.all(_ADVANCE, account_id=account_id, count=len(changes))
    if not advanced:
        _cache_no_webhooks(account_id, tx)
        return
    _write(account_id, int(advanced[0][0]), changes, tx)
    tx.accounts_to_notify.add(account_id)


def has_webhooks(account_id: str, tx: Transaction) -> bool:
    """Whether the account has a webhook: what takes long to tell is told to nobody else."""
    if _cache_key(account_id) in tx.cache:
        return False
    row = tx.one(_STREAM, account_id=account_id)
    if row is not None and row[1] > 0:
        return True
    _cache_no_webhooks(account_id, tx)
    return False


def _cache_key(account_id: str) -> tuple[str, str]:
    return ("no webhooks", account_id)


def _cache_no_webhooks(account_id: str, tx: Transaction) -> None:
    if len(tx.cache) >= MAX_CACHED_ACCOUNTS:
        tx.cache.clear()
    tx.cache.add(_cache_key(account_id))


def _write(account_id: str, last: int, changes: Sequence[Change], tx: Transaction) -> None:
    """Writes events, the last of which has the sequence number."""
    numbers = range(last - len(changes) + 1, last + 1)
    rows = []
    for sequence, own_id, change in zip(numbers, tx.new_ids(len(changes)), changes, strict=True):
        event_id = PREFIX + own_id
        moment = timestamp_of(own_id)
        text = envelope(event_id, sequence, moment, change)
        rows.append((sequence, event_id, change.event_type, text, moment))
    tx.run(_INSERT_ALL, account_id=account_id, rows=rows)


def count_webhooks(account_id: str, webhooks: int, tx: Transaction) -> int:
    """Notes how many webhooks the account has, and returns the sequence of its last event."""
    tx.cache.discard(_cache_key(account_id))
    tx.run(_BEGIN, account_id=account_id, sequence=0, webhooks=webhooks)
    tx.run(_COUNT_WEBHOOKS, account_id=account_id, webhooks=webhooks)
    row = tx.one(_STREAM, account_id=account_id)
    return int(row[0]) if row else 0
