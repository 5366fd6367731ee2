"""Deadlines of calls."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from server.interceptors.deadlines import SWEEP_SECONDS, Deadlines


def test_a_call_whose_time_is_over_is_cancelled_and_known_to_have_been() -> None:
    async def story() -> bool:
        deadlines, task = Deadlines(), asyncio.current_task()
        assert task is not None
        deadlines.start(task, 0.0)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.Event().wait()
        return deadlines.expired(task) and task.cancelling() == 0

    assert asyncio.run(story())


def test_a_call_that_ends_in_time_is_left_alone() -> None:
    async def story() -> int:
        deadlines, task = Deadlines(), asyncio.current_task()
        assert task is not None
        deadlines.start(task, 0.0)
        deadlines.end(task)
        await asyncio.sleep(2 * SWEEP_SECONDS)
        return task.cancelling()

    assert asyncio.run(story()) == 0


def test_a_call_that_finishes_although_its_time_was_over_leaves_nothing_to_the_next() -> None:
    async def story() -> tuple[bool, int]:
        deadlines, task = Deadlines(), asyncio.current_task()
        assert task is not None
        deadlines.start(task, 0.0)
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        deadlines.end(task)
        return deadlines.expired(task), task.cancelling()

    assert asyncio.run(story()) == (False, 0)
