"""Tests the deadlines of calls."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from rosterd.server.rpc.errors import DeadlineExceeded
from rosterd.server.rpc.interceptors.base import Call, method_of
from rosterd.server.rpc.interceptors.deadlines import SWEEP_SECONDS, Deadlines


class FakeContext:
    """A context without metadata whose deadline is almost now."""

    def invocation_metadata(self) -> None:
        return None

    def time_remaining(self) -> float:
        return SWEEP_SECONDS / 10


def call_near_its_deadline() -> Call:
    context: Any = FakeContext()
    call = Call(method_of("/roster.v1.TagService/GetTag"), None, context)
    Deadlines().intercept(call)
    return call


def cancelling() -> int:
    task = asyncio.current_task()
    assert task is not None
    return task.cancelling()


async def test_call_past_its_deadline_is_cancelled() -> None:
    call = call_near_its_deadline()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.Event().wait()
    assert isinstance(call.cancellation_error(), DeadlineExceeded)
    call.finish()
    assert cancelling() == 0


async def test_call_that_ignores_its_cancellation_leaves_none_to_the_next_call_of_the_task() -> (
    None
):
    call = call_near_its_deadline()
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()
    call.finish()
    assert cancelling() == 0


async def test_cancellation_by_the_client_is_not_reported_as_a_deadline() -> None:
    call, task = call_near_its_deadline(), asyncio.current_task()
    assert task is not None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.Event().wait()
    await asyncio.sleep(0)
    assert call.cancellation_error() is None
    call.finish()
    assert task.uncancel() == 0
