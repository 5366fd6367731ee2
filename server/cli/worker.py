"""roster worker: delivers webhooks and maintains a database, apart from its services."""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial
from typing import Annotated

import typer

from ..config import (
    SETTINGS,
    PostgresUrl,
    check_secret_key,
    parse_boolean,
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
from .serving.process import Life, run
from .serving.ready import Ready
from .serving.reserve import check_ports
from .serving.role import Role
from .serving.watch_options import WatchOptions, start_log, watch_options

# Beside a server and a gateway on the same machine.
WORKER_FIGURES = "127.0.0.1:9466"


def worker(
    context: typer.Context,
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    database_pool: Annotated[str, option("database_pool")] = "4",
    secret_key: flags.SecretKey = "",
    webhook_allow_nets: flags.WebhookAllowNets = "",
    webhook_allow_http: flags.WebhookAllowHttp = SETTINGS["webhook_allow_http"].default,
    log_level: flags.LogLevel = SETTINGS["log_level"].default,
    log_format: flags.LogFormat = SETTINGS["log_format"].default,
    metrics_address: flags.MetricsAddress = WORKER_FIGURES,
    metrics_tls_certificate: flags.MetricsTlsCertificate = "",
    metrics_tls_key: flags.MetricsTlsKey = "",
    dangerously_in_plaintext: flags.DangerouslyInPlaintext = SETTINGS[
        "dangerously_in_plaintext"
    ].default,
) -> None:
    """Do the background work of a PostgreSQL database, until SIGTERM or Ctrl-C.

    That is the delivery of webhooks and the upkeep. `serve` does the same by itself; workers
    take a share of it, and go on without any service. Several may run.
    """
    start_log(log_level, log_format)
    risk = parse_boolean("dangerously_in_plaintext", dangerously_in_plaintext)
    reach = reach_option(webhook_allow_nets, webhook_allow_http)
    place = parse_database_url(database_url)
    if not isinstance(place, PostgresUrl):
        raise StorageError(
            f"{place} is a SQLite file, which one process has at a time: its service, which"
            " does this work by itself. Workers are for PostgreSQL."
        )
    watch = watch_options(
        address=metrics_address,
        address_is_set=flags.is_set(context, "metrics_address"),
        certificate=metrics_tls_certificate,
        key=metrics_tls_key,
        risk=risk,
        log_level=log_level,
        log_format=log_format,
    )
    key = check_secret_key(secret_key)
    watch = check_ports({}, watch)
    work = partial(_work, place, parse_database_pool(database_pool), key, reach, watch)
    run(work, Role.ALONE, _announce, identities=(watch.identity,))


async def _work(
    place: PostgresUrl,
    connections: int,
    key: str,
    reach: Reach,
    options: WatchOptions,
    life: Life,
) -> None:
    # Imported here, since commands that do not serve need no web server and no client.
    from ..watching.sources import of_database
    from ..webhooks.client import Client
    from .serving.delivering import deliver
    from .serving.watched import watched

    async with AsyncExitStack() as stack:
        with life.starting():
            watch, figures = await watched(options, stack)
            database = to_serve(place, connections)
            await database.open()
            stack.push_async_callback(database.close)
            watch.exposition.add(of_database(database))
            vault = await open_vault(key, place, database)
            client = await stack.enter_async_context(Client(reach))
            await stack.enter_async_context(upkeep(database))
            await deliver(database, client, vault, watch.exposition, stack)
        await life.serving(Ready(database=str(place), metrics=figures))


def _announce(ready: Ready) -> None:
    where = f" Its figures are at {ready.metrics}." if ready.metrics else ""
    console.print(f"A worker is looking after {ready.database}.{where}", soft_wrap=True)
