"""One process that serves, from its start to its end.

It is ready once everything listens and ends, with 0, when it is asked to by SIGTERM or
SIGINT. One of several workers is asked by the end of its standard input as well: so none
outlives the process that looks after it, however that one went.
"""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine

import uvloop

from .ready import Ready, announce

# How long it goes on to serve after it has said that it does not, in seconds: those who watch
# its health turn elsewhere meanwhile, and who was about to connect has done so.
DRAIN_SECONDS = 0.1

# What a service awaits once it is ready; it returns when the service is to end.
Serving = Callable[[Ready], Awaitable[None]]


def run(service: Callable[[Serving], Coroutine[None, None, None]], *, worker: bool) -> None:
    """Runs a service to its end."""
    uvloop.run(_run(service, worker=worker))


async def _run(service: Callable[[Serving], Coroutine[None, None, None]], *, worker: bool) -> None:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    if worker:
        _at_end_of_input(stopping.set)

    async def serving(ready: Ready) -> None:
        _spare_the_collector()
        if worker:
            print(ready.report(), flush=True)
        else:
            announce(ready, 1)
        await stopping.wait()

    await service(serving)


def _at_end_of_input(stop: Callable[[], None]) -> None:
    loop, number = asyncio.get_running_loop(), sys.stdin.fileno()

    def end() -> None:
        loop.remove_reader(number)
        stop()

    loop.add_reader(number, end)


def _spare_the_collector() -> None:
    # What was made at the start stays; looking through it again and again for
    # garbage, as the defaults have it, takes a tenth of a busy process's time.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
