"""Stores suppressions: keyed hashes of addresses that cannot be subscribed again."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from peewee import SQL, Case

from ...rpc.errors import SuppressionNotFound
from ...rpc.paging import Page
from ...security.encryption import Encryption
from ...storage.resource import Resource
from ...storage.statements import Statement, param, params
from ...storage.transaction import Transaction
from .models import Suppression
from .rules import STRICTNESS, NewSuppression, Reason, strictest

_PURPOSE = "suppression"
_HASH = re.compile("[0-9a-f]{64}")


class SuppressionRow(NamedTuple):
    """A stored suppression; `created_at` is in milliseconds."""

    email_hash: str
    reason: int
    created_at: int


_ORDER = (Suppression.created_at, Suppression.email_hash)
_ROWS = Resource(SuppressionRow, Suppression.email_hash, SuppressionNotFound, order=_ORDER)
# By whether the newest are first.
_LISTS = {
    is_descending: Resource(
        SuppressionRow,
        Suppression.email_hash,
        SuppressionNotFound,
        order=_ORDER,
        descending=is_descending,
        among=(param("reason") == SQL("0")) | (param("reason") == Suppression.reason),
    )
    for is_descending in (False, True)
}

_FIRST = Statement(
    lambda _: Suppression.select(Suppression.reason).where(_ROWS.in_account).limit(SQL("1")),
    has_one_plan=True,
)
_AMONG = Statement(
    lambda dialect: Suppression.select(Suppression.email_hash).where(
        _ROWS.in_account & dialect.any_of(Suppression.email_hash, "hashes")
    ),
    has_one_plan=True,
)
_ADD = Statement(
    lambda dialect: dialect.insert_all(Suppression.account_id, _ROWS.columns, "rows").returning(
        Suppression.email_hash
    ),
    has_one_plan=True,
)
_RANKS = [(SQL(str(int(reason))), SQL(str(rank))) for reason, rank in STRICTNESS.items()]
_RAISE = Statement(
    lambda dialect: Suppression.update(params(Suppression.reason)).where(
        _ROWS.in_account
        & dialect.any_of(Suppression.email_hash, "hashes")
        & (Case(Suppression.reason, _RANKS) < param("strictness"))
    ),
    has_one_plan=True,
)


class Suppressions:
    """The suppressions of all accounts. Addresses are email keys."""

    # Oldest first.
    rows = staticmethod(_ROWS.rows)

    def __init__(self, encryption: Encryption) -> None:
        self._encryption = encryption

    def page(
        self,
        account_id: str,
        page: Page,
        tx: Transaction,
        *,
        reason: int = 0,
        is_descending: bool = False,
    ) -> tuple[list[SuppressionRow], int, Page | None]:
        """Returns suppressions as `Resource.page`, by time, of one reason; 0 is any."""
        return _LISTS[is_descending].page(account_id, page, tx, reason=reason)

    def add(
        self, account_id: str, suppressions: Iterable[NewSuppression], tx: Transaction
    ) -> Collection[str]:
        """Adds suppressions and returns the addresses that were not suppressed before.

        An existing suppression keeps its time, and its reason unless the new one is stricter. One
        statement, and one more for each reason of existing suppressions.
        """
        new: dict[str, NewSuppression] = {}
        rows = []
        for email_key, suppression in strictest(suppressions).items():
            email_hash = self.hash_of(account_id, email_key)
            new[email_hash] = suppression
            time = suppression.created_at
            time = tx.now if time is None else min(time, tx.now)
            rows.append((email_hash, suppression.reason, time))
        added = {email_hash for (email_hash,) in tx.all(_ADD, account_id=account_id, rows=rows)}
        existing: dict[Reason, list[str]] = {}
        for email_hash, suppression in new.items():
            if email_hash not in added:
                existing.setdefault(suppression.reason, []).append(email_hash)
        for reason, hashes in existing.items():
            to = {"reason": reason, "strictness": STRICTNESS[reason]}
            tx.run(_RAISE, account_id=account_id, hashes=hashes, **to)
        return {new[email_hash].email_key for email_hash in added}

    def suppressed_among(
        self, account_id: str, email_keys: Collection[str], tx: Transaction
    ) -> Collection[str]:
        """Returns the suppressed addresses among these. At most two statements.

        Hashes are computed only if the account has a suppression; most accounts have none.
        """
        if not email_keys or tx.scalar(_FIRST, account_id=account_id) is None:
            return ()
        keys = {self.hash_of(account_id, key): key for key in email_keys}
        rows = tx.all(_AMONG, account_id=account_id, hashes=list(keys))
        return {keys[email_hash] for (email_hash,) in rows}

    def find(self, account_id: str, reference: str, tx: Transaction) -> SuppressionRow:
        """Returns the suppression of an address or a hash. Raises SuppressionNotFound."""
        return _ROWS.find(account_id, self._hash_of(account_id, reference), tx)

    def find_or_none(
        self, account_id: str, email_key: str, tx: Transaction
    ) -> SuppressionRow | None:
        """Returns the suppression of an address, or None if there is none."""
        return _ROWS.find_or_none(account_id, self.hash_of(account_id, email_key), tx)

    def delete(self, account_id: str, reference: str, tx: Transaction) -> None:
        """Deletes the suppression of an address or a hash. Raises SuppressionNotFound."""
        _ROWS.delete(account_id, self._hash_of(account_id, reference), tx)

    def _hash_of(self, account_id: str, reference: str) -> str:
        return reference if is_hash(reference) else self.hash_of(account_id, reference)

    def hash_of(self, account_id: str, email_key: str) -> str:
        """Returns the stored hash of an address."""
        return self._encryption.digest(_PURPOSE, account_id, email_key)


def is_hash(reference: str) -> bool:
    """Whether a reference to a suppression is the hash of an address, which has no @."""
    return _HASH.fullmatch(reference) is not None
