"""Runs work items in batches on database threads, for callers on the event loop.

A thread switch costs more than most statements. So a thread takes all items that queued
while it was busy, passes them to `run_batch` as one list, and wakes the event loop once
with all results. Under load, a batch shares the cost of the switch and, for writes, of the
fsync. An executor can have several threads with one queue, for a database on a server.

Short items can run on the event loop instead, also in batches.

`run_batch` claims each item before it runs it. An item that is canceled or exceeds its
deadline before that is withdrawn without effect. After a write is claimed, its caller waits
for the outcome, so that the response is always accurate. A read can be abandoned, which interrupts
its statement.

Overload is detected on arrival: a call is rejected if the estimated queue delay of its groups
exceeds its deadline. Items of other groups count only if they wait for a free thread, too.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Generic

from ...rpc import caller, deadline
from ...rpc.errors import Overloaded, Unavailable
from .queue_delay import QueueDelay
from .stats import ExecutorStats
from .work_item import GroupLimits, Work, WorkItem
from .work_queue import FairQueue, FifoQueue
from .work_time import current

log = logging.getLogger(__name__)

# The maximum number of queued items of a group. Further calls are rejected: with a queue
# that only grows, all calls would exceed their deadlines.
MAX_WAITING = 2_000
# The maximum estimated queue delay, in seconds, for a call with a later deadline. A client
# that is rejected early can retry elsewhere or later.
MAX_WAIT_SECONDS = 2.0
# The maximum batch size, so that the first item does not wait for a long queue.
MAX_BATCH = 256
# After a batch on the event loop that takes longer than this, in seconds, all items run on the
# threads for a while, because the file is not in memory.
SLOW_SECONDS = 0.02
SLOW_CACHE_SECONDS = 1.0

RunBatch = Callable[[Sequence[WorkItem[Work]]], None]


class BatchExecutor(Generic[Work]):
    """Runs work items on one or more threads with one queue.

    `start` and `stop` run in each thread, at its beginning and end. `run_batch` sets
    `result` or `error` of every item that it can claim, at most `max_batch` of them. With
    `abandons`, a canceled caller interrupts a claimed item and does not wait for it. With
    `queue_timeout`, an item that is not claimed within that many seconds is rejected. `fair`
    limits the number of threads of a group of items, see `FairQueue`. `on_loop` returns those
    of the items that arrived together which run on the event loop.
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
        fair: bool = False,
        on_loop: Callable[[Sequence[WorkItem[Work]]], Sequence[WorkItem[Work]]] = lambda _: (),
    ) -> None:
        self.name, self.stats = name, ExecutorStats(threads)
        self._abandons, self._queue_timeout = abandons, queue_timeout
        self._loop = asyncio.get_running_loop()
        self._start, self._run_batch, self._stop = start, run_batch, stop
        self._queue = FairQueue(max_batch) if fair else FifoQueue(max_batch)
        # The items of this iteration of the event loop, by their groups.
        self._gathered: dict[GroupLimits, list[WorkItem[Work]]] = {}
        self._claiming = threading.Lock()
        self._closing = False
        self._on_loop, self._slow_until = on_loop, 0.0
        # By the groups of the items; those without a group are kept.
        self._queue_delays: dict[GroupLimits, QueueDelay] = {(): QueueDelay(threads)}
        self._threads = [
            (threading.Thread(target=self._run, args=(started,), name=name, daemon=True), started)
            for started in [self._loop.create_future() for _ in range(threads)]
        ]

    @property
    def waiting(self) -> int:
        """The number of items that no thread has taken."""
        return len(self._queue) + sum(map(len, self._gathered.values()))

    @property
    def seconds_in_batch(self) -> float:
        """How long the only thread has run its current batch; 0 if it is idle."""
        return self._queue_delays[()].seconds_since_dequeue() if self.stats.busy else 0.0

    async def open(self) -> None:
        """Starts the threads. If `start` fails in one of them, stops all and raises its error.

        If canceled, stops the threads after they have started.
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

    async def run(self, work: Work, limits: GroupLimits = ()) -> Any:
        """Runs the work in some batch and returns its result, or raises what it raised.

        Raises Unavailable, without effect, if the executor is closing or the queue timeout
        passes. Raises Overloaded if the queue is full or its delay exceeds the deadline.
        """
        item = self._admit(work, limits)
        timer = None
        if self._queue_timeout is not None:
            timer = self._loop.call_later(self._queue_timeout, self._time_out, item)
        try:
            return await self._outcome(item)
        finally:
            if timer is not None:
                timer.cancel()
            if (work_time := current.get()) is not None:
                work_time.seconds += item.seconds
                work_time.cpu_seconds += item.cpu_seconds

    def _admit(self, work: Work, limits: GroupLimits) -> WorkItem[Work]:
        """Returns a gathered work item. Raises Unavailable or Overloaded."""
        if self._closing:
            raise Unavailable
        gathered = self._gathered.get(limits, ())
        waiting = self._queue.ahead(limits) + len(gathered)
        delay = self._delay_of(limits)
        # While no thread is busy, the item starts at the end of this iteration of the event loop.
        if self.stats.busy and waiting:
            self._check_queue_delay(delay, waiting)
        if not waiting:
            delay.enqueued()
        future, actor = self._loop.create_future(), caller.actor_or_none()
        item = WorkItem(work, future, self._claiming, limits, actor)
        if not self._gathered:
            self._loop.call_soon(self._hand_over)
        self._gathered.setdefault(limits, []).append(item)
        return item

    def _delay_of(self, limits: GroupLimits) -> QueueDelay:
        delay = self._queue_delays.get(limits)
        if delay is None:
            threads = min(self.stats.threads, *(limit.threads for limit in limits))
            delay = self._queue_delays.setdefault(limits, QueueDelay(threads))
        return delay

    def _check_queue_delay(self, delay: QueueDelay, waiting: int) -> None:
        """Raises Overloaded if the queue is full or its delay exceeds the deadline."""
        wait, left = delay.wait(waiting), deadline.seconds_left()
        useful = math.inf if left is None else min(left, MAX_WAIT_SECONDS)
        if waiting >= MAX_WAITING or wait > useful:
            self.stats.rejected += 1
            raise Overloaded(wait)

    async def _outcome(self, item: WorkItem[Work]) -> Any:
        """Returns the result of the work, or raises what it raised."""
        while True:
            try:
                return await item.future
            except asyncio.CancelledError:
                if self._abandons:
                    item.abandon()
                    self._discard(item)
                    raise
                if item.settled:
                    return item.outcome()
                if item.withdraw():
                    self._discard(item)
                    raise
                item.future = self._loop.create_future()

    def _time_out(self, item: WorkItem[Work]) -> None:
        if item.reject():
            self._discard(item)
            self.stats.rejected += 1

    def _hand_over(self) -> None:
        """Queues the gathered items for the threads, runs them, or rejects them if closing.

        All items of one iteration of the event loop are queued together. The first alone
        would wake a thread, which would compete with the event loop for the GIL.
        """
        items = [item for group in self._gathered.values() for item in group]
        self._gathered = {}
        if self._closing:
            for item in items:
                item.reject()
            return
        short = self._on_loop(items) if self._slow_until <= self._loop.time() else ()
        if short:
            self._run_on_loop(short)
        if len(short) < len(items):
            self._queue.put([item for item in items if item not in short and not item.is_withdrawn])

    def _run_on_loop(self, items: Sequence[WorkItem[Work]]) -> None:
        began = self._loop.time()
        self._run_guarded(items)
        self._settle_all(items)
        ended = self._loop.time()
        if ended - began > SLOW_SECONDS:
            self._slow_until = ended + SLOW_CACHE_SECONDS

    async def close(self) -> None:
        """Runs the queued items, then stops the threads."""
        if self._gathered:
            self._hand_over()
        self._closing = True
        self._queue.close(len(self._threads))
        for thread, _ in self._threads:
            await self._loop.run_in_executor(None, thread.join)

    def _run(self, started: asyncio.Future[None]) -> None:
        try:
            self._start()
        except Exception as error:  # noqa: BLE001 - raised by open()
            self._loop.call_soon_threadsafe(started.set_exception, error)
            return
        self._loop.call_soon_threadsafe(started.set_result, None)
        while batch := self._queue.take():
            delay = self._delay_of(batch[0].limits)
            dequeued_at, cpu = delay.dequeued(), time.thread_time()
            self._run_guarded(batch)
            cpu_seconds = (time.thread_time() - cpu) / len(batch)
            for item in batch:
                item.cpu_seconds = cpu_seconds
            # The time spent waiting for a node that does not respond is not typical.
            if not isinstance(batch[0].error, Unavailable):
                delay.done(len(batch), dequeued_at)
            self._loop.call_soon_threadsafe(self._settle_all, batch)
        self._stop()

    def _run_guarded(self, batch: Sequence[WorkItem[Work]]) -> None:
        """Runs and counts a batch. An exception becomes the error of all of its items."""
        began = self.stats.begin([item.queued_at for item in batch])
        try:
            self._run_batch(batch)
        except Exception as error:
            # The thread must continue: otherwise all callers would wait forever.
            log.exception("a batch of %d work items failed", len(batch))
            for item in batch:
                item.error = error
        finally:
            seconds = self.stats.end(began) / len(batch)
            for item in batch:
                item.seconds = seconds

    def _settle_all(self, batch: Sequence[WorkItem[Work]]) -> None:
        """Passes the outcomes to all callers. Runs on the event loop."""
        self._queue.done(batch)
        self._end_estimate(batch[0].limits)
        for item in batch:
            item.settle()

    def _discard(self, item: WorkItem[Work]) -> None:
        self._queue.discard(item)
        self._end_estimate(item.limits)

    def _end_estimate(self, limits: GroupLimits) -> None:
        if limits and self._queue.is_idle(limits):
            self._queue_delays.pop(limits, None)
