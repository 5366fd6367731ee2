"""Runs tasks periodically in the background.

A task waits for its interval, with jitter so that processes that start together do not run it
at the same time. A run that fails is logged and counted, and the next one follows as usual.
Cancellation takes effect between two transactions.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

log = logging.getLogger(__name__)

Sleep = Callable[[float], Awaitable[None]]

# The share of the interval by which a run can start earlier or later.
JITTER = 0.25


class PeriodicTask(NamedTuple):
    """A name for the log, an interval in seconds, and a function that returns changed rows."""

    name: str
    interval: float
    run: Callable[[], Awaitable[int]]


@asynccontextmanager
async def running(
    periodic: Sequence[PeriodicTask], sleep: Sleep = asyncio.sleep
) -> AsyncIterator[Counter[str]]:
    """Runs periodic tasks during a block. Yields the number of failed runs by task."""
    failures = Counter({task.name: 0 for task in periodic})
    tasks = [asyncio.create_task(_repeat(task, sleep, failures)) for task in periodic]
    try:
        yield failures
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def raise_if_cancelled() -> None:
    """Raises CancelledError if the task was canceled during a write, which ignores that."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _repeat(task: PeriodicTask, sleep: Sleep, failures: Counter[str]) -> None:
    while True:
        raise_if_cancelled()
        await sleep(task.interval * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311
        started = time.monotonic()
        try:
            rows = await task.run()
        except Exception:
            failures[task.name] += 1
            log.exception("%s failed; it will be repeated", task.name)
            continue
        level = logging.INFO if rows else logging.DEBUG
        milliseconds = round((time.monotonic() - started) * 1000)
        log.log(level, task.name, extra={"rows": rows, "durationMs": milliseconds})
