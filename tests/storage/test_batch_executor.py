"""BatchExecutor: batches, cancellation, deadlines, rejection and shutdown."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest

from rosterd.server.rpc import deadline
from rosterd.server.rpc.errors import Overloaded, Unavailable
from rosterd.server.storage.executor import batch_executor as executors
from rosterd.server.storage.executor.batch_executor import BatchExecutor
from rosterd.server.storage.executor.work_item import GroupLimit, GroupLimits, WorkItem
from rosterd.server.storage.executor.work_time import measured

from .opened import run_loop_iterations

Work = Callable[[], Any]
TIMEOUT = 60.0


class Recorder:
    """Records the batch sizes, the start and the stop of an executor."""

    def __init__(self) -> None:
        self.batches: list[int] = []
        self.events: list[str] = []

    def run_batch(self, items: Sequence[WorkItem[Work]]) -> None:
        self.batches.append(len(items))
        for item in filter(WorkItem.claim, items):
            try:
                item.result = item.work()
            except Exception as error:  # noqa: BLE001 - each caller gets its own
                item.error = error

    @asynccontextmanager
    async def executor(self, **options: Any) -> AsyncIterator[BatchExecutor[Work]]:
        """An open executor, closed at the end."""
        executor: BatchExecutor[Work] = BatchExecutor(
            "test",
            start=lambda: self.events.append("start"),
            run_batch=self.run_batch,
            stop=lambda: self.events.append("stop"),
            **options,
        )
        await executor.open()
        try:
            yield executor
        finally:
            await executor.close()


class Gate:
    """Work that blocks a thread until it is opened."""

    def __init__(self) -> None:
        self._reached, self._opened = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self._reached.set()
        assert self._opened.wait(TIMEOUT)
        return "through"

    async def hold(self, executor: BatchExecutor[Work]) -> asyncio.Task[Any]:
        """Blocks the thread, and returns once it is blocked."""
        task = asyncio.create_task(executor.run(self))
        await self.reached()
        return task

    async def reached(self) -> None:
        """Returns once the thread is blocked."""
        assert await asyncio.to_thread(self._reached.wait, TIMEOUT)

    def open(self) -> None:
        self._opened.set()


async def queue(executor: BatchExecutor[Work], *works: Work) -> list[asyncio.Task[Any]]:
    """Starts a caller for each work item, and returns when all items are queued."""
    tasks = [asyncio.create_task(executor.run(work)) for work in works]
    await run_loop_iterations()
    return tasks


def fail() -> None:
    raise ValueError("own words")


async def test_item_cancelled_before_it_is_claimed_has_no_effect() -> None:
    recorder, done = Recorder(), []

    async with recorder.executor() as executor:
        gate = Gate()
        first = await gate.hold(executor)
        gone, stays = await queue(
            executor, lambda: done.append("gone"), lambda: done.append("stays")
        )
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        gate.open()
        await asyncio.gather(first, stays)
    assert done == ["stays"]


@pytest.mark.parametrize("times", [1, 3])
async def test_caller_cancelled_after_the_claim_waits_for_the_outcome(times: int) -> None:
    async with Recorder().executor() as executor:
        gate = Gate()
        task = await gate.hold(executor)
        for _ in range(times):
            task.cancel()
            await run_loop_iterations()
            assert not task.done()
        gate.open()
        assert await task == "through"


async def cancelled_caller(*, after_settling: bool, abandons: bool = False) -> Any:
    """Returns the result of a caller that is canceled as its outcome arrives."""
    loop, passed = asyncio.get_running_loop(), threading.Event()
    async with Recorder().executor(abandons=abandons) as executor:
        gate = Gate()
        task = await gate.hold(executor)

        def next_job() -> None:
            if after_settling:
                loop.call_soon_threadsafe(task.cancel)
            passed.set()

        others = await queue(executor, next_job)
        gate.open()
        # Blocks the event loop while the executor delivers the outcome.
        assert passed.wait(TIMEOUT)
        if not after_settling:
            task.cancel()
        await asyncio.gather(*others)
        return await task


when = pytest.mark.parametrize("after_settling", [False, True], ids=["before", "after"])


@when
async def test_caller_cancelled_as_its_outcome_arrives_receives_it(after_settling: bool) -> None:
    assert await cancelled_caller(after_settling=after_settling) == "through"


@when
async def test_caller_of_an_abandoning_executor_is_cancelled_as_its_outcome_arrives(
    after_settling: bool,
) -> None:
    # The caller is canceled and does not wait forever.
    with pytest.raises(asyncio.CancelledError):
        await cancelled_caller(after_settling=after_settling, abandons=True)


async def test_abandoned_work_costs_the_time_since_it_was_claimed() -> None:
    async def abandoned(executor: BatchExecutor[Work], gate: Gate, *, claimed: bool) -> float:
        with measured() as cost:
            task = asyncio.create_task(executor.run(gate))
            if claimed:
                await gate.reached()
            await asyncio.sleep(0.05)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        return cost.cpu_seconds

    async with Recorder().executor(abandons=True) as executor:
        running, waiting = Gate(), Gate()
        assert await abandoned(executor, running, claimed=True) > 0
        assert await abandoned(executor, waiting, claimed=False) == 0
        running.open()


async def test_full_queue_rejects_calls_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "MAX_WAITING", 2)

    async with Recorder().executor() as executor:
        gate = Gate()
        first = await gate.hold(executor)
        waiting = await queue(executor, lambda: 1, lambda: 2)
        with pytest.raises(Overloaded):
            await executor.run(lambda: 3)
        gate.open()
        assert await asyncio.gather(first, *waiting) == ["through", 1, 2]
        assert await executor.run(lambda: 4) == 4


async def test_close_runs_the_queued_items_first() -> None:
    recorder = Recorder()

    async with recorder.executor() as executor:
        gate = Gate()
        first = await gate.hold(executor)
        waiting = await queue(executor, *[lambda: recorder.events.append("job")] * 3)
        closing = asyncio.create_task(executor.close())
        await run_loop_iterations()
        with pytest.raises(Unavailable):
            await executor.run(lambda: None)
        gate.open()
        await closing
        assert all(task.done() for task in (first, *waiting))
    assert recorder.events == ["start", "job", "job", "job", "stop"]


async def test_queue_timeout_rejects_an_item_without_effect() -> None:
    recorder, done = Recorder(), []

    async with recorder.executor(queue_timeout=0.01) as executor:
        gate = Gate()
        first = await gate.hold(executor)
        with pytest.raises(Unavailable):
            await executor.run(partial(done.append, "late"))
        gate.open()
        # The wait for an item that has started has no limit.
        assert await first == "through"
    assert done == []


def run_with_deadline(
    executor: BatchExecutor[Work], seconds: float, work: Work, limits: GroupLimits = ()
) -> asyncio.Task[Any]:
    """Runs work for a call with this deadline."""

    async def call() -> Any:
        deadline.set_deadline(time.monotonic() + seconds)
        return await executor.run(work, limits)

    return asyncio.create_task(call())


async def queue_slow_items(executor: BatchExecutor[Work], gate: Gate) -> list[asyncio.Task[Any]]:
    """Blocks an executor with an average of 0.1 s per item, and queues five items."""
    for _ in range(1_000):
        executor._queue_delays[()].done(1, time.monotonic() - 0.1)
    return [await gate.hold(executor), *await queue(executor, *[lambda: "queued"] * 5)]


async def test_call_with_a_deadline_before_the_estimated_start_is_rejected_immediately() -> None:
    async with Recorder().executor() as executor:
        gate = Gate()
        waiting = await queue_slow_items(executor, gate)
        with pytest.raises(Overloaded) as refused:
            await run_with_deadline(executor, 0.3, lambda: "late")
        assert refused.value.retry_after == pytest.approx(0.5, rel=0.2)
        in_time = run_with_deadline(executor, 30, lambda: "in time")
        await run_loop_iterations()
        gate.open()
        assert await in_time == "in time"
        await asyncio.gather(*waiting)


async def fill_queue(
    executor: BatchExecutor[Any], gate: Gate, limits: GroupLimits
) -> list[asyncio.Task[Any]]:
    """Runs the gate, and lets 50 calls wait that are expected to take long. Returns all tasks."""
    tasks = [asyncio.create_task(executor.run(gate, limits))]
    assert await asyncio.to_thread(gate._reached.wait, TIMEOUT)
    for _ in range(1_000):
        executor._queue_delays[limits].done(1, time.monotonic() - 0.1)
    tasks += [asyncio.create_task(executor.run(int, limits)) for _ in range(50)]
    await run_loop_iterations()
    return tasks


async def test_queue_of_an_account_does_not_reject_calls_of_others_while_threads_are_idle() -> None:
    account, other = (GroupLimit("account", 1),), (GroupLimit("other", 1),)
    async with Recorder().executor(threads=2, fair=True) as executor:
        gate = Gate()
        held, *waiting = await fill_queue(executor, gate, account)

        assert await run_with_deadline(executor, 0.5, int, other) == 0
        with pytest.raises(Overloaded):
            await run_with_deadline(executor, 0.5, int, account)
        assert executor._queue_delays.keys() == {(), account}

        gate.open()
        await asyncio.gather(held, *waiting)
        assert executor._queue_delays.keys() == {()}


@pytest.mark.parametrize("limits", [(), (GroupLimit("account", 1),)])
async def test_canceled_calls_do_not_count_in_the_queue(limits: GroupLimits) -> None:
    async with Recorder().executor(fair=bool(limits)) as executor:
        gate = Gate()
        held, *waiting = await fill_queue(executor, gate, limits)
        assert executor.waiting == 50
        for task in waiting[1:]:
            task.cancel()
        await run_loop_iterations()

        assert executor.waiting == 1
        in_time = run_with_deadline(executor, 0.5, int, limits)
        await run_loop_iterations()
        assert not in_time.done()
        gate.open()
        await asyncio.gather(held, waiting[0], in_time)


async def test_cancelled_open_stops_the_started_threads() -> None:
    events: list[str] = []
    begun, gate = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def begin() -> None:
        loop.call_soon_threadsafe(begun.set)
        gate.wait()

    executor: BatchExecutor[Work] = BatchExecutor(
        "test", start=begin, run_batch=lambda _: None, stop=lambda: events.append("stop")
    )
    opening = asyncio.create_task(executor.open())
    await begun.wait()
    opening.cancel()
    gate.set()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert events == ["stop"]
