"""Deletes expired responses of idempotency keys.

Storing a response also deletes some expired ones of the account. This task deletes the rest, of
accounts that make no further requests. It reads without a lock, and deletes in short transactions
of one account each, so that calls do not wait for it. Several processes can run it at the same
time.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from ..features.accounts import store as accounts
from ..rpc import caller
from ..rpc.errors import Unavailable
from ..rpc.idempotency import store as responses
from ..storage.database import Database
from ..storage.transaction import Transaction
from .periodic import raise_if_cancelled

log = logging.getLogger(__name__)

# Accounts that are read in one transaction.
ACCOUNTS_PER_READ = 100


class PurgeIncomplete(Exception):
    """Some accounts could not be purged."""


async def purge_responses(
    database: Database,
    *,
    accounts_per_read: int = ACCOUNTS_PER_READ,
    batch_size: int = responses.PURGE_BATCH_SIZE,
) -> int:
    """Deletes all expired responses, and returns their number."""

    async def purge(account_id: str) -> int:
        purged, batch = 0, batch_size
        while batch == batch_size:
            batch = await database.write(partial(responses.purge, account_id, batch_size))
            purged += batch
            raise_if_cancelled()
        return purged

    return await purge_accounts(database, responses.has_old, purge, accounts_per_read)


async def purge_accounts(
    database: Database,
    has_old: Callable[[str, Transaction], bool],
    purge: Callable[[str], Awaitable[int]],
    accounts_per_read: int = ACCOUNTS_PER_READ,
) -> int:
    """Purges each account that has old rows, and returns the number of deleted rows.

    Omits accounts on a node of a cluster that does not respond. Logs errors of other accounts and
    raises PurgeIncomplete after the last account.
    """
    purged = omitted = failed = 0
    after: str | None = ""
    while after is not None:
        caller.enter_account(None)
        read = partial(accounts.ids_of_any_account, after, accounts_per_read)
        account_ids = await database.read(read)
        for account_id in account_ids:
            caller.enter_account(account_id)
            try:
                if await database.read(partial(has_old, account_id)):
                    purged += await purge(account_id)
            except Unavailable:
                omitted += 1
            except Exception:
                failed += 1
                log.exception("an account could not be purged", extra={"account": account_id})
        after = account_ids[-1] if len(account_ids) == accounts_per_read else None
    if omitted:
        log.warning("%d accounts not purged: database not available", omitted)
    if failed:
        raise PurgeIncomplete(f"{failed} accounts not purged; {purged} rows of others deleted")
    return purged
