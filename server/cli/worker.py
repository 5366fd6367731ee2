"""roster worker"""

from __future__ import annotations

from contextlib import AsyncExitStack
from functools import partial

from ..config import Settings
from ..features.operations.runner import OperationRunner
from ..features.operations.store_steps import Steps
from ..features.suppressions.store import Suppressions
from ..features.webhooks.egress.client import Client
from ..features.webhooks.egress.policy import EgressPolicy
from ..maintenance.tasks import run_maintenance
from ..observability.sources import of_database, of_maintenance, of_operations
from ..serving.console import console
from ..serving.observability import start_observability
from ..serving.observability_options import (
    ObservabilityOptions,
    observability_options,
    start_log,
)
from ..serving.options import egress_policy
from ..serving.process import Lifecycle, run
from ..serving.ready import Ready
from ..serving.reserved_ports import check_ports
from ..serving.role import Role
from ..serving.secret_key import check_secret_key, open_encryption
from ..serving.webhook_delivery import deliver
from ..storage.database import StorageError
from ..storage.databases import database_at
from ..values.database_url import PostgresUrl
from .common.options import takes_settings


@takes_settings
def worker(settings: Settings) -> None:
    """Run the background work of a PostgreSQL database: deliveries, operations and maintenance.

    `serve` and `server` do the same work themselves. Workers share it with them, and continue when
    no service runs. Several workers can run.
    """
    start_log(settings)
    settings.validate()
    policy = egress_policy(settings)
    database = settings.database_url
    if not isinstance(database, PostgresUrl):
        raise StorageError(
            f"{database} is a SQLite file, which only one process can use at a time. Its service"
            " does the background work. Workers require PostgreSQL."
        )
    observability = observability_options(settings)
    key = check_secret_key(settings.secret_key)
    observability = check_ports({}, observability)
    work = partial(_work, database, settings.database_pool, key, policy, observability)
    run(work, Role.ALONE, _announce, identities=(observability.identity,))


async def _work(
    location: PostgresUrl,
    connections: int,
    key: str,
    policy: EgressPolicy,
    options: ObservabilityOptions,
    life: Lifecycle,
) -> None:
    async with AsyncExitStack() as stack:
        with life.starting():
            observability, metrics_url = await start_observability(options, stack)
            database = database_at(location, connections)
            await database.open()
            stack.push_async_callback(database.close)
            observability.exposition.add(of_database(database))
            encryption = await open_encryption(key, location, database)
            client = await stack.enter_async_context(Client(policy))
            failures = await stack.enter_async_context(run_maintenance(database))
            observability.exposition.add(of_maintenance(failures))
            await deliver(database, client, encryption, observability.exposition, stack)
            steps = Steps(Suppressions(encryption))
            operations = OperationRunner(database, steps, others_serve=True)
            observability.exposition.add(of_operations(operations))
            await stack.enter_async_context(operations.running())
        await life.serving(Ready(database=str(location), metrics=metrics_url))


def _announce(ready: Ready) -> None:
    metrics = f" Metrics: {ready.metrics}" if ready.metrics else ""
    console.print(f"The worker processes {ready.database}.{metrics}", soft_wrap=True)
