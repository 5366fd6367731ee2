"""API keys in the database."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from peewee import SQL

from ...rpc.errors import ApiKeyExpired, ApiKeyNotFound, Unauthorized
from ...storage.resource import Resource
from ...storage.statements import Statement, param, params
from ...storage.transaction import Transaction
from ...values.actors import Actor, ActorType
from ...values.clock import iso8601
from ..audit.store import command_line
from .models import Account, ApiKey, NamedActor
from .rules import ADMIN


class ApiKeyRow(NamedTuple):
    """A key as it is stored, without hashes; see `ApiKey`. Times in milliseconds."""

    id: str
    name: str
    scope: str
    created_at: int
    expires_at: int | None
    last_used_at: int | None = None
    created_by: str | None = None
    created_by_name: str | None = None
    created_by_type: str | None = None
    previous_expires_at: int | None = None

    def is_expired(self, now: int) -> bool:
        """Whether the key has expired; `now` in milliseconds."""
        return self.expires_at is not None and self.expires_at <= now

    def as_json(self) -> dict[str, Any]:
        """Returns the key as the API returns it."""
        times = {
            "createdAt": self.created_at,
            "expiresAt": self.expires_at,
            "lastUsedAt": self.last_used_at,
            "previousSecretExpiresAt": self.previous_expires_at,
        }
        return {
            "id": self.id,
            "name": self.name,
            "scope": self.scope,
            **{name: iso8601(time) for name, time in times.items() if time is not None},
            **({} if self.created_by is None else {"createdBy": self._creator.as_json()}),
        }

    @property
    def _creator(self) -> Actor:
        default = ActorType.API_KEY if self.created_by else ActorType.COMMAND_LINE
        type_ = ActorType(self.created_by_type or default)
        return Actor(type_, self.created_by or "", self.created_by_name or "")


class Identity(NamedTuple):
    """The account and permissions of an API key.

    `expires_at` is the time at which its secret stops working, and `last_used_at` the stored day.
    """

    account_id: str
    key_id: str
    scope: str
    expires_at: int | None
    email_verified: bool
    name: str
    last_used_at: int | None


_KEYS = Resource(
    ApiKeyRow,
    ApiKey.id,
    ApiKeyNotFound,
    hidden=(ApiKey.secret_hash,),
    changed=(ApiKey.secret_hash, ApiKey.previous_secret_hash, ApiKey.previous_expires_at),
)
find_key, page_of_keys = _KEYS.find, _KEYS.page
newest_key_of_any_account = _KEYS.newest_id_of_any_account

_SECRET_HASH = Statement(
    lambda _: ApiKey.select(ApiKey.secret_hash).where(_KEYS.one), has_one_plan=True
)
_ACTORS = Statement(
    lambda dialect: (
        ApiKey.select(SQL(f"'{ActorType.API_KEY}'"), ApiKey.id, ApiKey.name)
        .where(_KEYS.in_account & dialect.any_of(ApiKey.id, "ids"))
        .union_all(
            NamedActor.select(NamedActor.type, NamedActor.id, NamedActor.name).where(
                (NamedActor.account_id == param("account_id"))
                & dialect.any_of(NamedActor.id, "ids")
            )
        )
    ),
    has_one_plan=True,
)
_KEEP_ACTOR = Statement(
    lambda _: NamedActor.insert(
        params(NamedActor.account_id, NamedActor.id, NamedActor.type, NamedActor.name)
    ).on_conflict_ignore()
)
_DELETE_KEYS = Statement(lambda _: ApiKey.delete().where(_KEYS.in_account))
_IDENTIFY = Statement(
    lambda _: (
        ApiKey.select(
            ApiKey.account_id,
            ApiKey.id,
            ApiKey.scope,
            ApiKey.expires_at,
            Account.email_verified,
            ApiKey.name,
            ApiKey.last_used_at,
            ApiKey.secret_hash,
            ApiKey.previous_expires_at,
        )
        .join(Account, on=Account.id == ApiKey.account_id)
        .where(
            (ApiKey.secret_hash == param("secret_hash"))
            | (ApiKey.previous_secret_hash == param("secret_hash"))
        )
    ),
    has_one_plan=True,
)
_RECORD_USE = Statement(
    lambda dialect: ApiKey.update({ApiKey.last_used_at: param("day")}).where(
        _KEYS.in_account
        & dialect.any_of(ApiKey.id, "ids")
        & (ApiKey.last_used_at.is_null() | (ApiKey.last_used_at < param("day")))
    ),
    without_account_lock=True,
)
_LIST_KEYS = Statement(
    lambda _: ApiKey.select(ApiKey.account_id, *_KEYS.columns).order_by(
        ApiKey.account_id, ApiKey.id
    )
)
_ACCOUNT_OF_KEY = Statement(
    lambda _: ApiKey.select(ApiKey.account_id).where(ApiKey.id == param("id"))
)
# Of the usable admin keys except one, the last to expire.
_LAST_TO_EXPIRE = Statement(
    lambda _: (
        ApiKey.select(ApiKey.expires_at)
        .where(
            _KEYS.in_account
            & (ApiKey.id != param("id"))
            & (ApiKey.scope == param("scope"))
            & (ApiKey.expires_at.is_null() | (ApiKey.expires_at > param("now")))
        )
        .order_by(ApiKey.expires_at.desc(nulls="FIRST"))
        .limit(SQL("1"))
    )
)


def identify_any_account(secret_hash: str, tx: Transaction) -> Identity | None:
    """Returns the identity of the key with this hash, or None.

    This query has no account ID, and reads reference tables.
    """
    row = tx.one(_IDENTIFY, secret_hash=secret_hash)
    if row is None:
        return None
    *identity, current_hash, previous_expires_at = row
    found = Identity._make(identity)
    if current_hash == secret_hash:
        return found
    times = [time for time in (found.expires_at, previous_expires_at) if time is not None]
    return found._replace(expires_at=min(times))


def find_account_of_any_key(key_id: str, tx: Transaction) -> str | None:
    """Returns the account of a key, or None. For operators only."""
    row = tx.one(_ACCOUNT_OF_KEY, id=key_id)
    return str(row[0]) if row else None


def create_key(
    account_id: str,
    name: str,
    scope: str,
    secret_hash: str,
    tx: Transaction,
    *,
    expires_at: int | None = None,
) -> ApiKeyRow:
    """Stores a new key. Without an actor, the command line creates it."""
    by = tx.actor or command_line()
    creator = (by.id, by.name, by.type)
    row = ApiKeyRow(tx.new_id(), name, scope, tx.now, expires_at, None, *creator)
    _KEYS.insert(account_id, row, tx, secret_hash=secret_hash)
    return row


def rotate_key(
    account_id: str, key_id: str, secret_hash: str, tx: Transaction, *, grace_seconds: int = 0
) -> ApiKeyRow:
    """Gives a key a new secret and returns it. Raises ApiKeyNotFound or ApiKeyExpired.

    The old secret works for `grace_seconds` more, and older ones no longer.
    """
    key = _KEYS.find(account_id, key_id, tx)
    if key.is_expired(tx.now):
        raise ApiKeyExpired
    previous_hash = previous_expires_at = None
    if grace_seconds:
        previous_hash = secret_hash_of(account_id, key_id, tx)
        previous_expires_at = tx.now + grace_seconds * 1000
    key = key._replace(previous_expires_at=previous_expires_at)
    hashes = {"secret_hash": secret_hash, "previous_secret_hash": previous_hash}
    _KEYS.update(account_id, key, tx, **hashes)
    return key


def record_use(account_id: str, key_ids: Collection[str], day: int, tx: Transaction) -> int:
    """Stores the day on which keys were used, and returns the number of changed keys."""
    return tx.run(_RECORD_USE, account_id=account_id, ids=list(key_ids), day=day)


def keys_of_any_account(tx: Transaction) -> list[tuple[str, ApiKeyRow]]:
    """Returns all keys with their accounts, oldest first in each. For operators only."""
    return [(account_id, ApiKeyRow._make(row)) for account_id, *row in tx.all(_LIST_KEYS)]


def secret_hash_of(account_id: str, key_id: str, tx: Transaction) -> str:
    """Returns the stored hash of the secret of an existing key."""
    return str(tx.scalar(_SECRET_HASH, account_id=account_id, id=key_id))


def revoke_key(account_id: str, key_id: str, tx: Transaction) -> None:
    """Deletes a key and keeps its name for the history. Raises ApiKeyNotFound."""
    key = find_key(account_id, key_id, tx)
    keep_actor(account_id, Actor(ActorType.API_KEY, key.id, key.name), tx)
    _KEYS.delete(account_id, key_id, tx)


def keep_actor(account_id: str, actor: Actor, tx: Transaction) -> None:
    """Stores the name of an API key that is revoked, or of a new session, for the history."""
    tx.run(_KEEP_ACTOR, account_id=account_id, id=actor.id, type=actor.type, name=actor.name)


def actors_by_id(account_id: str, ids: Collection[str], tx: Transaction) -> dict[str, Actor]:
    """Returns the API keys and sessions with these IDs, also revoked ones.

    A name never changes, so it is that at the time of each change. Keys that an earlier version
    revoked are missing. One statement.
    """
    rows = tx.all(_ACTORS, account_id=account_id, ids=list(ids)) if ids else ()
    return {id_: Actor(ActorType(type_), id_, name) for type_, id_, name in rows}


def is_last_admin_key(account_id: str, key_id: str, tx: Transaction) -> bool:
    """Whether an account needs a key to manage its keys.

    No other admin key is usable, or the others expire and this one does not.
    """
    key = _KEYS.find_or_none(account_id, key_id, tx)
    if key is None or key.scope != ADMIN or key.is_expired(tx.now):
        return False
    other = tx.one(_LAST_TO_EXPIRE, account_id=account_id, id=key_id, scope=ADMIN, now=tx.now)
    return other is None or (key.expires_at is None and other[0] is not None)


def check_key(account_id: str, key_id: str, tx: Transaction) -> None:
    """Raises Unauthorized unless a key is still valid; for streams, which can last for hours.

    The deletion of an account relies on it: no stream may store rows after it.
    """
    key = _KEYS.find_or_none(account_id, key_id, tx)
    if key is None or key.is_expired(tx.now):
        raise Unauthorized


def delete_keys(account_id: str, tx: Transaction) -> int:
    """Deletes all keys of an account and returns their number."""
    return tx.run(_DELETE_KEYS, account_id=account_id)
