"""Takes away answers whose time is over, of accounts that make no further requests.

Each answer that is kept takes some old ones of its account away; where none is kept any
more, the last ones would stay for ever. A round goes through all accounts. It looks
without a lock for those that have something, and takes it away in short transactions of
one account each. So no call waits for it for long, and where several processes do it,
whoever comes second finds nothing left.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial

from ..accounts import store as accounts
from ..idempotency import store as responses_store
from ..storage.database import Database
from ..storage.transaction import Transaction
from .periodic import heed_cancellation

# Accounts that are looked at in one transaction.
ACCOUNTS_AT_ONCE = 100


async def purge_responses(database: Database) -> int:
    """Takes away all answers whose time is over, and returns how many there were."""
    purged = 0
    async for account_id in accounts_with(responses_store.has_old, database):
        purged += await _purge(database, account_id)
    return purged


async def accounts_with(
    has_old: Callable[[str, Transaction], bool], database: Database
) -> AsyncIterator[str]:
    """Yields the accounts that have something old."""
    after = ""
    while True:
        found, old = await database.read(partial(_look, has_old, after))
        for account_id in old:
            yield account_id
        if len(found) < ACCOUNTS_AT_ONCE:
            return
        after = found[-1]


def _look(
    has_old: Callable[[str, Transaction], bool], after: str, tx: Transaction
) -> tuple[list[str], list[str]]:
    """Returns accounts beyond an id, and which of them have something old."""
    found = accounts.ids_of_any_account(after, ACCOUNTS_AT_ONCE, tx)
    return found, [account_id for account_id in found if has_old(account_id, tx)]


async def _purge(database: Database, account_id: str) -> int:
    purged, last = 0, responses_store.PURGE_BATCH_SIZE
    while last == responses_store.PURGE_BATCH_SIZE:
        last = await database.write(partial(responses_store.purge, account_id))
        purged += last
        heed_cancellation()
    return purged
