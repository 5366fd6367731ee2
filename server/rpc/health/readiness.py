"""Determines whether a process can serve calls.

A process is ready if its database is alive and its disk has free space. A heartbeat goes
through the queue of the writer like any other write, and must return within two seconds. A full
disk makes all writes fail, so a nearly full disk already makes the process unready. Health
checks report the last result, without a query.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Protocol

from ...storage.database import Database
from ...storage.transaction import Transaction

log = logging.getLogger(__name__)

# The process is not ready after this many seconds without a heartbeat.
HEARTBEAT_TIMEOUT = 2.0
# Seconds between heartbeats, and between checks.
CHECK_INTERVAL = 0.5
# Needed for the write-ahead log of SQLite, which grows during long reads, and for a backup in the
# same folder.
MIN_FREE_BYTES = 64 * 1024 * 1024


class SetServing(Protocol):
    """Publishes whether the process is ready."""

    def __call__(self, *, serving: bool) -> Awaitable[None]: ...


@asynccontextmanager
async def monitor_readiness(
    database: Database,
    free_bytes: Callable[[], int | None],
    set_serving: SetServing,
    *,
    heartbeat_timeout: float = HEARTBEAT_TIMEOUT,
    interval: float = CHECK_INTERVAL,
) -> AsyncIterator[None]:
    """Publishes the readiness during a block, starting before it, and "not ready" at its end.

    `free_bytes` returns the free space of the database's disk, or None if that does not matter.
    """
    readiness = Readiness(
        database, free_bytes, set_serving, heartbeat_timeout=heartbeat_timeout, interval=interval
    )
    tasks = [asyncio.create_task(readiness.send_heartbeats())]
    try:
        await readiness.first_check()
        tasks.append(asyncio.create_task(readiness.check_periodically()))
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await set_serving(serving=False)


class Readiness:
    """The readiness of a process. `clock` returns monotonic seconds."""

    def __init__(
        self,
        database: Database,
        free_bytes: Callable[[], int | None],
        set_serving: SetServing,
        *,
        clock: Callable[[], float] = time.monotonic,
        heartbeat_timeout: float = HEARTBEAT_TIMEOUT,
        interval: float = CHECK_INTERVAL,
    ) -> None:
        self._database, self._free_bytes, self._set_serving = database, free_bytes, set_serving
        self._clock = clock
        self._heartbeat_timeout, self._interval = heartbeat_timeout, interval
        self._last_heartbeat = -math.inf
        self._had_heartbeat = asyncio.Event()
        # Why the process is not ready; None until readiness was published.
        self._published: str | None = None

    async def first_check(self) -> None:
        """Publishes the readiness after the first heartbeat, or after the timeout."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._heartbeat_timeout):
                await self._had_heartbeat.wait()
        await self.check()

    async def send_heartbeats(self) -> None:
        """Sends heartbeats until the task is canceled."""
        task = asyncio.current_task()
        assert task is not None
        # A write that has started is awaited even if the task is canceled.
        while not task.cancelling():
            try:
                await self._database.write(Transaction.ping)
                self._last_heartbeat = self._clock()
                self._had_heartbeat.set()
            except Exception as error:  # noqa: BLE001 - every error is a missing heartbeat
                log.debug("no heartbeat: %s", error)
            await asyncio.sleep(self._interval)

    async def check_periodically(self) -> None:
        """Checks the readiness until the task is canceled."""
        while True:
            await asyncio.sleep(self._interval)
            await self.check()

    async def check(self) -> None:
        """Publishes the readiness if it has changed."""
        obstacle = self._obstacle()
        if obstacle == self._published:
            return
        if obstacle:
            log.error("not ready: %s", obstacle)
        elif self._published is not None:
            log.warning("ready again")
        self._published = obstacle
        await self._set_serving(serving=not obstacle)

    def _obstacle(self) -> str:
        """Returns why the process is not ready, or an empty text."""
        timeout = self._heartbeat_timeout
        if self._clock() - self._last_heartbeat > timeout:
            return f"the database has not responded for {timeout:.0f} seconds"
        try:
            free = self._free_bytes()
        except OSError as error:
            return f"the free space of the disk cannot be read: {error}"
        if free is not None and free < MIN_FREE_BYTES:
            return f"the disk has less than {MIN_FREE_BYTES >> 20} MiB of free space"
        return ""
