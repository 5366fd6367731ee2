"""A lane: a thread that runs jobs in batches for callers on an event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import Any

import pytest

from server import deadline
from server.errors import Overloaded, Unavailable
from server.storage.executor import batch_executor as executors
from server.storage.executor.batch_executor import BatchExecutor
from server.storage.executor.work_item import WorkItem

Work = Callable[[], Any]
LONG = 60.0


class Recorder:
    """What a lane did: its batches, by how many jobs they had, and its start and stop."""

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
        """An open lane, closed at the end."""
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
    """Work that stands still in the lane until it is let through."""

    def __init__(self) -> None:
        self._reached, self._opened = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self._reached.set()
        assert self._opened.wait(LONG)
        return "through"

    async def hold(self, executor: BatchExecutor[Work]) -> asyncio.Task[Any]:
        """Occupies the lane; returns once the work runs."""
        task = asyncio.create_task(executor.run(self))
        assert await asyncio.to_thread(self._reached.wait, LONG)
        return task

    def open(self) -> None:
        self._opened.set()


async def turns() -> None:
    """Lets the event loop do what it has to do, and what follows from that."""
    for _ in range(4):
        await asyncio.sleep(0)


async def queue(executor: BatchExecutor[Work], *works: Work) -> list[asyncio.Task[Any]]:
    """Starts a caller for each work; returns once all wait in the lane's queue."""
    tasks = [asyncio.create_task(executor.run(work)) for work in works]
    await turns()
    return tasks


def fail() -> None:
    raise ValueError("own words")


def test_result_of_the_work_is_returned() -> None:
    async def scenario() -> Any:
        async with Recorder().executor() as executor:
            return await executor.run(lambda: threading.current_thread().name)

    assert asyncio.run(scenario()) == "test"


def test_error_of_the_work_is_raised_to_its_caller_only() -> None:
    async def scenario() -> None:
        async with Recorder().executor() as executor:
            gate = Gate()
            await gate.hold(executor)
            bad, good = await queue(executor, fail, lambda: "good")
            gate.open()
            assert await good == "good"
            with pytest.raises(ValueError, match="own words"):
                await bad

    asyncio.run(scenario())


def test_jobs_that_queue_while_the_lane_is_busy_are_one_batch_in_order() -> None:
    recorder, done = Recorder(), []

    async def scenario() -> None:
        async with recorder.executor() as executor:
            gate = Gate()
            first = await gate.hold(executor)
            waiting = await queue(executor, *(lambda n=n: done.append(n) for n in range(5)))
            gate.open()
            await asyncio.gather(first, *waiting)

    asyncio.run(scenario())
    assert recorder.batches == [1, 5]
    assert done == [0, 1, 2, 3, 4]


def test_long_queue_is_cut_into_batches() -> None:
    recorder = Recorder()

    async def scenario() -> None:
        async with recorder.executor(max_batch=2) as executor:
            gate = Gate()
            first = await gate.hold(executor)
            waiting = await queue(executor, *[lambda: None] * 5)
            gate.open()
            await asyncio.gather(first, *waiting)

    asyncio.run(scenario())
    assert recorder.batches == [1, 2, 2, 1]


def test_job_that_is_withdrawn_before_it_was_taken_has_no_effect() -> None:
    recorder, done = Recorder(), []

    async def scenario() -> None:
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

    asyncio.run(scenario())
    assert done == ["stays"]


def test_deadline_that_passes_before_a_job_was_taken_ends_the_wait() -> None:
    done: list[str] = []

    async def scenario() -> None:
        async with Recorder().executor() as executor:
            gate = Gate()
            first = await gate.hold(executor)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await executor.run(lambda: done.append("late"))
            gate.open()
            await first

    asyncio.run(scenario())
    assert done == []


@pytest.mark.parametrize("times", [1, 3])
def test_caller_that_goes_away_after_its_job_was_taken_waits_for_the_outcome(times: int) -> None:
    async def scenario() -> Any:
        async with Recorder().executor() as executor:
            gate = Gate()
            task = await gate.hold(executor)
            for _ in range(times):
                task.cancel()
                await turns()
                assert not task.done()
            gate.open()
            return await task

    assert asyncio.run(scenario()) == "through"


async def leaving(*, after_settling: bool, abandons: bool = False) -> Any:
    """Returns what a caller gets that is cancelled as its outcome arrives."""
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
        # The loop stands still here: the outcome is on its way to it.
        assert passed.wait(LONG)
        if not after_settling:
            task.cancel()
        await asyncio.gather(*others)
        return await task


when = pytest.mark.parametrize("after_settling", [False, True], ids=["before", "after"])


@when
def test_caller_that_goes_away_as_its_outcome_arrives_is_told_it(after_settling: bool) -> None:
    assert asyncio.run(leaving(after_settling=after_settling)) == "through"


@when
def test_caller_of_a_lane_that_abandons_is_cancelled_as_its_outcome_arrives(
    after_settling: bool,
) -> None:
    # Whoever reads again and again would not end otherwise.
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(leaving(after_settling=after_settling, abandons=True))


def test_caller_is_refused_at_once_while_the_queue_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "MAX_WAITING", 2)

    async def scenario() -> None:
        async with Recorder().executor() as executor:
            gate = Gate()
            first = await gate.hold(executor)
            waiting = await queue(executor, lambda: 1, lambda: 2)
            with pytest.raises(Overloaded):
                await executor.run(lambda: 3)
            gate.open()
            assert await asyncio.gather(first, *waiting) == ["through", 1, 2]
            assert await executor.run(lambda: 4) == 4

    asyncio.run(scenario())


def test_close_finishes_what_waits_then_stops() -> None:
    recorder = Recorder()

    async def scenario() -> list[Any]:
        async with recorder.executor() as executor:
            gate = Gate()
            first = await gate.hold(executor)
            waiting = await queue(executor, *[lambda: recorder.events.append("job")] * 3)
            closing = asyncio.create_task(executor.close())
            await turns()
            with pytest.raises(Unavailable):
                await executor.run(lambda: None)
            gate.open()
            await closing
            return [task.done() for task in (first, *waiting)]

    assert asyncio.run(scenario()) == [True] * 4
    assert recorder.events == ["start", "job", "job", "job", "stop"]


def test_close_ends_the_thread() -> None:
    async def scenario() -> Any:
        async with Recorder().executor() as executor:
            return await executor.run(threading.current_thread)

    assert not asyncio.run(scenario()).is_alive()


def test_caller_of_a_lane_that_abandons_does_not_wait_for_the_outcome() -> None:
    async def scenario() -> bool:
        recorder, gate = Recorder(), Gate()
        executor: BatchExecutor[Work] = BatchExecutor(
            "test",
            start=lambda: None,
            run_batch=recorder.run_batch,
            stop=lambda: None,
            abandons=True,
        )
        await executor.open()
        task = await gate.hold(executor)
        task.cancel()
        await turns()
        gone = task.cancelled()
        gate.open()
        await executor.close()
        return gone

    assert asyncio.run(scenario())


def test_open_raises_what_the_start_raises() -> None:
    async def scenario() -> None:
        executor: BatchExecutor[Work] = BatchExecutor(
            "test", start=fail, run_batch=lambda items: None, stop=lambda: None
        )
        with pytest.raises(ValueError, match="own words"):
            await executor.open()

    asyncio.run(scenario())


def test_threads_of_a_lane_run_jobs_at_the_same_time() -> None:
    recorder, both = Recorder(), threading.Barrier(2)

    async def scenario() -> None:
        async with recorder.executor(threads=2, max_batch=1) as executor:
            meet = partial(both.wait, LONG)
            assert sorted(await asyncio.gather(executor.run(meet), executor.run(meet))) == [0, 1]

    asyncio.run(scenario())
    assert recorder.events == ["start", "start", "stop", "stop"]


def test_lane_of_several_threads_finishes_what_waits_when_it_closes() -> None:
    recorder, done = Recorder(), []

    async def scenario() -> None:
        async with recorder.executor(threads=3, max_batch=1) as executor:
            works = [partial(done.append, number) for number in range(50)]
            waiting = await queue(executor, *works)
        await asyncio.gather(*waiting)

    asyncio.run(scenario())
    assert sorted(done) == list(range(50))
    assert recorder.events == ["start"] * 3 + ["stop"] * 3


def test_lane_whose_second_thread_cannot_start_ends_the_first() -> None:
    recorder, run_cycle = Recorder(), count()

    def start() -> None:
        if next(run_cycle):
            raise OSError("no room")

    async def scenario() -> None:
        executor: BatchExecutor[Work] = BatchExecutor(
            "test",
            start=start,
            run_batch=recorder.run_batch,
            stop=lambda: recorder.events.append("stop"),
            threads=2,
        )
        with pytest.raises(OSError, match="no room"):
            await executor.open()

    asyncio.run(scenario())
    assert recorder.events == ["stop"]


def test_job_that_is_not_begun_in_time_is_refused_without_effect() -> None:
    recorder, done = Recorder(), []

    async def scenario() -> None:
        async with recorder.executor(queue_timeout=0.01) as executor:
            gate = Gate()
            first = await gate.hold(executor)
            with pytest.raises(Unavailable):
                await executor.run(partial(done.append, "late"))
            gate.open()
            # What was begun is waited for, however long it takes.
            assert await first == "through"

    asyncio.run(scenario())
    assert done == []


def due(executor: BatchExecutor[Work], seconds: float, work: Work) -> asyncio.Task[Any]:
    """Runs work for a call that has to be answered within so many seconds."""

    async def call() -> Any:
        deadline.set_deadline(asyncio.get_running_loop().time() + seconds)
        return await executor.run(work)

    return asyncio.create_task(call())


async def slow(executor: BatchExecutor[Work], gate: Gate) -> list[asyncio.Task[Any]]:
    """Occupies a lane, whose jobs took a tenth of a second each of late, and queues five."""
    for _ in range(1_000):
        executor._queue_delay.done(1, time.monotonic() - 0.1)
    return [await gate.hold(executor), *await queue(executor, *[lambda: "queued"] * 5)]


def test_call_that_would_be_answered_too_late_is_refused_at_once() -> None:
    async def scenario() -> None:
        async with Recorder().executor() as executor:
            gate = Gate()
            waiting = await slow(executor, gate)
            with pytest.raises(Overloaded) as refused:
                await due(executor, 0.3, lambda: "late")
            assert refused.value.retry_after == pytest.approx(0.5, rel=0.2)
            in_time = due(executor, 30, lambda: "in time")
            await turns()
            gate.open()
            assert await in_time == "in time"
            await asyncio.gather(*waiting)

    asyncio.run(scenario())


def test_call_with_much_time_waits_no_longer_than_any_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "MAX_WAIT_SECONDS", 0.3)

    async def scenario() -> None:
        async with Recorder().executor() as executor:
            gate = Gate()
            waiting = await slow(executor, gate)
            with pytest.raises(Overloaded):
                await due(executor, 30, lambda: "late")
            patient = asyncio.create_task(executor.run(lambda: "patient"))
            await turns()
            gate.open()
            assert await patient == "patient"
            await asyncio.gather(*waiting)

    asyncio.run(scenario())


def test_lane_whose_opening_is_cancelled_ends_what_it_has_started() -> None:
    async def main() -> list[str]:
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
        return events

    assert asyncio.run(main()) == ["stop"]
