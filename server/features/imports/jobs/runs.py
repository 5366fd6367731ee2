"""Keeps what a job has read so far in memory between its steps.

A run that was lost, as after a restart, or whose last step was not stored, is opened again: it
reads the file from its start to the stored progress. Reading is much faster than storing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

# Seconds after which a run without a next step is closed: its operation was canceled, or another
# process continues it.
IDLE_SECONDS = 60.0


class Closable(Protocol):
    """A run. `rows` are those that its steps have returned."""

    @property
    def rows(self) -> int: ...

    async def aclose(self) -> None: ...


Run = TypeVar("Run", bound=Closable)


class Runs(Generic[Run]):
    """The runs of a process, by operation."""

    def __init__(self) -> None:
        self._runs: dict[str, tuple[Run, asyncio.TimerHandle]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def take(
        self, operation_id: str, rows: int, open_run: Callable[[], Awaitable[Run]]
    ) -> Run:
        """Returns the run that has returned this number of rows, or opens it."""
        run, timer = self._runs.pop(operation_id, (None, None))
        if timer is not None:
            timer.cancel()
        if run is not None and run.rows == rows:
            return run
        if run is not None:
            await run.aclose()
        return await open_run()

    def keep(self, operation_id: str, run: Run) -> None:
        """Keeps a run for its next step."""
        loop = asyncio.get_running_loop()
        self._runs[operation_id] = run, loop.call_later(IDLE_SECONDS, self._close, operation_id)

    def _close(self, operation_id: str) -> None:
        run, _ = self._runs.pop(operation_id, (None, None))
        if run is not None:
            task = asyncio.ensure_future(_closed(run))
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)


async def _closed(run: Closable) -> None:
    with suppress(Exception):
        await run.aclose()
