"""Deletes expired responses of idempotency keys.

Storing a response also deletes some expired ones of the account. This task deletes the rest, of
accounts that make no further requests. It reads all accounts without a lock, and deletes in
short transactions of one account each, so that calls do not wait for it. Several processes can
run it at the same time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial

from ..accounts import store as accounts
from ..idempotency import store as responses
from ..storage.database import Database
from ..storage.transaction import Transaction
from .periodic import raise_if_cancelled

# Accounts that are read in one transaction.
ACCOUNTS_PER_READ = 100


async def purge_responses(
    database: Database,
    *,
    accounts_per_read: int = ACCOUNTS_PER_READ,
    batch_size: int = responses.PURGE_BATCH_SIZE,
) -> int:
    """Deletes all expired responses, and returns their number."""
    purged = 0
    async for account_id in accounts_with(responses.has_old, database, accounts_per_read):
        batch = batch_size
        while batch == batch_size:
            batch = await database.write(partial(responses.purge, account_id, batch_size))
            purged += batch
            raise_if_cancelled()
    return purged


async def accounts_with(
    has_old: Callable[[str, Transaction], bool],
    database: Database,
    accounts_per_read: int = ACCOUNTS_PER_READ,
) -> AsyncIterator[str]:
    """Yields the accounts with old rows."""

    def read(tx: Transaction) -> tuple[list[str], list[str]]:
        account_ids = accounts.ids_of_any_account(after, accounts_per_read, tx)
        return account_ids, [account_id for account_id in account_ids if has_old(account_id, tx)]

    after = ""
    while True:
        account_ids, with_old = await database.read(read)
        for account_id in with_old:
            yield account_id
        if len(account_ids) < accounts_per_read:
            return
        after = account_ids[-1]
