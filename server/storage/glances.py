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

from .job import Job, Work
from .lane import Lane, RunBatch, settle_all

# More than so many within one turn of the event loop are a crowd.
FEW = 32
# What is slow, in seconds a look-up, and how long that is remembered.
SLOW_SECONDS = 0.000_5
REMEMBERED_SECONDS = 1.0


class Glances(Generic[Work]):
    """Does look-ups for a lane, by `run_here` on the event loop or by the lane itself.

    They are in the figures of the lane wherever they are done.
    """

    def __init__(
        self,
        lane: Lane[Work],
        run_here: RunBatch[Work],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lane, self._run_here, self._clock = lane, run_here, clock
        self._loop = asyncio.get_running_loop()
        self._gathered: list[Job[Work]] = []
        self._slow_until = 0.0

    async def run(self, work: Work) -> Any:
        """Returns what the work returns, or raises what it raised, as `Lane.run` does."""
        job = self._lane.admitted(work)
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append(job)
        return await self._lane.outcome(job)

    def _hand_over(self) -> None:
        jobs, self._gathered = self._gathered, []
        began = self._clock()
        if len(jobs) <= FEW or began < self._slow_until:
            self._lane.put(jobs)
            return
        self._lane.run_guarded(jobs, self._run_here)
        settle_all(jobs)
        ended = self._clock()
        if ended - began > len(jobs) * SLOW_SECONDS:
            self._slow_until = ended + REMEMBERED_SECONDS

    def close(self) -> None:
        """Does nothing here any more."""
        self._hand_over()
        self._slow_until = math.inf
