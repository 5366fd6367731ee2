"""Accounts and their logos in the database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from peewee import EXCLUDED

from ...storage.statements import Statement, param, params
from ...storage.transaction import Transaction
from ...values.clock import iso8601
from ...values.emails import comparison_key
from ..audit.store import record_command
from .models import Account, AccountLogo
from .rules import ADMIN
from .store_keys import ApiKeyRow, create_key


class AccountRow(NamedTuple):
    """An account as it is stored; `created_at` in milliseconds."""

    id: str
    email: str
    email_verified: bool
    created_at: int
    display_name: str
    color: str

    def as_json(self) -> dict[str, Any]:
        """Returns the account as the command line prints it."""
        return {
            "id": self.id,
            "email": self.email,
            "emailVerified": self.email_verified,
            "displayName": self.display_name,
            "createdAt": iso8601(self.created_at),
        }


class Branding(NamedTuple):
    """The name and design of an account's pages; a value that is not set is empty."""

    display_name: str
    color: str
    logo_type: str
    logo: bytes


class AccountExists(Exception):
    """Another account, with this ID, has the email address."""

    def __init__(self, account_id: str) -> None:
        super().__init__(account_id)
        self.account_id = account_id


_ACCOUNT_COLUMNS = tuple(getattr(Account, name) for name in AccountRow._fields)
_INSERT_ACCOUNT = Statement(
    lambda _: Account.insert(
        {column: param(column.name) for column in (*_ACCOUNT_COLUMNS, Account.email_key)}
    ).on_conflict_ignore()
)
_FIND_ACCOUNT_BY_EMAIL = Statement(
    lambda _: Account.select(Account.id).where(Account.email_key == param("email_key"))
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
_UPDATE_ACCOUNT = Statement(
    lambda _: Account.update(params(Account.display_name, Account.color)).where(
        Account.id == param("account_id")
    )
)
_DELETE_ACCOUNT = Statement(lambda _: Account.delete().where(Account.id == param("account_id")))
_LOGO_IN_ACCOUNT = AccountLogo.account_id == param("account_id")
_FIND_LOGO = Statement(
    lambda _: AccountLogo.select(AccountLogo.content_type, AccountLogo.data).where(
        _LOGO_IN_ACCOUNT
    ),
    has_one_plan=True,
)
_PUT_LOGO = Statement(
    lambda _: AccountLogo.insert(
        params(AccountLogo.account_id, AccountLogo.content_type, AccountLogo.data)
    ).on_conflict(
        conflict_target=[AccountLogo.account_id],
        update={
            AccountLogo.content_type: EXCLUDED.content_type,
            AccountLogo.data: EXCLUDED.data,
        },
    )
)
_DELETE_LOGO = Statement(lambda _: AccountLogo.delete().where(_LOGO_IN_ACCOUNT))


def create_account(
    email: str, tx: Transaction, *, verified: bool, display_name: str = ""
) -> AccountRow:
    """Stores a new account. Raises AccountExists if another one has the email address."""
    row = AccountRow(tx.new_id(), email, verified, tx.now, display_name, color="")
    key = comparison_key(email)
    if not tx.run(_INSERT_ACCOUNT, email_key=key, **row._asdict()):
        existing = tx.one(_FIND_ACCOUNT_BY_EMAIL, email_key=key)
        raise AccountExists(existing[0] if existing else "")
    return row


def create_account_with_key(
    email: str, secret_hash: str, tx: Transaction, *, verified: bool, display_name: str = ""
) -> tuple[AccountRow, ApiKeyRow]:
    """Stores a new account and its first key, for a command. Raises as `create_account`."""
    account = create_account(email, tx, verified=verified, display_name=display_name)
    key = create_key(account.id, "first key", ADMIN, secret_hash, tx)
    record_command(account.id, "account.created", tx, after=account.as_json())
    record_command(account.id, "api_key.created", tx, after=key.as_json())
    return account, key


def list_accounts(tx: Transaction) -> list[AccountRow]:
    """Returns all accounts, oldest first. For operators only."""
    return [_account(row) for row in tx.all(_LIST_ACCOUNTS)]


def ids_of_any_account(after: str, limit: int, tx: Transaction) -> list[str]:
    """Returns the first IDs of accounts after an ID, in order. For maintenance only."""
    return [account_id for (account_id,) in tx.all(_IDS_BEYOND, after=after, limit=limit)]


def find_account(account_id: str, tx: Transaction) -> AccountRow | None:
    """Returns the account, or None if there is none."""
    row = tx.one(_FIND_ACCOUNT, account_id=account_id)
    return _account(row) if row else None


def verify_account(account_id: str, tx: Transaction) -> bool:
    """Marks an account's email address as verified. Returns whether the account exists."""
    return tx.run(_VERIFY, account_id=account_id, email_verified=True) > 0


def update_account(
    account_id: str, changes: Mapping[str, Any], tx: Transaction
) -> AccountRow | None:
    """Changes the name or color of an account and returns it, or None if there is none."""
    before = find_account(account_id, tx)
    if before is None:
        return None
    row = before._replace(**changes)
    if row != before:
        tx.run(
            _UPDATE_ACCOUNT, account_id=account_id, display_name=row.display_name, color=row.color
        )
    return row


def delete_account(account_id: str, tx: Transaction) -> None:
    """Deletes an account, whose rows in other tables are deleted before."""
    tx.run(_DELETE_ACCOUNT, account_id=account_id)


def set_logo(account_id: str, content_type: str, data: bytes, tx: Transaction) -> None:
    """Stores the logo of an account. Empty data deletes it."""
    if data:
        tx.run(_PUT_LOGO, account_id=account_id, content_type=content_type, data=data)
    else:
        tx.run(_DELETE_LOGO, account_id=account_id)


def find_logo(account_id: str, tx: Transaction) -> tuple[str, bytes]:
    """Returns the content type and the data of the logo, which are empty if there is none."""
    content_type, data = tx.one(_FIND_LOGO, account_id=account_id) or ("", b"")
    return content_type, bytes(data)


def branding(account_id: str, tx: Transaction) -> Branding:
    """Returns the name and design of an account's pages. Two statements."""
    account = find_account(account_id, tx)
    name, color = (account.display_name, account.color) if account else ("", "")
    return Branding(name, color, *find_logo(account_id, tx))


def _account(row: tuple[Any, ...]) -> AccountRow:
    account = AccountRow._make(row)
    return account._replace(email_verified=bool(account.email_verified))
