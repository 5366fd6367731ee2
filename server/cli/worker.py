"""roster worker: the upkeep of a database apart from the services that are on it."""

from __future__ import annotations

import asyncio
import signal
from typing import Annotated

import uvloop

from ..config import (
    SETTINGS,
    PostgresUrl,
    check_choice,
    parse_database_pool,
    parse_database_url,
)
from ..logs import LEVELS, configure
from ..storage.database import StorageError
from ..upkeep.upkeep import upkeep
from .beside import to_serve
from .output import DatabaseUrl, console, option


def worker(
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    database_pool: Annotated[str, option("database_pool")] = "2",
    log_level: Annotated[str, option("log_level")] = SETTINGS["log_level"].default,
) -> None:
    """Do the background work of a PostgreSQL database, until SIGTERM or Ctrl-C.

    `serve` does the same by itself; workers take it off busy services, and go on without
    any. Several may run.
    """
    configure(check_choice("log_level", log_level, LEVELS))
    place = parse_database_url(database_url)
    if not isinstance(place, PostgresUrl):
        raise StorageError(
            f"{place} is a SQLite file, which one process has at a time: its service, which"
            " does this work by itself. Workers are for PostgreSQL."
        )
    uvloop.run(_work(place, parse_database_pool(database_pool)))


async def _work(place: PostgresUrl, connections: int) -> None:
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    database = to_serve(place, connections)
    await database.open()
    try:
        async with upkeep(database):
            console.print(f"A worker is looking after {place}.", soft_wrap=True)
            await stopping.wait()
    finally:
        await database.close()
