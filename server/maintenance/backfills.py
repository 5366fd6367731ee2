"""Changes stored rows for migrations, while the process serves; see `storage/backfill.py`."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from ..rpc import caller
from ..rpc.errors import Internal, Unavailable
from ..storage import migrate
from ..storage.backfill import Progress, advance
from ..storage.database import Database
from ..storage.transaction import Transaction
from .periodic import raise_if_cancelled

log = logging.getLogger(__name__)

# The pause after a transaction, as a multiple of its duration.
PAUSE_FACTOR = 2.0
# Seconds between two lines of the log.
LOG_INTERVAL = 10.0


async def run_backfills(database: Database, report: Callable[[object], object]) -> int:
    """Runs the waiting backfills to their end, and returns the number of changed rows."""
    caller.enter_account(None)
    changed, logged = 0, 0.0
    try:
        while (started := time.monotonic()) and (progress := await database.write(_advance)):
            raise_if_cancelled()
            changed += progress.rows
            report(progress)
            if started - logged > LOG_INTERVAL or not progress.rows:
                log.info("%s", progress)
                logged = started
            await asyncio.sleep(PAUSE_FACTOR * (time.monotonic() - started))
    except (Unavailable, Internal):
        log.warning("backfill postponed: database not available")
    finally:
        report("")
    return changed


def _advance(tx: Transaction) -> Progress | None:
    return advance(tx.raw(), migrate.DIRECTORY)
