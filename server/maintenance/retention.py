"""Takes away attempts after 14 days, and events and deliveries after 30, of every account.

It does so in short transactions of one account each, beside those who write to the account:
only who delivers waits for one, and for no more than one.
"""

from __future__ import annotations

from functools import partial

from ..storage.database import Database
from ..webhooks.delivery import store_retention
from .periodic import heed_cancellation
from .purge import accounts_with


async def purge_events(database: Database) -> int:
    """Takes away all that is old, and returns how many rows that was."""
    purged = 0
    async for account_id in accounts_with(store_retention.has_old, database):
        while last := await database.write(partial(store_retention.purge, account_id)):
            purged += last
            heed_cancellation()
    return purged
