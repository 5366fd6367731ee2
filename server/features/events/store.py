"""Records events in the outbox.

An event is written in the transaction of its change, so both are committed or neither. The
sequence of an account has no gaps, because an account has one writer at a time. An account
without a webhook has no events. SQLite, which has one writing process, caches that fact. On
PostgreSQL it costs one statement per change.
"""

from __future__ import annotations

from collections.abc import Sequence

from peewee import SQL

from ...storage.statements import Statement, param
from ...storage.transaction import Transaction
from ...values.ids import timestamp_of
from .envelope import PREFIX, envelope
from .models import Event, EventStream
from .rules import Change, subscriber_id

# The maximum number of cached accounts without webhooks.
MAX_CACHED_ACCOUNTS = 100_000

_COLUMNS = (
    Event.sequence,
    Event.id,
    Event.event_type,
    Event.envelope,
    Event.created_at,
    Event.subscriber_id,
)
_STREAM_OF_ACCOUNT = EventStream.account_id == param("account_id")
_ADVANCE = Statement(
    lambda _: (
        EventStream.update({EventStream.sequence: EventStream.sequence + param("count")})
        .where(_STREAM_OF_ACCOUNT & (EventStream.webhook_count > SQL("0")))
        .returning(EventStream.sequence)
    ),
    has_one_plan=True,
)
_SEQUENCE = Statement(
    lambda _: EventStream.select(EventStream.sequence).where(_STREAM_OF_ACCOUNT), has_one_plan=True
)
_WEBHOOKS = Statement(
    lambda _: EventStream.select(EventStream.webhook_count).where(_STREAM_OF_ACCOUNT),
    has_one_plan=True,
)
_BEGIN = Statement(
    lambda _: EventStream.insert(
        {
            EventStream.account_id: param("account_id"),
            EventStream.sequence: param("sequence"),
            EventStream.webhook_count: param("webhook_count"),
        }
    ).on_conflict_ignore(),
    has_one_plan=True,
)
_COUNT_WEBHOOKS = Statement(
    lambda _: EventStream.update({EventStream.webhook_count: param("webhook_count")}).where(
        _STREAM_OF_ACCOUNT
    )
)
_INSERT_ALL = Statement(
    lambda dialect: dialect.insert_all(
        Event.account_id,
        _COLUMNS,
        "rows",
    ),
    has_one_plan=True,
)


def record(account_id: str, changes: Sequence[Change], tx: Transaction) -> None:
    """Writes an event for each change, if the account has a webhook. Two statements at most."""
    if not changes or _cache_key(account_id) in tx.cache:
        return
    last = tx.scalar(_ADVANCE, account_id=account_id, count=len(changes))
    if last is None:
        _cache_no_webhooks(account_id, tx)
        return
    _write(account_id, last, changes, tx)
    tx.accounts_to_notify.add(account_id)


def has_webhooks(account_id: str, tx: Transaction) -> bool:
    """Returns whether the account has a webhook, so that callers can skip building changes."""
    if _cache_key(account_id) in tx.cache:
        return False
    if tx.scalar(_WEBHOOKS, account_id=account_id):
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
    """Writes events; `last` is the sequence number of the last one."""
    numbers = range(last - len(changes) + 1, last + 1)
    actor = tx.actor.as_json() if tx.actor else None
    rows = []
    for sequence, ulid, change in zip(numbers, tx.new_ids(len(changes)), changes, strict=True):
        event_id, created_at = PREFIX + ulid, timestamp_of(ulid)
        text = envelope(account_id, event_id, sequence, created_at, actor, change)
        row = (sequence, event_id, change.event_type, text, created_at, subscriber_id(change))
        rows.append(row)
    tx.run(_INSERT_ALL, account_id=account_id, rows=rows)


def count_webhooks(account_id: str, webhooks: int, tx: Transaction) -> int:
    """Stores the number of webhooks, and returns the sequence number of the last event."""
    tx.cache.discard(_cache_key(account_id))
    tx.run(_BEGIN, account_id=account_id, sequence=0, webhook_count=webhooks)
    tx.run(_COUNT_WEBHOOKS, account_id=account_id, webhook_count=webhooks)
    return int(tx.scalar(_SEQUENCE, account_id=account_id))
