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
from ..console import console
from ..maintenance.tasks import run_maintenance
from ..serving.observability_options import ObservabilityOptions, observability_options, start_log
from ..serving.options import egress_policy_option
from ..serving.process import Lifecycle, run
from ..serving.ready import Ready
from ..serving.reserved_ports import check_ports
from ..serving.role import Role
from ..serving.secret_key import open_encryption
from ..storage.database import StorageError
from ..storage.databases import to_serve
from ..webhooks.egress.policy import EgressPolicy
from . import serve_flags
from .output import DatabaseUrl, option

# Beside a server and a gateway on the same machine.
WORKER_METRICS = "127.0.0.1:9466"


def worker(
    context: typer.Context,
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    database_pool: Annotated[str, option("database_pool")] = "4",
    secret_key: serve_flags.SecretKey = "",
    webhook_allow_nets: serve_flags.WebhookAllowNets = "",
    webhook_allow_http: serve_flags.WebhookAllowHttp = SETTINGS["webhook_allow_http"].default,
    log_level: serve_flags.LogLevel = SETTINGS["log_level"].default,
    log_format: serve_flags.LogFormat = SETTINGS["log_format"].default,
    metrics_address: serve_flags.MetricsAddress = WORKER_METRICS,
    metrics_tls_certificate: serve_flags.MetricsTlsCertificate = "",
    metrics_tls_key: serve_flags.MetricsTlsKey = "",
    dangerously_in_plaintext: serve_flags.DangerouslyInPlaintext = SETTINGS[
        "dangerously_in_plaintext"
    ].default,
) -> None:
    """Do the background work of a PostgreSQL database, until SIGTERM or Ctrl-C.

    That is the delivery of webhooks and the upkeep. `serve` does the same by itself; workers
    take a share of it, and go on without any service. Several may run.
    """
    start_log(log_level, log_format)
    risk = parse_boolean("dangerously_in_plaintext", dangerously_in_plaintext)
    egress_policy = egress_policy_option(webhook_allow_nets, webhook_allow_http)
    place = parse_database_url(database_url)
    if not isinstance(place, PostgresUrl):
        raise StorageError(
            f"{place} is a SQLite file, which one process has at a time: its service, which"
            " does this work by itself. Workers are for PostgreSQL."
        )
    watch = observability_options(
        address=metrics_address,
        address_is_set=serve_flags.is_set(context, "metrics_address"),
        certificate=metrics_tls_certificate,
        key=metrics_tls_key,
        risk=risk,
        log_level=log_level,
        log_format=log_format,
    )
    key = check_secret_key(secret_key)
    watch = check_ports({}, watch)
    work = partial(_work, place, parse_database_pool(database_pool), key, egress_policy, watch)
    run(work, Role.ALONE, _announce, identities=(watch.identity,))


async def _work(
    place: PostgresUrl,
    connections: int,
    key: str,
    egress_policy: EgressPolicy,
    options: ObservabilityOptions,
    life: Lifecycle,
) -> None:
    # Imported here, since commands that do not serve need no web server and no client.
    from ..observability.sources import of_database
    from ..serving.observability import watched
    from ..serving.webhook_delivery import deliver
    from ..webhooks.egress.client import Client

    async with AsyncExitStack() as stack:
        with life.starting():
            watch, figures = await watched(options, stack)
            database = to_serve(place, connections)
            await database.open()
            stack.push_async_callback(database.close)
            watch.exposition.add(of_database(database))
            encryption = await open_encryption(key, place, database)
            client = await stack.enter_async_context(Client(egress_policy))
            await stack.enter_async_context(run_maintenance(database))
            await deliver(database, client, encryption, watch.exposition, stack)
        await life.serving(Ready(database=str(place), metrics=figures))


def _announce(ready: Ready) -> None:
    where = f" Its figures are at {ready.metrics}." if ready.metrics else ""
    console.print(f"A worker is looking after {ready.database}.{where}", soft_wrap=True)
