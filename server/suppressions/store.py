"""Stores suppressions: keyed hashes of addresses that cannot be subscribed again."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from peewee import EXCLUDED, SQL, fn

from ..encryption import Encryption
from ..errors import SuppressionNotFound
from ..paging import Page
from ..storage.statements import Statement, param
from ..storage.transaction import Transaction
from .models import Suppression

_PURPOSE = "suppression"


class SuppressionRow(NamedTuple):
    """A stored suppression; `created_at` is in milliseconds."""

    email_hash: str
    reason: int
    created_at: int


_COLUMNS = tuple(getattr(Suppression, name) for name in SuppressionRow._fields)
_IN_ACCOUNT = Suppression.account_id == param("account_id")
_ONE = _IN_ACCOUNT & (Suppression.email_hash == param("email_hash"))

_FIND = Statement(lambda _: Suppression.select(*_COLUMNS).where(_ONE))
_FIRST = Statement(
    lambda _: Suppression.select(Suppression.reason).where(_IN_ACCOUNT).limit(SQL("1"))
)
_AMONG = Statement(
    lambda dialect: Suppression.select(Suppression.email_hash).where(
        _IN_ACCOUNT & dialect.any_of(Suppression.email_hash, "hashes")
    )
)
_COUNT = Statement(lambda _: Suppression.select(fn.COUNT(Suppression.reason)).where(_IN_ACCOUNT))
_PAGE = Statement(
    lambda _: (
        Suppression.select(*_COLUMNS)
        .where(_IN_ACCOUNT)
        .order_by(Suppression.account_id, Suppression.created_at, Suppression.email_hash)
        .limit(param("limit"))
        .offset(param("offset"))
    )
)
_PUT = Statement(
    lambda _: Suppression.insert(
        {
            Suppression.account_id: param("account_id"),
            **{column: param(column.name) for column in _COLUMNS},
        }
    ).on_conflict(
        conflict_target=[Suppression.account_id, Suppression.email_hash],
        update={Suppression.reason: EXCLUDED.reason, Suppression.created_at: EXCLUDED.created_at},
    )
)
_DELETE = Statement(lambda _: Suppression.delete().where(_ONE))


class Suppressions:
    """The suppressions of all accounts. Addresses are email keys."""

    def __init__(self, encryption: Encryption) -> None:
        self._encryption = encryption

    def add(self, account_id: str, email_key: str, reason: int, tx: Transaction) -> None:
        row = SuppressionRow(self._hash(account_id, email_key), reason, tx.now)
        tx.run(_PUT, account_id=account_id, **row._asdict())

    def suppressed_among(
        self, account_id: str, email_keys: Collection[str], tx: Transaction
    ) -> Collection[str]:
        """Returns the suppressed addresses among these. At most two statements.

        Hashes are computed only if the account has a suppression; most accounts have none.
        """
        if not email_keys or tx.scalar(_FIRST, account_id=account_id) is None:
            return ()
        keys = {self._hash(account_id, key): key for key in email_keys}
        rows = tx.all(_AMONG, account_id=account_id, hashes=list(keys))
        return {keys[email_hash] for (email_hash,) in rows}

    def find(self, account_id: str, email_key: str, tx: Transaction) -> SuppressionRow:
        """Returns the suppression of an address. Raises SuppressionNotFound."""
        email_hash = self._hash(account_id, email_key)
        row = tx.one(_FIND, account_id=account_id, email_hash=email_hash)
        if row is None:
            raise SuppressionNotFound
        return SuppressionRow._make(row)

    def page(
        self, account_id: str, page: Page, tx: Transaction
    ) -> tuple[list[SuppressionRow], int]:
        """Returns the suppressions of a page, oldest first, and the number of suppressions."""
        rows = tx.all(_PAGE, account_id=account_id, limit=page.limit, offset=page.offset)
        total = tx.scalar(_COUNT, account_id=account_id)
        return [SuppressionRow._make(row) for row in rows], int(total)

    def delete(self, account_id: str, email_key: str, tx: Transaction) -> None:
        """Deletes the suppression of an address. Raises SuppressionNotFound."""
        email_hash = self._hash(account_id, email_key)
        if not tx.run(_DELETE, account_id=account_id, email_hash=email_hash):
            raise SuppressionNotFound

    def _hash(self, account_id: str, email_key: str) -> str:
        return self._encryption.digest(_PURPOSE, account_id, email_key)
