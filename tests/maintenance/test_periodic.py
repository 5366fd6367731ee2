"""Jobs that are done again and again: when, what becomes of a failure, and how they end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

import pytest

from server.maintenance import periodic
from server.maintenance.periodic import PeriodicTask, running

JOB = "sweep"


class Clock:
    """Stands in for sleep: a round begins when a test says so, and the waits are noted."""

    def __init__(self) -> None:
        self.waits: list[float] = []
        self._rounds = asyncio.Semaphore(0)

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        await self._rounds.acquire()

    def begin(self, rounds: int) -> None:
        """Lets so many rounds begin."""
        for _ in range(rounds):
            self._rounds.release()

    async def let(self, rounds: int) -> None:
        """Lets so many rounds of one job begin, and returns when all have ended."""
        for _ in range(rounds):
            before = len(self.waits)
            self.begin(1)
            while len(self.waits) == before:
                await asyncio.tasks.sleep(0)


def play(story: Callable[[Clock], Awaitable[None]], monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Runs a story in which nothing waits, and returns its clock."""

    async def whole() -> Clock:
        clock = Clock()
        fake = type("asyncio", (), {**vars(asyncio), "sleep": staticmethod(clock.sleep)})
        monkeypatch.setattr(periodic, "asyncio", fake)
        await asyncio.wait_for(story(clock), 10)
        return clock

    return asyncio.run(whole())


def test_rounds_come_about_an_interval_apart_and_no_two_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def nothing() -> int:
        return 0

    async def story(clock: Clock) -> None:
        async with running([PeriodicTask(JOB, 100, nothing)]):
            await asyncio.tasks.sleep(0)
            await clock.let(50)

    waits = play(story, monkeypatch).waits

    assert len(set(waits)) == len(waits) == 51
    assert all(75 <= wait <= 125 for wait in waits)


def test_round_that_fails_is_logged_and_the_next_one_comes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    done: list[int] = []

    async def first_fails() -> int:
        done.append(1)
        if len(done) == 1:
            raise RuntimeError("no database")
        return 3

    async def story(clock: Clock) -> None:
        async with running([PeriodicTask(JOB, 100, first_fails)]):
            await asyncio.tasks.sleep(0)
            await clock.let(2)

    caplog.set_level(logging.INFO)
    play(story, monkeypatch)

    failed, did = caplog.records
    assert (failed.levelno, did.levelno) == (logging.ERROR, logging.INFO)
    assert failed.getMessage().startswith(JOB)
    assert "no database" in caplog.text
    assert (did.getMessage(), vars(did)["rows"]) == (JOB, 3)


def test_round_that_did_nothing_is_not_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def nothing() -> int:
        return 0

    async def story(clock: Clock) -> None:
        async with running([PeriodicTask(JOB, 100, nothing)]):
            await asyncio.tasks.sleep(0)
            await clock.let(3)

    caplog.set_level(logging.INFO)
    play(story, monkeypatch)

    assert caplog.records == []


def test_jobs_do_not_wait_for_each_other_and_all_end_with_the_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[str] = []

    async def stuck() -> int:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("stuck")
        return 0

    async def quick() -> int:
        ended.append("quick")
        return 0

    async def story(clock: Clock) -> None:
        async with running([PeriodicTask("stuck", 100, stuck), PeriodicTask("quick", 100, quick)]):
            await asyncio.tasks.sleep(0)
            clock.begin(2)
            while "quick" not in ended:
                await asyncio.tasks.sleep(0)
            assert ended == ["quick"]
        assert ended == ["quick", "stuck"]

    play(story, monkeypatch)


def test_job_that_is_cancelled_during_a_write_ends_once_that_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def writes() -> int:
        begun.set()
        try:
            await ended.wait()
        except asyncio.CancelledError:
            # As a lane does with what was begun.
            ended.set()
        return 1

    async def story(clock: Clock) -> None:
        async with running([PeriodicTask(JOB, 100, writes)]):
            await asyncio.tasks.sleep(0)
            clock.begin(1)
            await begun.wait()

    assert len(play(story, monkeypatch).waits) == 1
    assert ended.is_set()
