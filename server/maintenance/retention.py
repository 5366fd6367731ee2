"""Deletes attempts after 14 days, and events, deliveries and ended operations after 30.

Each transaction is short and concerns one account. It takes no account lock, so only the
dispatcher of the account waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..features.webhooks import store_retention
from ..storage.database import Database
from ..storage.transaction import Transaction
from .periodic import raise_if_cancelled
from .purge import purge_accounts


async def purge_old_rows(
    database: Database,
    has_old: Callable[[str, Transaction], bool] = store_retention.has_old,
    purge: Callable[[str, Transaction], int] = store_retention.purge,
) -> int:
    """Deletes all old rows and returns their number. `purge` deletes a batch of an account."""

    async def purge_all(account_id: str) -> int:
        purged = 0
        while batch := await database.write(partial(purge, account_id)):
            purged += batch
            raise_if_cancelled()
        return purged

    return await purge_accounts(database, has_old, purge_all)
