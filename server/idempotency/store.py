"""Answers that are kept for idempotency keys, in the database."""

from __future__ import annotations

from typing import NamedTuple

from peewee import EXCLUDED, SQL

from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .models import StoredResponse

# How long, in milliseconds, the answer to a request is kept.
RETENTION_MILLISECONDS = 24 * 60 * 60 * 1000
# How long, in milliseconds, a key is in use by a request that acts outside of the database and
# whose process may have ended since.
RUNNING_MILLISECONDS = 60_000
_RUNNING = b""
# Old answers that each new one takes away: more than one, so that they get fewer.
_PURGE_PER_WRITE = 10
# Old answers that are taken away in one transaction of their own.
PURGE_BATCH_SIZE = 500


class StoredResponseRow(NamedTuple):
    """What is kept of a request: what tells it from others, and its answer, sealed."""

    fingerprint: str
    answer: bytes

    @property
    def is_running(self) -> bool:
        """Whether there is no answer yet: the request is still running."""
        return self.answer == _RUNNING


_IN_ACCOUNT = StoredResponse.account_id == param("account_id")
_FIND = Statement(
    lambda _: StoredResponse.select(StoredResponse.fingerprint, StoredResponse.answer).where(
        _IN_ACCOUNT
        & (StoredResponse.key == param("key"))
        & (StoredResponse.created_at > param("since"))
    )
)
_PUT = Statement(
    lambda _: StoredResponse.insert(
        {
            field: param(field.name)
            for field in (
                StoredResponse.account_id,
                StoredResponse.key,
                StoredResponse.fingerprint,
                StoredResponse.answer,
                StoredResponse.created_at,
            )
        }
    ).on_conflict(
        conflict_target=[StoredResponse.account_id, StoredResponse.key],
        update={
            field: getattr(EXCLUDED, field.name)
            for field in (
                StoredResponse.fingerprint,
                StoredResponse.answer,
                StoredResponse.created_at,
            )
        },
    )
)
_DELETE = Statement(
    lambda _: StoredResponse.delete().where(_IN_ACCOUNT & (StoredResponse.key == param("key")))
)
_OLD = StoredResponse.alias()
_PURGE = Statement(
    lambda _: StoredResponse.delete().where(
        _IN_ACCOUNT
        & StoredResponse.key.in_(
            _OLD.select(_OLD.key)
            .where((_OLD.account_id == param("account_id")) & (_OLD.created_at <= param("since")))
            .order_by(_OLD.account_id, _OLD.created_at)
            .limit(param("limit"))
        )
    )
)
_ONE_OLD = Statement(
    lambda _: (
        StoredResponse.select(StoredResponse.key)
        .where(_IN_ACCOUNT & (StoredResponse.created_at <= param("since")))
        .limit(SQL("1"))
    )
)


def find(account_id: str, key: str, tx: Transaction) -> StoredResponseRow | None:
    """Returns what is kept for a key, or None if it is new or its time is over."""
    row = tx.one(_FIND, account_id=account_id, key=key, since=tx.now - RETENTION_MILLISECONDS)
    return StoredResponseRow._make(row) if row else None


def put(account_id: str, key: str, kept: StoredResponseRow, tx: Transaction) -> None:
    """Keeps an answer for a key, and takes some away whose time is over."""
    _purge(account_id, _PURGE_PER_WRITE, tx)
    tx.run(_PUT, account_id=account_id, key=key, created_at=tx.now, **kept._asdict())


def mark_running(account_id: str, key: str, fingerprint: str, tx: Transaction) -> None:
    """Puts a key in use until its answer is kept, but for RUNNING_MILLISECONDS at most."""
    until = tx.now + RUNNING_MILLISECONDS
    kept = StoredResponseRow(fingerprint, _RUNNING)
    created_at = until - RETENTION_MILLISECONDS
    tx.run(_PUT, account_id=account_id, key=key, created_at=created_at, **kept._asdict())


def release(account_id: str, key: str, tx: Transaction) -> None:
    """Frees a key of a request that failed while it was running."""
    tx.run(_DELETE, account_id=account_id, key=key)


def has_old(account_id: str, tx: Transaction) -> bool:
    """Whether the account has answers whose time is over."""
    return (
        tx.one(_ONE_OLD, account_id=account_id, since=tx.now - RETENTION_MILLISECONDS) is not None
    )


def purge(account_id: str, tx: Transaction) -> int:
    """Takes answers away whose time is over, the oldest first, and returns how many.

    If these are PURGE_BATCH_SIZE there may be more.
    """
    return _purge(account_id, PURGE_BATCH_SIZE, tx)


def _purge(account_id: str, most: int, tx: Transaction) -> int:
    since = tx.now - RETENTION_MILLISECONDS
    return tx.run(_PURGE, account_id=account_id, since=since, limit=most)
