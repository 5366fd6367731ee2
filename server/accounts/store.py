"""Accounts and their keys in the database."""

from __future__ import annotations

from typing import NamedTuple

from peewee import fn

from ..errors import ApiKeyNotFound
from ..paging import Page
from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .models import Account, ApiKey


class AccountRow(NamedTuple):
    """An account as it is stored; `created_at` in milliseconds."""

    id: str
    email: str
    email_verified: bool
    created_at: int


class ApiKeyRow(NamedTuple):
    """A key as it is stored, without its hash; times in milliseconds."""

    id: str
    name: str
    scope: str
    created_at: int
    expires_at: int | None


class Identity(NamedTuple):
    """What a key says about its bearer."""

    account_id: str
    key_id: str
    scope: str
    expires_at: int | None
    email_verified: bool


_ACCOUNT_COLUMNS = tuple(getattr(Account, name) for name in AccountRow._fields)
_KEY_COLUMNS = tuple(getattr(ApiKey, name) for name in ApiKeyRow._fields)
_IN_ACCOUNT = ApiKey.account_id == param("account_id")
_ONE_KEY = _IN_ACCOUNT & (ApiKey.id == param("id"))

_INSERT_ACCOUNT = Statement(
    lambda _: Account.insert({column: param(column.name) for column in _ACCOUNT_COLUMNS})
)
_LIST_ACCOUNTS = Statement(lambda _: Account.select(*_ACCOUNT_COLUMNS).order_by(Account.id))
_IDS_BEYOND = Statement(
    lambda _: (
        Account.select(Account.id)
        .where(Account.id > param("after"))
        .order_by(Account.id)
        .limit(param("limit"))
    )
)
_FIND_ACCOUNT = Statement(
    lambda _: Account.select(*_ACCOUNT_COLUMNS).where(Account.id == param("account_id"))
)
_VERIFY = Statement(
    lambda _: Account.update({Account.email_verified: param("email_verified")}).where(
        Account.id == param("account_id")
    )
)
_IDENTIFY = Statement(
    lambda _: (
        ApiKey.select(
            ApiKey.account_id, ApiKey.id, ApiKey.scope, ApiKey.expires_at, Account.email_verified
        )
        .join(Account, on=Account.id == ApiKey.account_id)
        .where(ApiKey.secret_hash == param("secret_hash"))
    )
)
_ACCOUNT_OF_KEY = Statement(
    lambda _: ApiKey.select(ApiKey.account_id).where(ApiKey.id == param("id"))
)
_INSERT_KEY = Statement(
    lambda _: ApiKey.insert(
        {
            ApiKey.account_id: param("account_id"),
            ApiKey.secret_hash: param("secret_hash"),
            **{column: param(column.name) for column in _KEY_COLUMNS},
        }
    )
)
_FIND_KEY = Statement(lambda _: ApiKey.select(*_KEY_COLUMNS).where(_ONE_KEY))
_COUNT_KEYS = Statement(lambda _: ApiKey.select(fn.COUNT(ApiKey.id)).where(_IN_ACCOUNT))
_PAGE_KEYS = Statement(
    lambda _: (
        ApiKey.select(*_KEY_COLUMNS)
        .where(_IN_ACCOUNT)
        .order_by(ApiKey.account_id, ApiKey.id)
        .limit(param("limit"))
        .offset(param("offset"))
    )
)
_ROTATE_KEY = Statement(
    lambda _: ApiKey.update({ApiKey.secret_hash: param("secret_hash")}).where(_ONE_KEY)
)
_DELETE_KEY = Statement(lambda _: ApiKey.delete().where(_ONE_KEY))
_NEWEST = Statement(lambda _: ApiKey.select(fn.MAX(ApiKey.id)))


def create_account(email: str, tx: Transaction, *, verified: bool) -> AccountRow:
    """Stores a new account."""
    row = AccountRow(tx.new_id(), email, verified, tx.now)
    tx.run(_INSERT_ACCOUNT, **row._asdict())
    return row


def list_accounts(tx: Transaction) -> list[AccountRow]:
    """Returns every account, oldest first. For whoever operates the service only."""
    return [_account(row) for row in tx.all(_LIST_ACCOUNTS)]


def ids_of_any_account(after: str, most: int, tx: Transaction) -> list[str]:
    """Returns the ids of accounts in order, those beyond an id, at most so many.

    For the upkeep only.
    """
    return [account_id for (account_id,) in tx.all(_IDS_BEYOND, after=after, limit=most)]


def find_account(account_id: str, tx: Transaction) -> AccountRow | None:
    """Returns the account, or None if there is none."""
    row = tx.one(_FIND_ACCOUNT, account_id=account_id)
    return _account(row) if row else None


def verify_account(account_id: str, tx: Transaction) -> bool:
    """Marks the account's email address as verified. Returns whether there is such an account."""
    return tx.run(_VERIFY, account_id=account_id, email_verified=True) > 0


def _account(row: tuple[str, str, int, int]) -> AccountRow:
    account = AccountRow._make(row)
    return account._replace(email_verified=bool(account.email_verified))


def identify_any_account(secret_hash: str, tx: Transaction) -> Identity | None:
    """Returns whose key has this hash, or None if nobody's has.

    One of two look-ups that no account bounds, on a reference table.
    """
    row = tx.one(_IDENTIFY, secret_hash=secret_hash)
    return Identity._make(row) if row else None


def find_account_of_any_key(key_id: str, tx: Transaction) -> str | None:
    """Returns which account a key belongs to, or None. For whoever operates the service only."""
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
    """Stores a new key."""
    row = ApiKeyRow(tx.new_id(), name, scope, tx.now, expires_at)
    tx.run(_INSERT_KEY, account_id=account_id, secret_hash=secret_hash, **row._asdict())
    return row


def page_of_keys(account_id: str, page: Page, tx: Transaction) -> tuple[list[ApiKeyRow], int]:
    """Returns the keys of a page, oldest first, and how many the account has."""
    rows = tx.all(_PAGE_KEYS, account_id=account_id, limit=page.limit, offset=page.offset)
    total = tx.one(_COUNT_KEYS, account_id=account_id)
    return [ApiKeyRow._make(row) for row in rows], int(total[0]) if total else 0


def rotate_key(account_id: str, key_id: str, secret_hash: str, tx: Transaction) -> ApiKeyRow:
    """Gives a key a new secret and returns it. Raises ApiKeyNotFound."""
    if not tx.run(_ROTATE_KEY, account_id=account_id, id=key_id, secret_hash=secret_hash):
        raise ApiKeyNotFound
    row = tx.one(_FIND_KEY, account_id=account_id, id=key_id)
    if row is None:
        raise ApiKeyNotFound
    return ApiKeyRow._make(row)


def revoke_key(account_id: str, key_id: str, tx: Transaction) -> None:
    """Ends a key. Raises ApiKeyNotFound."""
    if not tx.run(_DELETE_KEY, account_id=account_id, id=key_id):
        raise ApiKeyNotFound


def has_key(account_id: str, key_id: str, tx: Transaction) -> bool:
    """Whether a key may still be used: for callers who stay after it was looked at."""
    row = tx.one(_FIND_KEY, account_id=account_id, id=key_id)
    if row is None:
        return False
    expires_at = ApiKeyRow._make(row).expires_at
    return expires_at is None or tx.now < expires_at


def newest_key_of_any_account(tx: Transaction) -> str | None:
    """Returns the greatest id of all, or None. For the start of the service."""
    row = tx.one(_NEWEST)
    return row[0] if row else None
