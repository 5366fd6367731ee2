"""Runs long database work in a thread, and interrupts it when the waiting task is canceled.

A migration can take minutes, but a process has seconds to stop. The work runs in a
transaction, so that an interruption rolls it back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

log = logging.getLogger(__name__)

# An interruption between two statements has no effect, so it is repeated at this interval.
PAUSE_SECONDS = 0.1

# Makes the running statement fail. Can be called from any thread.
Interrupt = Callable[[], object]
# The work passes its Interrupt to this function once its connection is open.
InterruptedBy = Callable[[Interrupt], None]


async def interruptible(work: Callable[[InterruptedBy], None]) -> None:
    """Runs the work in a thread, and raises what it raises.

    If canceled, interrupts the work and waits for its thread to finish.
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
        # The caller is gone: its error goes to the debug log.
        log.debug("interrupted the work: %s", working.exception())
        raise


def _attempt(interrupt: Interrupt) -> None:
    try:
        interrupt()
    except Exception as error:  # noqa: BLE001 - the work may have ended just now
        log.debug("could not interrupt the work: %s", error)
