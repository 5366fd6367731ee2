"""Cancellation of long migrations."""

from __future__ import annotations

import asyncio
import threading

import pytest

from rosterd.server.storage.interruptible import InterruptedBy, interruptible


async def test_interrupt_is_repeated_until_the_work_ends() -> None:
    begun, interrupted = asyncio.Event(), threading.Semaphore(0)
    loop = asyncio.get_running_loop()

    def work(interrupted_by: InterruptedBy) -> None:
        interrupted_by(interrupted.release)
        loop.call_soon_threadsafe(begun.set)
        interrupted.acquire(timeout=60)
        interrupted.acquire(timeout=60)
        raise RuntimeError

    task = asyncio.create_task(interruptible(work))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 60)
