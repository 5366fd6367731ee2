"""Long work on a database in a thread, which ends soon where whoever waits for it is cancelled.

A migration may take minutes, and a process that is asked to stop has seconds. What runs is
a transaction: interrupted, it is as if it had not been begun.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

log = logging.getLogger(__name__)

# Between two statements there is nothing to interrupt; so it is done again after so many seconds.
PAUSE_SECONDS = 0.1

# Has the statement that runs now fail. It may be called from any thread.
Interrupt = Callable[[], object]
# Is given that by the work, as soon as there is something to interrupt.
InterruptedBy = Callable[[Interrupt], None]


async def interruptible(work: Callable[[InterruptedBy], None]) -> None:
    """Runs the work in a thread, and raises what it raises.

    If cancelled, interrupts the work, and ends once it has ended.
    """
    interrupts: list[Interrupt] = []
    working = asyncio.ensure_future(asyncio.to_thread(work, interrupts.append))
    try:
        await asyncio.shield(working)
    except asyncio.CancelledError:
        while not working.done():
            for interrupt in interrupts:
                await asyncio.to_thread(_attempt, interrupt)
            await asyncio.wait([working], timeout=PAUSE_SECONDS)
        # What it ended with is no news to anybody any more.
        log.debug("was interrupted: %s", working.exception())
        raise


def _attempt(interrupt: Interrupt) -> None:
    try:
        interrupt()
    except Exception as error:  # noqa: BLE001 - the work may have ended just now
        log.debug("could not be interrupted: %s", error)
