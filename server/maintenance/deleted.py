"""Removes the links and values of deleted tags and custom fields.

A deletion removes the first rows itself, and no call reads the others. This task removes them in
short transactions, each for one account. Accounts take turns, so that a large tag does not delay
other accounts. After a restart, it continues. Several processes can run it at the same time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from functools import partial

from ..features.custom_fields import store as custom_fields
from ..features.tags import store as tags
from ..rpc import caller
from ..rpc.errors import Internal, Unavailable
from ..storage.database import Database
from .pauses import PAUSE_FACTOR
from .periodic import raise_if_cancelled

log = logging.getLogger(__name__)

# Accounts that one search returns.
SEARCH_LIMIT = 1_000


async def remove_deleted(database: Database) -> int:
    """Removes all links and values of deleted tags and fields, and returns their number."""
    removed, waiting = 0, []
    caller.enter_account(None)
    for store in (tags, custom_fields):
        search = partial(store.ids_of_any_account_with_deleted, SEARCH_LIMIT)
        for account_ids in (await database.read_nodes(search)).results:
            waiting += [
                (account_id, store.remove_deleted) for account_id in dict.fromkeys(account_ids)
            ]
    while waiting:
        account_id, remove = waiting.pop(0)
        caller.enter_account(account_id)
        started = time.monotonic()
        try:
            rows = await database.write(partial(remove, account_id))
        except (Unavailable, Internal):
            log.warning("removal of deleted tags and fields postponed: database not available")
            continue
        raise_if_cancelled()
        if rows:
            removed += rows
            waiting.append((account_id, remove))
            await asyncio.sleep(PAUSE_FACTOR * (time.monotonic() - started))
    return removed
