"""Runs key lookups: few of them on a database thread, many of them on the event loop.

A database thread and the event loop share the GIL. Under load they compete for it, and two
thread switches cost more than a key lookup. So when many key lookups are queued, they run
on the event loop in one batch. This blocks the event loop, but each lookup takes only
microseconds while the data is in memory. If a batch is slow, all lookups run on the thread
for SLOW_CACHE_SECONDS.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any, Generic

from .batch_executor import BatchExecutor, RunBatch, settle_all
from .work_item import Work, WorkItem

# More lookups than this in one iteration of the event loop run on the event loop.
MAX_THREAD_LOOKUPS = 32
# A batch is slow above this average per lookup. The thread then runs all lookups for a while.
SLOW_SECONDS = 0.000_5
SLOW_CACHE_SECONDS = 1.0


class KeyLookups(Generic[Work]):
    """Runs lookups by `run_here` on the event loop, or by the executor.

    The executor's statistics include both.
    """

    def __init__(
        self,
        executor: BatchExecutor[Work],
        run_here: RunBatch[Work],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._executor, self._run_here, self._clock = executor, run_here, clock
        self._loop = asyncio.get_running_loop()
        self._gathered: list[WorkItem[Work]] = []
        self._slow_until = 0.0

    async def run(self, work: Work) -> Any:
        """Runs the work as `BatchExecutor.run` does."""
        item = self._executor.admitted(work)
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append(item)
        return await self._executor.outcome(item)

    def _hand_over(self) -> None:
        items, self._gathered = self._gathered, []
        began = self._clock()
        if len(items) <= MAX_THREAD_LOOKUPS or began < self._slow_until:
            self._executor.put(items)
            return
        self._executor.run_batch_guarded(items, self._run_here)
        settle_all(items)
        ended = self._clock()
        if ended - began > len(items) * SLOW_SECONDS:
            self._slow_until = ended + SLOW_CACHE_SECONDS

    def close(self) -> None:
        """Passes all further lookups to the executor."""
        self._hand_over()
        self._slow_until = math.inf
