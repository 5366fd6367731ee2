"""The periodic tasks of a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from ..features.operations import store as operations
from ..features.webhooks import store_retention as deliveries
from ..rpc.idempotency import store as responses
from ..storage.database import Database
from .backups import CHECK_INTERVAL, BackupSchedule
from .deleted import remove_deleted
from .periodic import PeriodicTask, running
from .purge import purge_old_rows

# Seconds. Retention periods are a day or longer, so an hour more does not matter.
PURGE_INTERVAL = 3_600.0
REMOVAL_INTERVAL = 1.0
KEY_USE_INTERVAL = 60.0


@asynccontextmanager
async def run_maintenance(
    database: Database,
    backups: BackupSchedule | None = None,
    store_key_uses: Callable[[], Awaitable[int]] | None = None,
) -> AsyncIterator[Counter[str]]:
    """Runs the periodic tasks of an open database during a block. Yields failed runs by task.

    Several processes can run them at the same time, but only one can create backups.
    """
    tasks = [
        PeriodicTask(name, PURGE_INTERVAL, partial(purge_old_rows, database, has_old, purge))
        for name, has_old, purge in (
            ("purge of stored responses", responses.has_old, responses.purge),
            ("purge of old events", deliveries.has_old, deliveries.purge),
            ("purge of old operations", operations.has_old, operations.purge),
        )
    ]
    tasks.append(
        PeriodicTask(
            "removal of deleted tags and fields",
            REMOVAL_INTERVAL,
            partial(remove_deleted, database),
        )
    )
    if backups is not None:
        tasks.append(PeriodicTask("backup", CHECK_INTERVAL, backups.run))
    if store_key_uses is not None:
        tasks.append(PeriodicTask("use of API keys", KEY_USE_INTERVAL, store_key_uses))
    async with running(tasks) as failures:
        yield failures
