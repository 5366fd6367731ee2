"""Answers that are kept for idempotency keys, in the database."""

from __future__ import annotations

from typing import NamedTuple

from peewee import EXCLUDED, SQL

from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .models import KeptAnswer

# How long, in milliseconds, the answer to a request is kept.
KEPT_MILLISECONDS = 24 * 60 * 60 * 1000
# Old answers that each new one takes away: more than one, so that they get fewer.
_PURGED_AT_ONCE = 10


class Kept(NamedTuple):
    """What is kept of a request: what tells it from others, and its answer, sealed."""

    fingerprint: str
    answer: bytes


_IN_ACCOUNT = KeptAnswer.account_id == param("account_id")
_FIND = Statement(
    lambda _: KeptAnswer.select(KeptAnswer.fingerprint, KeptAnswer.answer).where(
        _IN_ACCOUNT & (KeptAnswer.key == param("key")) & (KeptAnswer.created_at > param("since"))
    )
)
_PUT = Statement(
    lambda _: KeptAnswer.insert(
        {
            field: param(field.name)
            for field in (
                KeptAnswer.account_id,
                KeptAnswer.key,
                KeptAnswer.fingerprint,
                KeptAnswer.answer,
                KeptAnswer.created_at,
            )
        }
    ).on_conflict(
        conflict_target=[KeptAnswer.account_id, KeptAnswer.key],
        update={
            field: getattr(EXCLUDED, field.name)
            for field in (KeptAnswer.fingerprint, KeptAnswer.answer, KeptAnswer.created_at)
        },
    )
)
_OLD = KeptAnswer.alias()
_PURGE = Statement(
    lambda _: KeptAnswer.delete().where(
        _IN_ACCOUNT
        & KeptAnswer.key.in_(
            _OLD.select(_OLD.key)
            .where((_OLD.account_id == param("account_id")) & (_OLD.created_at <= param("since")))
            .order_by(_OLD.account_id, _OLD.created_at)
            .limit(SQL(str(_PURGED_AT_ONCE)))
        )
    )
)


def find(account_id: str, key: str, tx: Transaction) -> Kept | None:
    """Returns what is kept for a key, or None if it is new or its time is over."""
    row = tx.one(_FIND, account_id=account_id, key=key, since=tx.now - KEPT_MILLISECONDS)
    return Kept._make(row) if row else None


def keep(account_id: str, key: str, kept: Kept, tx: Transaction) -> None:
    """Keeps an answer for a key, and takes some away whose time is over."""
    tx.run(_PURGE, account_id=account_id, since=tx.now - KEPT_MILLISECONDS)
    tx.run(_PUT, account_id=account_id, key=key, created_at=tx.now, **kept._asdict())
