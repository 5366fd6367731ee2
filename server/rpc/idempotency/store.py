"""Reads and writes the stored responses of idempotency keys."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from peewee import EXCLUDED, SQL, Expression

from ...storage.statements import Statement, param, params
from ...storage.transaction import Transaction
from .models import IdempotentResponse

# How long a response is stored, in milliseconds.
RETENTION_MILLISECONDS = 24 * 60 * 60 * 1000
# How long a key stays in use, in milliseconds, if the process of its request ends. Only for
# requests with effects outside of the database.
RUNNING_MILLISECONDS = 60_000
_RUNNING = b""
_ERASED = b"erased"
# Expired responses deleted by each new one: more than one, so that their number decreases.
_PURGE_PER_WRITE = 10
# Expired responses deleted in one purge transaction.
PURGE_BATCH_SIZE = 500


class StoredResponseRow(NamedTuple):
    """The fingerprint of a request and its encrypted response."""

    fingerprint: str
    response: bytes

    @property
    def is_running(self) -> bool:
        """Whether the request is still running."""
        return self.response == _RUNNING

    @property
    def is_erased(self) -> bool:
        """Whether the response was removed, because it named a person who was erased."""
        return self.response == _ERASED


_IN_ACCOUNT = IdempotentResponse.account_id == param("account_id")
_FIND = Statement(
    lambda _: IdempotentResponse.select(
        IdempotentResponse.fingerprint, IdempotentResponse.response
    ).where(
        _IN_ACCOUNT
        & (IdempotentResponse.key == param("key"))
        & (IdempotentResponse.created_at > param("since"))
    ),
    has_one_plan=True,
)
_FIND_ALL = Statement(
    lambda dialect: IdempotentResponse.select(
        IdempotentResponse.key, IdempotentResponse.fingerprint, IdempotentResponse.response
    ).where(
        _IN_ACCOUNT
        & dialect.any_of(IdempotentResponse.key, "keys")
        & (IdempotentResponse.created_at > param("since"))
    ),
    has_one_plan=True,
)
_REPLACED = (
    IdempotentResponse.fingerprint,
    IdempotentResponse.response,
    IdempotentResponse.created_at,
    IdempotentResponse.persons,
)
_PUT = Statement(
    lambda _: IdempotentResponse.insert(
        params(IdempotentResponse.account_id, IdempotentResponse.key, *_REPLACED)
    ).on_conflict(
        conflict_target=[IdempotentResponse.account_id, IdempotentResponse.key],
        update={field: getattr(EXCLUDED, field.name) for field in _REPLACED},
    ),
    has_one_plan=True,
)
_DELETE = Statement(
    lambda _: IdempotentResponse.delete().where(
        _IN_ACCOUNT & (IdempotentResponse.key == param("key"))
    ),
    has_one_plan=True,
)
# Without digests of persons, a response can name anyone.
_KEYS_NAMING = Statement(
    lambda _: IdempotentResponse.select(IdempotentResponse.key).where(
        _IN_ACCOUNT
        & (IdempotentResponse.created_at >= param("since"))
        & (
            IdempotentResponse.persons.is_null()
            | Expression(IdempotentResponse.persons, "ILIKE", param("pattern"))
        )
    )
)
_ERASE = Statement(
    lambda dialect: IdempotentResponse.update(
        params(
            IdempotentResponse.fingerprint, IdempotentResponse.response, IdempotentResponse.persons
        )
    ).where(
        _IN_ACCOUNT
        & dialect.any_of(IdempotentResponse.key, "keys")
        & (IdempotentResponse.response != param("running"))
    )
)
_OLD = IdempotentResponse.alias()
_PURGE = Statement(
    lambda _: IdempotentResponse.delete().where(
        _IN_ACCOUNT
        & IdempotentResponse.key.in_(
            _OLD.select(_OLD.key)
            .where((_OLD.account_id == param("account_id")) & (_OLD.created_at <= param("since")))
            .order_by(_OLD.account_id, _OLD.created_at)
            .limit(param("limit"))
        )
    )
)
_ONE_OLD = Statement(
    lambda _: (
        IdempotentResponse.select(IdempotentResponse.key)
        .where(_IN_ACCOUNT & (IdempotentResponse.created_at <= param("since")))
        .limit(SQL("1"))
    )
)


def find(account_id: str, key: str, tx: Transaction) -> StoredResponseRow | None:
    """Returns the stored response of a key, or None if there is none or it has expired."""
    row = tx.one(_FIND, account_id=account_id, key=key, since=tx.now - RETENTION_MILLISECONDS)
    return StoredResponseRow._make(row) if row else None


def find_all(account_id: str, keys: Sequence[str], tx: Transaction) -> dict[str, StoredResponseRow]:
    """Returns the stored responses of keys, by key. One statement."""
    since = tx.now - RETENTION_MILLISECONDS
    rows = tx.all(_FIND_ALL, account_id=account_id, keys=list(keys), since=since)
    return {key: StoredResponseRow._make(row) for key, *row in rows}


def put(
    account_id: str,
    key: str,
    response: StoredResponseRow,
    tx: Transaction,
    persons: str | None = "",
) -> None:
    """Stores the response of a key with digests of persons, and deletes some expired ones.

    `persons` is None if the response can name anyone.
    """
    purge(account_id, tx, _PURGE_PER_WRITE)
    values = {**response._asdict(), "persons": persons, "created_at": tx.now}
    tx.run(_PUT, account_id=account_id, key=key, **values)


def keys_naming(account_id: str, person: str, since: int, tx: Transaction) -> list[str]:
    """Returns the keys of the responses that can name a person, given by a digest."""
    values = {"pattern": f"%{person}%", "since": since}
    return [key for (key,) in tx.all(_KEYS_NAMING, account_id=account_id, **values)]


def erase(account_id: str, keys: Collection[str], tx: Transaction) -> None:
    """Removes the responses of keys. The keys stay in use."""
    removed = {"fingerprint": "", "response": _ERASED, "persons": ""}
    tx.run(_ERASE, account_id=account_id, keys=list(keys), running=_RUNNING, **removed)


def mark_running(account_id: str, key: str, fingerprint: str, tx: Transaction) -> None:
    """Marks a key as in use until its response is stored, or for RUNNING_MILLISECONDS."""
    created_at = tx.now + RUNNING_MILLISECONDS - RETENTION_MILLISECONDS
    values = {"fingerprint": fingerprint, "response": _RUNNING, "persons": ""}
    tx.run(_PUT, account_id=account_id, key=key, **values, created_at=created_at)


def release(account_id: str, key: str, tx: Transaction) -> None:
    """Releases the key of a failed request."""
    tx.run(_DELETE, account_id=account_id, key=key)


def has_old(account_id: str, tx: Transaction) -> bool:
    """Whether the account has expired responses."""
    since = tx.now - RETENTION_MILLISECONDS
    return tx.one(_ONE_OLD, account_id=account_id, since=since) is not None


def purge(account_id: str, tx: Transaction, limit: int = PURGE_BATCH_SIZE) -> int:
    """Deletes at most `limit` expired responses, oldest first, and returns their number."""
    since = tx.now - RETENTION_MILLISECONDS
    return tx.run(_PURGE, account_id=account_id, since=since, limit=limit)
