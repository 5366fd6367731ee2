"""Deletes old rows of all accounts: stored responses, events, deliveries, ended operations,
audit entries, expired sessions.

Storing a response also deletes some expired ones of the account; the task deletes the rest, of
accounts that make no further requests. Each transaction is short and concerns one account. It takes
no account lock, so calls do not wait for it. Several processes can purge at the same time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from ..features.accounts import store as accounts
from ..rpc import caller
from ..rpc.errors import Unavailable
from ..storage.database import Database
from ..storage.transaction import Transaction
from .periodic import raise_if_cancelled

log = logging.getLogger(__name__)

# Accounts that are read in one transaction.
ACCOUNTS_PER_READ = 100


class PurgeIncomplete(Exception):
    """Some accounts could not be purged."""


async def purge_old_rows(
    database: Database,
    has_old: Callable[[str, Transaction], bool],
    purge: Callable[[str, Transaction], int],
    accounts_per_read: int = ACCOUNTS_PER_READ,
) -> int:
    """Deletes all old rows and returns their number. `purge` deletes a batch of an account.

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
                    while batch := await database.write(partial(purge, account_id)):
                        purged += batch
                        raise_if_cancelled()
            except Unavailable:
                omitted += 1
            except Exception:
                failed += 1
                log.exception("an account could not be purged", extra={"accountId": account_id})
        after = account_ids[-1] if len(account_ids) == accounts_per_read else None
    if omitted:
        log.warning("%d accounts not purged: database not available", omitted)
    if failed:
        raise PurgeIncomplete(f"{failed} accounts not purged; {purged} rows of others deleted")
    return purged
