"""Delays responses, so that the response time does not reveal what the server did."""

from __future__ import annotations

import asyncio

# Response times are rounded up to a multiple of this. Half of it would reveal whether a person is
# stored: under load on PostgreSQL, storing a new person took more than 50 ms in 23 % of the calls,
# and finding an existing one in 11 %. Both took more than 100 ms in 1 %.
STEP_SECONDS = 0.1


def now() -> float:
    """Returns the time of the event loop, in seconds."""
    return asyncio.get_running_loop().time()


async def wait_for_step(started: float) -> None:
    """Waits until a multiple of STEP_SECONDS has passed since `started`, a result of `now`."""
    await asyncio.sleep(STEP_SECONDS - (now() - started) % STEP_SECONDS)
