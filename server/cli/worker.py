"""roster worker: the upkeep of a database apart from the services that are on it."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack
from typing import Annotated

import uvloop

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
from .beside import to_serve
from .output import DatabaseUrl, console, option
from .secret_key import open_vault
from .serving import flags
from .serving.options import reach_option
from .serving.watch_options import WatchOptions, start_log, watch_options

# Beside a server and a gateway on the same machine.
WORKER_FIGURES = "127.0.0.1:9466"


def worker(
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    database_pool: Annotated[str, option("database_pool")] = "4",
    secret_key: flags.SecretKey = "",
    webhook_allow_nets: flags.WebhookAllowNets = "",
    webhook_allow_http: flags.WebhookAllowHttp = "",
    log_level: flags.LogLevel = SETTINGS["log_level"].default,
    log_format: flags.LogFormat = SETTINGS["log_format"].default,
    metrics_address: flags.MetricsAddress = WORKER_FIGURES,
    metrics_tls_certificate: flags.MetricsTlsCertificate = "",
    metrics_tls_key: flags.MetricsTlsKey = "",
    dangerously_in_plaintext: flags.DangerouslyInPlaintext = "",
) -> None:
    """Do the background work of a PostgreSQL database, until SIGTERM or Ctrl-C.

    That is the delivery of webhooks and the upkeep. `serve` does the same by itself; workers
    take a share of it, and go on without any service. Several may run.
    """
    start_log(log_level, log_format)
    reach = reach_option(webhook_allow_nets, webhook_allow_http)
    place = parse_database_url(database_url)
    if not isinstance(place, PostgresUrl):
        raise StorageError(
            f"{place} is a SQLite file, which one process has at a time: its service, which"
            " does this work by itself. Workers are for PostgreSQL."
        )
    watch = watch_options(
        address=metrics_address,
        certificate=metrics_tls_certificate,
        key=metrics_tls_key,
        risk=dangerously_in_plaintext,
        log_level=log_level,
        log_format=log_format,
    )
    key = check_secret_key(secret_key)
    uvloop.run(_work(place, parse_database_pool(database_pool), key, reach, watch))


async def _work(
    place: PostgresUrl, connections: int, key: str, reach: Reach, options: WatchOptions
) -> None:
    # Imported here, since commands that do not serve need no web server and no client.
    from ..watching.sources import of_database
    from ..webhooks.client import Client
    from .serving.delivering import deliver
    from .serving.watched import watched

    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    async with AsyncExitStack() as stack:
        watch, figures = await watched(options, stack)
        database = to_serve(place, connections)
        await database.open()
        stack.push_async_callback(database.close)
        watch.exposition.add(of_database(database))
        vault = await open_vault(key, place, database)
        client = await stack.enter_async_context(Client(reach))
        await stack.enter_async_context(upkeep(database))
        await deliver(database, client, vault, watch.exposition, stack)
        where = f" Its figures are at {figures}." if figures else ""
        console.print(f"A worker is looking after {place}.{where}", soft_wrap=True)
        await stopping.wait()
