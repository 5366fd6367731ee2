"""Runs a scenario on an open database, for tests of its threads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from rosterd.server.rpc import caller
from rosterd.server.storage.database import Database
from rosterd.server.storage.databases import database_at
from rosterd.server.values.database_url import parse_database_url

from .helpers import OURS

TIMEOUT = 60.0


def run(url: str, scenario: Callable[[Database], Awaitable[Any]], connections: int = 4) -> Any:
    """Runs a scenario on an open database, for one account."""

    async def whole() -> Any:
        database = database_at(parse_database_url(url), connections)
        await database.open()
        caller.enter_account(OURS)
        try:
            return await asyncio.wait_for(scenario(database), TIMEOUT)
        finally:
            await database.close()

    return asyncio.run(whole())


async def run_loop_iterations() -> None:
    """Runs some iterations of the event loop."""
    for _ in range(4):
        await asyncio.sleep(0)
