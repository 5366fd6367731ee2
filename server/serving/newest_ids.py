"""Starts new IDs after the stored IDs, even if a node of the database does not respond."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..app import newest_id
from ..rpc.errors import Unavailable
from ..storage.executor.database import ExecutorDatabase

log = logging.getLogger(__name__)

# Seconds between reads while a node does not respond.
RETRY_SECONDS = 1.0


@asynccontextmanager
async def starting_past_newest(database: ExecutorDatabase) -> AsyncIterator[None]:
    """Reads the newest IDs before the block. Nodes that do not respond are read during the block.

    Accounts on such a node cannot be written to until it responds. IDs are compared only within
    an account. So only the first new IDs of these accounts can be too small, and only if the
    clock of this machine is behind.
    """
    if not await _start_past_newest(database):
        yield
        return
    log.warning("a node of the database does not respond: its newest IDs are read later")
    task = asyncio.create_task(_retry(database))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def _start_past_newest(database: ExecutorDatabase) -> int:
    """Returns the number of nodes that do not respond."""
    newest = await database.read_nodes(newest_id)
    database.ids.start_past(max(filter(None, newest.results), default=None))
    return newest.not_responding


async def _retry(database: ExecutorDatabase) -> None:
    is_incomplete = True
    while is_incomplete:
        await asyncio.sleep(RETRY_SECONDS)
        try:
            is_incomplete = bool(await _start_past_newest(database))
        except Unavailable:
            log.debug("newest IDs not read: database not available")
