"""Makes new IDs greater than all stored ones, also if a node of the database does not respond."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ..app import newest_id
from ..errors import Unavailable
from ..storage.postgres.database import PostgresDatabase
from ..storage.sqlite.database import SqliteDatabase

log = logging.getLogger(__name__)

# Seconds between reads while a node does not respond.
RETRY_SECONDS = 1.0


@asynccontextmanager
async def starting_past_newest(database: PostgresDatabase | SqliteDatabase) -> AsyncIterator[None]:
    """Reads the newest IDs before the block; those of missing nodes during the block.

    Accounts on a missing node cannot be written to until it responds. IDs are compared within an
    account, so only its first IDs after that could be too small, and only if the clock of this
    machine is behind.
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


async def _start_past_newest(database: PostgresDatabase | SqliteDatabase) -> int:
    """Returns the number of missing nodes."""
    found = await database.read_nodes(newest_id)
    database.ids.start_past(max(filter(None, found.results), default=None))
    return found.missing


async def _retry(database: PostgresDatabase | SqliteDatabase) -> None:
    missing = True
    while missing:
        await asyncio.sleep(RETRY_SECONDS)
        try:
            missing = bool(await _start_past_newest(database))
        except Unavailable:
            log.debug("newest IDs not read: database not available")
