"""The periodic tasks of a database."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from ..features.audit import store as audit
from ..features.exports import store as exports
from ..features.files import store as files
from ..features.imports.jobs import store as imports
from ..features.operations import store as operations
from ..features.sessions import store as sessions
from ..features.webhooks import store_retention as deliveries
from ..rpc.idempotency import store as responses
from ..storage.database import Database
from .backfills import run_backfills
from .backups import CHECK_INTERVAL, BackupSchedule
from .deleted import remove_deleted
from .periodic import PeriodicTask, running
from .purge import purge_old_rows

# Seconds. Retention periods are a day or longer, so an hour more does not matter.
PURGE_INTERVAL = 3_600.0
REMOVAL_INTERVAL = 1.0
BACKFILL_INTERVAL = 10.0
USE_INTERVAL = 60.0
DATA_KEY_INTERVAL = 30.0
FILES_INTERVAL = 60.0


@asynccontextmanager
async def run_maintenance(
    database: Database,
    reload_keys: Callable[[], Awaitable[int]],
    backups: BackupSchedule | None = None,
    report: Callable[[object], object] = str,
    store_uses: Callable[[], Awaitable[int]] | None = None,
    collect_files: Callable[[], Awaitable[int]] | None = None,
) -> AsyncIterator[Counter[str]]:
    """Runs the periodic tasks of an open database during a block. Yields failed runs by task.

    `reload_keys` reads the data keys again. `report` receives the progress of migrations that
    change stored rows. `collect_files` removes the bytes of deleted files from the disk.

    Several processes can run them at the same time, but only one can create backups.
    """
    tasks = [
        PeriodicTask(name, PURGE_INTERVAL, partial(purge_old_rows, database, has_old, purge))
        for name, has_old, purge in (
            ("purge of stored responses", responses.has_old, responses.purge),
            ("purge of old events", deliveries.has_old, deliveries.purge),
            ("purge of old operations", operations.has_old, operations.purge),
            ("purge of old imports", imports.has_old, imports.purge),
            ("purge of expired files", files.has_expired, files.purge),
            ("purge of expired exports", exports.has_expired, exports.purge),
            ("purge of old audit entries", audit.has_old, audit.purge),
            ("purge of old sessions", sessions.has_old, sessions.purge),
        )
    ]
    tasks.append(
        PeriodicTask(
            "removal of deleted tags and fields",
            REMOVAL_INTERVAL,
            partial(remove_deleted, database),
        )
    )
    tasks.append(
        PeriodicTask("backfill", BACKFILL_INTERVAL, partial(run_backfills, database, report))
    )
    tasks.append(PeriodicTask("secret key", DATA_KEY_INTERVAL, reload_keys))
    if backups is not None:
        tasks.append(PeriodicTask("backup", CHECK_INTERVAL, backups.run))
    if store_uses is not None:
        tasks.append(PeriodicTask("use of API keys and sessions", USE_INTERVAL, store_uses))
    if collect_files is not None:
        tasks.append(PeriodicTask("removal of deleted files", FILES_INTERVAL, collect_files))
    async with running(tasks) as failures:
        yield failures
