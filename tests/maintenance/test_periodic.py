"""Tests periodic tasks: intervals, failures and cancellation."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from rosterd.server.maintenance.periodic import PeriodicTask, running

NAME = "sweep"


class FakeSleep:
    """A `sleep` that ends when a test starts a run; records the durations."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self._runs = asyncio.Semaphore(0)
        self._sleeping = asyncio.Event()

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)
        self._sleeping.set()
        await self._runs.acquire()

    def start(self, runs: int) -> None:
        """Starts runs."""
        for _ in range(runs):
            self._runs.release()

    async def complete(self, runs: int) -> None:
        """Starts runs of a single task one after another, and waits for each."""
        for _ in range(runs):
            self._sleeping.clear()
            self.start(1)
            await self._sleeping.wait()


def run(body: Callable[[FakeSleep], Awaitable[None]]) -> FakeSleep:
    """Runs the body of a test, and returns the sleeps."""

    async def main() -> FakeSleep:
        sleep = FakeSleep()
        await asyncio.wait_for(body(sleep), 60)
        return sleep

    return asyncio.run(main())


def test_intervals_have_jitter() -> None:
    async def nothing() -> int:
        return 0

    async def body(sleep: FakeSleep) -> None:
        async with running([PeriodicTask(NAME, 100, nothing)], sleep):
            await asyncio.sleep(0)
            await sleep.complete(50)

    waits = run(body).waits

    assert len(set(waits)) == len(waits) == 51
    assert all(75 <= wait <= 125 for wait in waits)


def test_failed_run_is_logged_and_counted_and_the_next_one_follows(
    caplog: pytest.LogCaptureFixture,
) -> None:
    runs: list[int] = []

    async def first_fails() -> int:
        runs.append(1)
        if len(runs) == 1:
            raise RuntimeError("no database")
        return 3

    async def body(sleep: FakeSleep) -> None:
        async with running([PeriodicTask(NAME, 100, first_fails)], sleep) as failures:
            await asyncio.sleep(0)
            await sleep.complete(2)
            assert failures == {NAME: 1}

    caplog.set_level(logging.INFO)
    run(body)

    failed, succeeded = caplog.records
    assert (failed.levelno, succeeded.levelno) == (logging.ERROR, logging.INFO)
    assert failed.getMessage().startswith(NAME)
    assert "no database" in caplog.text
    assert (succeeded.getMessage(), vars(succeeded)["rows"]) == (NAME, 3)


def test_tasks_run_independently_and_end_with_the_block() -> None:
    ended: list[str] = []
    has_run = asyncio.Event()

    async def stuck() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("stuck")
        return 0

    async def quick() -> int:
        ended.append("quick")
        has_run.set()
        return 0

    async def body(sleep: FakeSleep) -> None:
        tasks = [PeriodicTask("stuck", 100, stuck), PeriodicTask("quick", 100, quick)]
        async with running(tasks, sleep):
            await asyncio.sleep(0)
            sleep.start(2)
            await has_run.wait()
            assert ended == ["quick"]
        assert ended == ["quick", "stuck"]

    run(body)


def test_task_cancelled_during_a_write_ends_after_it() -> None:
    started, ended = asyncio.Event(), asyncio.Event()

    async def writes() -> int:
        started.set()
        try:
            await ended.wait()
        except asyncio.CancelledError:
            # A write that has started ignores the cancellation.
            ended.set()
        return 1

    async def body(sleep: FakeSleep) -> None:
        async with running([PeriodicTask(NAME, 100, writes)], sleep):
            await asyncio.sleep(0)
            sleep.start(1)
            await started.wait()

    assert len(run(body).waits) == 1
    assert ended.is_set()
