"""Threads that run jobs in batches, and the bridge from asyncio to them.

A hop to a thread and back costs more than most statements. So a lane takes all
jobs that queued while it was busy, hands them to `run_batch` as one list, and
wakes the event loop once with all results. Under load the cost of the hop is
shared, and for a writer the cost of the fsync as well. Where waiting for a database
takes longer than the hop, a lane has several threads, which take from one queue.

`run_batch` claims each job when it begins with it. A job whose caller goes away,
or whose deadline passes, before it is claimed is withdrawn and has no effect.
Once a write is claimed its caller waits for the outcome, so an answer always
tells what happened; a read has no effect to wait for.

A call that could not be answered in time is refused when it comes, and not when its
time is over: by the length of the queue and the pace at which it moved of late.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Generic

from ... import deadline
from ...errors import Overloaded, Unavailable
from .queue_delay import QueueDelay
from .stats import ExecutorStats
from .work_item import Work, WorkItem

log = logging.getLogger(__name__)

# Jobs that may wait for a lane. Beyond that a caller is refused at once: a
# queue that only grows answers nobody in time.
MAX_WAITING = 2_000
# How long a call that has a deadline may have to wait, in seconds, however late that is:
# whoever is refused at once can turn elsewhere, or come back when there is less to do.
MAX_WAIT_SECONDS = 2.0
# Jobs in one batch, so that the first of them does not wait for all of a long queue.
MAX_BATCH = 256

RunBatch = Callable[[Sequence[WorkItem[Work]]], None]


class BatchExecutor(Generic[Work]):
    """Threads with one queue; one thread unless told otherwise.

    `start` and `stop` run in each thread, at its beginning and end. `run_batch` sets
    `result` or `error` of every job that it can claim, at most `max_batch` of them. A lane
    that `abandons` does not make its callers wait for jobs that have no effect. Where
    there is a `queue_timeout`, a job that was not begun within so many seconds is refused.
    """

    def __init__(
        self,
        name: str,
        *,
        start: Callable[[], None],
        run_batch: RunBatch[Work],
        stop: Callable[[], None],
        abandons: bool = False,
        threads: int = 1,
        max_batch: int = MAX_BATCH,
        queue_timeout: float | None = None,
    ) -> None:
        self.name, self.stats = name, ExecutorStats(threads)
        self._abandons, self._max_batch, self._queue_timeout = abandons, max_batch, queue_timeout
        self._loop = asyncio.get_running_loop()
        self._start, self._run_batch, self._stop = start, run_batch, stop
        self._queue: SimpleQueue[WorkItem[Work] | None] = SimpleQueue()
        self._gathered: list[WorkItem[Work]] = []
        self._claiming = threading.Lock()
        self._closing = False
        self._queue_delay = QueueDelay(threads)
        self._threads = [
            (threading.Thread(target=self._run, args=(started,), name=name, daemon=True), started)
            for started in [self._loop.create_future() for _ in range(threads)]
        ]

    @property
    def waiting(self) -> int:
        """How many jobs are in no batch yet."""
        return self._queue.qsize() + len(self._gathered)

    async def open(self) -> None:
        """Starts the threads. Raises what `start` raises in one of them, once all have ended.

        If cancelled, ends them as soon as they have started.
        """
        for thread, _ in self._threads:
            thread.start()
        started = asyncio.gather(*(done for _, done in self._threads), return_exceptions=True)
        try:
            outcomes = await asyncio.shield(started)
        except asyncio.CancelledError:
            await started
            await self.close()
            raise
        for outcome in outcomes:
            if outcome is not None:
                await self.close()
                raise outcome

    async def run(self, work: Work) -> Any:
        """Runs the work in some batch and returns its result, or raises what it raised.

        Raises Unavailable, without effect, if the lane is closing or its patience ends, and
        Overloaded if too many jobs wait, or so many that the call would be answered too late.
        """
        item = self.admitted(work)
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.append(item)
        if self._queue_timeout is None:
            return await self.outcome(item)
        timer = self._loop.call_later(self._queue_timeout, self._time_out, item)
        try:
            return await self.outcome(item)
        finally:
            timer.cancel()

    def admitted(self, work: Work) -> WorkItem[Work]:
        """Returns the work as a job that may wait here. Raises Unavailable and Overloaded."""
        if self._closing:
            raise Unavailable
        waiting = self.waiting
        if waiting:
            self._admit(waiting)
        self._queue_delay.enqueued(waiting)
        return WorkItem(work, self._loop.create_future(), self._claiming)

    def _admit(self, waiting: int) -> None:
        """Raises Overloaded if behind so many jobs there is no use in waiting."""
        wait, left = self._queue_delay.wait(waiting), deadline.seconds_left()
        useful = math.inf if left is None else min(left, MAX_WAIT_SECONDS)
        if waiting >= MAX_WAITING or wait > useful:
            self.stats.refused += 1
            raise Overloaded(wait)

    async def outcome(self, item: WorkItem[Work]) -> Any:
        """Returns the result of a job that was handed over, or raises what it raised."""
        while True:
            try:
                return await item.future
            except asyncio.CancelledError:
                if self._abandons:
                    item.withdraw()
                    raise
                if item.settled:
                    return item.outcome()
                if item.withdraw():
                    raise
                item.future = self._loop.create_future()

    def _time_out(self, item: WorkItem[Work]) -> None:
        if item.refuse():
            self.stats.refused += 1

    def _hand_over(self) -> None:
        # All that one turn of the event loop asked for goes over together. Handed
        # over one by one, the first would wake the thread, which would then vie
        # with the event loop for the interpreter while the others are on their way.
        self.put(self._gathered)
        self._gathered.clear()

    def put(self, items: Sequence[WorkItem[Work]]) -> None:
        """Hands jobs over to the threads, and refuses them where these have ended."""
        for item in items:
            if self._closing:
                item.refuse()
            else:
                self._queue.put(item)

    async def close(self) -> None:
        """Finishes what waits, then ends the threads."""
        self._hand_over()
        self._closing = True
        for _ in self._threads:
            self._queue.put(None)
        for thread, _ in self._threads:
            await self._loop.run_in_executor(None, thread.join)

    def _run(self, started: asyncio.Future[None]) -> None:
        try:
            self._start()
        except Exception as error:  # noqa: BLE001 - told to whoever opens the lane
            self._loop.call_soon_threadsafe(started.set_exception, error)
            return
        self._loop.call_soon_threadsafe(started.set_result, None)
        closing = False
        while not closing:
            batch, closing = self._take()
            if batch:
                dequeued_at = self._queue_delay.dequeued()
                self.run_batch_guarded(batch, self._run_batch)
                self._queue_delay.done(len(batch), dequeued_at)
                self._loop.call_soon_threadsafe(settle_all, batch)
        self._stop()

    def run_batch_guarded(self, batch: Sequence[WorkItem[Work]], run_batch: RunBatch[Work]) -> None:
        """Runs a batch and counts it. Whatever is raised is the error of all of its jobs."""
        began = self.stats.begin(len(batch))
        try:
            run_batch(batch)
        except Exception as error:
            # A thread that ended here would leave everybody waiting for ever.
            log.exception("a batch of %d failed", len(batch))
            for item in batch:
                item.error = error
        finally:
            self.stats.end(began)

    def _take(self) -> tuple[list[WorkItem[Work]], bool]:
        """Waits for a job, then returns all that wait, and whether the thread is to end."""
        batch: list[WorkItem[Work]] = []
        item = self._queue.get()
        while item is not None:
            batch.append(item)
            if len(batch) == self._max_batch:
                return batch, False
            try:
                item = self._queue.get_nowait()
            except Empty:
                return batch, False
        return batch, True


def settle_all(batch: Sequence[WorkItem[Any]]) -> None:
    """Tells all callers their outcomes; runs on the event loop."""
    for item in batch:
        item.settle()
