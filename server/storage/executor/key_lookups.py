"""Look-ups by key, and where they are done: by a thread if few come at once, else right here.

A thread and the event loop share one interpreter. A few look-ups go to the thread while
the loop has nothing else to do. Many come together with much else to do; then each of the
two keeps the other from it, twice a look-up, which costs more than the look-up does. So
a crowd is looked up on the event loop, in one go: some microseconds each as long as the
disk is quick, or what it holds in memory. Where it turns out slow the thread has it all for
a while, since nobody else can be heard meanwhile.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from typing import Any, Generic

from .batch_executor import BatchExecutor, RunBatch, settle_all
from .work_item import Work, WorkItem

# More than so many within one turn of the event loop are a crowd.
MAX_THREAD_LOOKUPS = 32
# What is slow, in seconds a look-up, and how long that is remembered.
SLOW_SECONDS = 0.000_5
SLOW_CACHE_SECONDS = 1.0


class KeyLookups(Generic[Work]):
    """Does look-ups for a lane, by `run_here` on the event loop or by the lane itself.

    They are in the figures of the lane wherever they are done.
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
        """Returns what the work returns, or raises what it raised, as `BatchExecutor.run` does."""
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
        """Does nothing here any more."""
        self._hand_over()
        self._slow_until = math.inf
