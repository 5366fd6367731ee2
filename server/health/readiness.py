"""Whether a process can take calls, looked at again and again while it serves.

It can as long as its heart beats: a job that asks the database for nothing but a sign of
life takes the same way as every write, behind those that wait, and has to come back
within two seconds. And as long as there is room on the disk: a full one refuses writes
all at once, a nearly full one is noticed before. Who is asked whether this process is
ready is told what was found last, and asks the database nothing.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from shutil import disk_usage
from typing import Protocol

from ..storage.database import Database
from ..storage.transaction import Transaction

log = logging.getLogger(__name__)

# For how long, in seconds, there may be no heartbeat, and what is between two of them, and
# between two looks.
HEARTBEAT_SECONDS = 2.0
PAUSE_SECONDS = 0.5
# How much of the disk has to be free: the log that SQLite writes ahead grows by what is
# written while somebody reads, and a backup beside the database takes as much as that.
LEAST_FREE_BYTES = 64 * 1024 * 1024


class Tell(Protocol):
    """Says whether the process is ready to whoever asks for it."""

    def __call__(self, *, serving: bool) -> Awaitable[None]: ...


@asynccontextmanager
async def told(database: Database, folder: Path | None, tell: Tell) -> AsyncIterator[None]:
    """Tells whether there can be calls, for the length of a block, and at its end that not.

    The first time it has told that when the block begins.

    `folder` is where the database grows; None where that is another machine's affair.
    """
    readiness = Readiness(database, partial(_free_bytes, folder), tell)
    tasks = [asyncio.create_task(readiness.ping())]
    try:
        await readiness.first_beat()
        tasks.append(asyncio.create_task(readiness.look()))
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await tell(serving=False)


class Readiness:
    """What is known of a process. `free_bytes` tells how much room there is, None if nobody knows.

    `clock` gives seconds that never step back.
    """

    def __init__(
        self,
        database: Database,
        free_bytes: Callable[[], int | None],
        tell: Tell,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database, self._free_bytes, self._tell = database, free_bytes, tell
        self._clock = clock
        self._last = -math.inf
        self._has_beaten = asyncio.Event()
        # What is in the way of calls; None until something was told.
        self._told: str | None = None

    async def first_beat(self) -> None:
        """Returns once there was a heartbeat, or none for too long, and that was told."""
        with suppress(TimeoutError):
            async with asyncio.timeout(HEARTBEAT_SECONDS):
                await self._has_beaten.wait()
        await self.look_once()

    async def ping(self) -> None:
        """Asks the database for a sign of life again and again, until it is cancelled."""
        task = asyncio.current_task()
        assert task is not None
        # A write that was begun is waited for, whoever is cancelled meanwhile.
        while not task.cancelling():
            try:
                await self._database.write(Transaction.ping)
                self._last = self._clock()
                self._has_beaten.set()
            except Exception as error:  # noqa: BLE001 - whatever it is, it is no heartbeat
                log.debug("no heartbeat: %s", error)
            await asyncio.sleep(PAUSE_SECONDS)

    async def look(self) -> None:
        """Tells whether there can be calls again and again, until it is cancelled."""
        while True:
            await asyncio.sleep(PAUSE_SECONDS)
            await self.look_once()

    async def look_once(self) -> None:
        """Tells whether there can be calls, where that has changed."""
        found = self._in_the_way()
        if found == self._told:
            return
        if found:
            log.error("not ready: %s", found)
        elif self._told is not None:
            log.warning("ready again")
        self._told = found
        await self._tell(serving=not found)

    def _in_the_way(self) -> str:
        """Returns what is in the way of calls, and an empty text if nothing is."""
        if self._clock() - self._last > HEARTBEAT_SECONDS:
            return f"the database has given no sign of life for {HEARTBEAT_SECONDS:.0f} seconds"
        free = self._free_bytes()
        if free is not None and free < LEAST_FREE_BYTES:
            return f"less than {LEAST_FREE_BYTES >> 20} MiB of the disk are free"
        return ""


def _free_bytes(folder: Path | None) -> int | None:
    return disk_usage(folder).free if folder is not None else None
