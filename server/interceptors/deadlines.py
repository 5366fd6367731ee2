"""Deadlines of calls, kept by one timer.

A timer for each call costs more than the rest of a short one. Here a call only
writes down when it is over, and a sweep, which runs while there are calls, ends
those whose time has come. A deadline is kept to within one sweep.
"""

from __future__ import annotations

import asyncio

# The time between two sweeps, in seconds.
SWEEP_SECONDS = 0.02


class Deadlines:
    """Cancels tasks whose time is over, and knows which it cancelled."""

    def __init__(self) -> None:
        self._ends: dict[asyncio.Task[object], float] = {}
        self._expired: set[asyncio.Task[object]] = set()
        self._sweeping = False

    def start(self, task: asyncio.Task[object], seconds: float) -> float:
        """Gives a task so many seconds from now, and returns when they are over."""
        loop = task.get_loop()
        self._ends[task] = end = loop.time() + seconds
        if not self._sweeping:
            self._sweeping = True
            loop.call_later(SWEEP_SECONDS, self._sweep, loop)
        return end

    def end(self, task: asyncio.Task[object]) -> None:
        """Takes the task off; call it whichever way the task goes on.

        A task that was cancelled here and finished all the same is as if it had not
        been: on a connection that is kept alive it serves the next request.
        """
        self._ends.pop(task, None)
        self.expired(task)

    def expired(self, task: asyncio.Task[object]) -> bool:
        """Whether the task was cancelled here; if so, takes the cancellation back, once."""
        if task not in self._expired:
            return False
        self._expired.discard(task)
        task.uncancel()
        return True

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for task in [task for task, end in self._ends.items() if end <= now]:
            del self._ends[task]
            self._expired.add(task)
            task.cancel()
        self._sweeping = bool(self._ends)
        if self._sweeping:
            loop.call_later(SWEEP_SECONDS, self._sweep, loop)
