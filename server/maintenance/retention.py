"""Deletes attempts after 14 days, and events and deliveries after 30, of every account.

Each transaction is short and concerns one account. It takes no account lock, so only the
dispatcher of the account waits for it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ..storage.database import Database
from ..storage.transaction import Transaction
from ..webhooks.delivery import store_retention
from .periodic import raise_if_cancelled
from .purge import accounts_with


async def purge_events(
    database: Database, purge: Callable[[str, Transaction], int] = store_retention.purge
) -> int:
    """Deletes all old rows and returns their number. `purge` deletes a batch of an account."""
    purged = 0
    async for account_id in accounts_with(store_retention.has_old, database):
        while batch := await database.write(partial(purge, account_id)):
            purged += batch
            raise_if_cancelled()
    return purged
