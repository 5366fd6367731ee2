"""Work that is done again and again beside the calls, in the service or apart from it.

A job waits for its interval, a little more or less each time so that processes which were
started together do not work together; then it does a round. It does so until it is
cancelled, which takes effect between two steps on the database. A round that fails is
logged, and the next one comes as if nothing had been.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

log = logging.getLogger(__name__)

# How far from its interval a round may begin: a quarter of it, before or after.
JITTER = 0.25


class PeriodicTask(NamedTuple):
    """A name for the log, seconds between rounds, and a round, which returns how much it did."""

    name: str
    interval: float
    round: Callable[[], Awaitable[int]]


@asynccontextmanager
async def running(jobs: Iterable[PeriodicTask]) -> AsyncIterator[None]:
    """Runs jobs for the length of a block."""
    tasks = [asyncio.create_task(_repeat(job), name=job.name) for job in jobs]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def heed_cancellation() -> None:
    """Ends the job here if it was cancelled during a write, which had to be waited for."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def _repeat(job: PeriodicTask) -> None:
    while True:
        heed_cancellation()
        await asyncio.sleep(job.interval * random.uniform(1 - JITTER, 1 + JITTER))  # noqa: S311
        begun = time.monotonic()
        try:
            done = await job.round()
        except Exception:
            log.exception("%s failed; it is tried again", job.name)
            continue
        level = logging.INFO if done else logging.DEBUG
        seconds = round(time.monotonic() - begun, 3)
        log.log(level, job.name, extra={"rows": done, "seconds": seconds})
