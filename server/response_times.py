"""Delays responses, so that their time does not reveal what the server did."""

from __future__ import annotations

import asyncio

# Responses are sent after a multiple of this time, in seconds.
STEP = 0.05


def now() -> float:
    """Returns the time of the event loop, in seconds."""
    return asyncio.get_running_loop().time()


async def wait_for_step(started: float) -> None:
    """Waits until a multiple of STEP has passed since a time of `now`."""
    await asyncio.sleep(STEP - (now() - started) % STEP)
