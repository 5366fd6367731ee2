"""Sessions and sign-in links in the database.

Statements select only those that work: that of a session compares the key that it began with too,
so nothing has to end the sessions of a key that is revoked or rotated, or expires.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, NamedTuple

from peewee import SQL, Expression, Node, fn

from ...rpc.errors import (
    SessionNotFound,
    SignInLinkNotFound,
    Unauthorized,
)
from ...storage.resource import Resource
from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ...values.actors import Actor, ActorType
from ...values.clock import iso8601
from ..accounts.models import Account, ApiKey
from ..accounts.store_keys import check_key, keep_actor
from . import rules
from .models import Session, SignInLink


class SessionRow(NamedTuple):
    """A session as it is stored, without hashes; see `Session`. Times in milliseconds."""

    id: str
    name: str
    scope: str
    created_at: int
    expires_at: int
    last_used_at: int
    api_key_id: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Returns the session as the API returns it."""
        return {
            "id": self.id,
            "name": self.name,
            "scope": self.scope,
            "createdAt": iso8601(self.created_at),
            "expiresAt": iso8601(self.expires_at),
            "lastUsedAt": iso8601(self.last_used_at),
            **({"apiKeyId": self.api_key_id} if self.api_key_id else {}),
        }


class SignInLinkRow(NamedTuple):
    """A link as it is stored, without its hash; see `SignInLink`. Times in milliseconds."""

    id: str
    name: str
    scope: str
    created_at: int
    expires_at: int

    def as_json(self) -> dict[str, Any]:
        """Returns the link as the API returns it."""
        return {
            "id": self.id,
            "name": self.name,
            "scope": self.scope,
            "createdAt": iso8601(self.created_at),
            "expiresAt": iso8601(self.expires_at),
        }


class KeyOfSession(NamedTuple):
    """The API key that a session begins with; `expires_at` is when its secret stops working."""

    id: str
    secret_hash: str
    expires_at: int | None


_NOW = param("now")
_KEY_WORKS = fn.EXISTS(
    ApiKey.select(SQL("1")).where(
        (ApiKey.account_id == Session.account_id)
        & (ApiKey.id == Session.api_key_id)
        & (ApiKey.expires_at.is_null() | (ApiKey.expires_at > _NOW))
        & (
            (ApiKey.secret_hash == Session.api_key_hash)
            | (
                (ApiKey.previous_secret_hash == Session.api_key_hash)
                & (ApiKey.previous_expires_at > _NOW)
            )
        )
    )
)
_SESSION_WORKS = (
    (Session.expires_at > _NOW)
    & (Session.last_used_at + SQL(str(rules.IDLE_TIME)) > _NOW)
    & (Session.created_at - SQL(str(rules.CLOCK_TOLERANCE)) < _NOW)
    & (Session.api_key_id.is_null() | _KEY_WORKS)
)
_LINK_WORKS = (SignInLink.expires_at > _NOW) & (
    SignInLink.created_at - SQL(str(rules.CLOCK_TOLERANCE)) < _NOW
)
_SESSIONS = Resource(
    SessionRow,
    Session.id,
    SessionNotFound,
    hidden=(Session.secret_hash, Session.api_key_hash),
    among=_SESSION_WORKS,
)
_LINKS = Resource(
    SignInLinkRow,
    SignInLink.id,
    SignInLinkNotFound,
    hidden=(SignInLink.secret_hash,),
    among=_LINK_WORKS,
)
find_session, find_session_or_none = _SESSIONS.find, _SESSIONS.find_or_none
page_of_sessions, delete_session = _SESSIONS.page, _SESSIONS.delete
find_link, page_of_links, delete_link = _LINKS.find, _LINKS.page, _LINKS.delete
count_links = _LINKS.count

_IDENTIFY = Statement(
    lambda _: (
        Session.select(*_SESSIONS.columns, Account.email_verified)
        .join(Account, on=Account.id == Session.account_id)
        .where(
            _SESSIONS.in_account & (Session.secret_hash == param("secret_hash")) & _SESSION_WORKS
        )
    ),
    has_one_plan=True,
)
_FIND_LINK = Statement(
    lambda _: SignInLink.select(*_LINKS.columns).where(
        _LINKS.in_account & (SignInLink.secret_hash == param("secret_hash")) & _LINK_WORKS
    ),
    has_one_plan=True,
)
_RECORD_USE = Statement(
    lambda dialect: Session.update({Session.last_used_at: param("time")}).where(
        _SESSIONS.in_account
        & dialect.any_of(Session.id, "ids")
        & (Session.last_used_at < param("time"))
    ),
    without_account_lock=True,
)
_OF_KEY = _SESSIONS.in_account & (Session.api_key_id == param("api_key_id"))
_LAST_OF_KEY = Statement(
    lambda _: (
        Session.select(Session.id)
        .where(_OF_KEY)
        .order_by(Session.account_id.desc(), Session.id.desc())
        .limit(SQL("1"))
        .offset(param("kept"))
    )
)
_DELETE_OF_KEY = Statement(
    lambda _: Session.delete().where(_OF_KEY & (Session.id <= param("last")))
)
_SESSION_IDS = Statement(lambda _: Session.select(Session.id).where(_SESSIONS.in_account))


def _of_both(build: Callable[[Any, Expression], Node], **options: bool) -> list[Statement]:
    """Returns a statement for the sessions of an account, and one for its links."""
    tables = ((Session, _SESSIONS.in_account), (SignInLink, _LINKS.in_account))
    return [Statement(partial(_built, build, *each), **options) for each in tables]


def _built(
    build: Callable[[Any, Expression], Node], table: Any, in_account: Expression, _: Dialect
) -> Node:
    return build(table, in_account)


_DELETE_ALL = _of_both(lambda table, in_account: table.delete().where(in_account))
_HAS_OLD = _of_both(
    lambda table, in_account: (
        table.select(table.id).where(in_account & (table.expires_at <= _NOW)).limit(SQL("1"))
    )
)
_PURGE = _of_both(
    lambda table, in_account: table.delete().where(in_account & (table.expires_at <= _NOW)),
    without_account_lock=True,
)


def create_session(
    account_id: str,
    name: str,
    scope: str,
    secret_hash: str,
    tx: Transaction,
    key: KeyOfSession | None = None,
) -> SessionRow:
    """Stores a new session. Ends the oldest ones of its key if there are too many."""
    expires_at, session_id = tx.now + rules.SESSION_TIME, tx.new_id()
    keep_actor(account_id, Actor(ActorType.SESSION, session_id, name), tx)
    if key is None:
        row = SessionRow(session_id, name, scope, tx.now, expires_at, tx.now)
        _SESSIONS.insert(account_id, row, tx, secret_hash=secret_hash, api_key_hash=None)
        return row
    if key.expires_at is not None:
        expires_at = min(expires_at, key.expires_at)
    row = SessionRow(session_id, name, scope, tx.now, expires_at, tx.now, key.id)
    _SESSIONS.insert(account_id, row, tx, secret_hash=secret_hash, api_key_hash=key.secret_hash)
    kept = rules.MAX_SESSIONS_OF_KEY
    last = tx.scalar(_LAST_OF_KEY, account_id=account_id, api_key_id=key.id, kept=kept)
    if last is not None:
        tx.run(_DELETE_OF_KEY, account_id=account_id, api_key_id=key.id, last=last)
    return row


def identify(account_id: str, secret_hash: str, tx: Transaction) -> tuple[SessionRow, bool] | None:
    """Returns the session with this hash, and whether the email of its account is verified.

    Returns None if there is none, or it has ended.
    """
    row = tx.one(_IDENTIFY, account_id=account_id, secret_hash=secret_hash, now=tx.now)
    return (SessionRow._make(row[:-1]), bool(row[-1])) if row else None


def check_credential(account_id: str, credential_id: str, tx: Transaction) -> None:
    """Raises Unauthorized unless a key or session still works, as `check_key`."""
    try:
        check_key(account_id, credential_id, tx)
    except Unauthorized:
        if find_session_or_none(account_id, credential_id, tx) is None:
            raise


def record_use(account_id: str, session_ids: Collection[str], time: int, tx: Transaction) -> int:
    """Stores the time at which sessions were used, and returns the number of changed sessions."""
    return tx.run(_RECORD_USE, account_id=account_id, ids=list(session_ids), time=time)


def create_link(
    account_id: str, name: str, scope: str, secret_hash: str, time: int, tx: Transaction
) -> SignInLinkRow:
    """Stores a link that works for `time` milliseconds."""
    row = SignInLinkRow(tx.new_id(), name, scope, tx.now, tx.now + time)
    _LINKS.insert(account_id, row, tx, secret_hash=secret_hash)
    return row


def find_link_by_hash(account_id: str, secret_hash: str, tx: Transaction) -> SignInLinkRow | None:
    """Returns the link with this hash, or None if there is none or it has expired."""
    row = tx.one(_FIND_LINK, account_id=account_id, secret_hash=secret_hash, now=tx.now)
    return SignInLinkRow._make(row) if row else None


def delete_all(account_id: str, tx: Transaction) -> tuple[list[str], int]:
    """Deletes all sessions and links. Returns the IDs of the sessions, and the number of links."""
    session_ids = [session_id for (session_id,) in tx.all(_SESSION_IDS, account_id=account_id)]
    _, links = (tx.run(statement, account_id=account_id) for statement in _DELETE_ALL)
    return session_ids, links


def has_old(account_id: str, tx: Transaction) -> bool:
    """Whether an account has sessions or links that have expired."""
    old = (tx.one(statement, account_id=account_id, now=tx.now) for statement in _HAS_OLD)
    return any(row is not None for row in old)


def purge(account_id: str, tx: Transaction) -> int:
    """Deletes the sessions and links that have expired, and returns their number."""
    return sum(tx.run(statement, account_id=account_id, now=tx.now) for statement in _PURGE)
