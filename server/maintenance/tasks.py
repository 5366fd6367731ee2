"""The upkeep of a database: which jobs there are, and how often each is done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from ..storage.database import Database
from .backups import LOOK_INTERVAL, Schedule
from .periodic import PeriodicTask, running
from .purge import purge_responses
from .retention import purge_events

# Seconds between two rounds. What is kept for a day or longer may be so for an hour more.
PURGE_INTERVAL = 3_600.0


@asynccontextmanager
async def upkeep(database: Database, backups: Schedule | None = None) -> AsyncIterator[None]:
    """Looks after a database that is open, for the length of a block.

    Any number of processes may do so at the same time; one alone makes backups.
    """
    jobs = [
        PeriodicTask("purge of kept answers", PURGE_INTERVAL, partial(purge_responses, database)),
        PeriodicTask("purge of old events", PURGE_INTERVAL, partial(purge_events, database)),
    ]
    if backups is not None:
        jobs.append(PeriodicTask("backup", LOOK_INTERVAL, backups.round))
    async with running(jobs):
        yield
