"""roster worker: the upkeep of a database apart from the services that are on it."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from typing import Annotated

import uvloop

from ..clock import system_clock
from ..config import (
    SETTINGS,
    PostgresUrl,
    check_secret_key,
    parse_database_pool,
    parse_database_url,
)
from ..storage.database import StorageError
from ..upkeep.upkeep import upkeep
from ..webhooks.reach import Reach
from ..webhooks.signing import Secrets
from .beside import to_serve
from .output import DatabaseUrl, console, option
from .secret_key import open_vault
from .serving.options import reach_option, start_log


def worker(
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    database_pool: Annotated[str, option("database_pool")] = "4",
    secret_key: Annotated[str, option("secret_key")] = "",
    webhook_allow_nets: Annotated[str, option("webhook_allow_nets")] = "",
    webhook_allow_http: Annotated[str, option("webhook_allow_http")] = "",
    log_level: Annotated[str, option("log_level")] = SETTINGS["log_level"].default,
) -> None:
    """Do the background work of a PostgreSQL database, until SIGTERM or Ctrl-C.

    That is the delivery of webhooks and the upkeep. `serve` does the same by itself; workers
    take a share of it, and go on without any service. Several may run.
    """
    start_log(log_level)
    reach = reach_option(webhook_allow_nets, webhook_allow_http)
    place = parse_database_url(database_url)
    if not isinstance(place, PostgresUrl):
        raise StorageError(
            f"{place} is a SQLite file, which one process has at a time: its service, which"
            " does this work by itself. Workers are for PostgreSQL."
        )
    key = check_secret_key(secret_key)
    uvloop.run(_work(place, parse_database_pool(database_pool), key, reach))


async def _work(place: PostgresUrl, connections: int, key: str, reach: Reach) -> None:
    # Imported here, since other commands do not need what speaks HTTP.
    from ..webhooks.client import Client
    from ..webhooks.dispatcher import Dispatcher
    from ..webhooks.sending import Sender

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    database = to_serve(place, connections)
    await database.open()
    try:
        secrets = Secrets(await open_vault(key, place, database))
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(Client(reach))
            dispatcher = Dispatcher(database, Sender(client, secrets, system_clock))
            await stack.enter_async_context(upkeep(database))
            await stack.enter_async_context(dispatcher.running())
            console.print(f"A worker is looking after {place}.", soft_wrap=True)
            await stopping.wait()
    finally:
        await database.close()
