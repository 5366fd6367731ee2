"""One process that serves, from its start to its end.

It is ready once everything listens and ends, with 0, when it is asked to by SIGTERM or
SIGINT. One of several workers is asked by the end of its standard input as well: so none
outlives the process that looks after it, however that one went.

What runs then is finished. A second signal ends the process at once, with 1, and so does
its patience: that costs whoever still waits an answer, and nothing that was acknowledged.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Coroutine

import uvloop

from .ready import Ready, announce

log = logging.getLogger(__name__)

# How long what runs may take to end, in seconds. Its parts together have less; a database
# that neither commits nor fails may have none.
STOP_SECONDS = 29.0

# What a service awaits once it is ready; it returns when the service is to end.
Serving = Callable[[Ready], Awaitable[None]]


def run(service: Callable[[Serving], Coroutine[None, None, None]], *, worker: bool) -> None:
    """Runs a service to its end."""
    uvloop.run(_run(service, worker=worker))


async def _run(service: Callable[[Serving], Coroutine[None, None, None]], *, worker: bool) -> None:
    loop, stopping = asyncio.get_running_loop(), asyncio.Event()

    def stop() -> None:
        stopping.set()
        loop.call_later(STOP_SECONDS, _end_now, "what runs does not end")

    def asked() -> None:
        if stopping.is_set():
            _end_now("it was asked twice")
        stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked)
    if worker:
        _at_end_of_input(stop)

    async def serving(ready: Ready) -> None:
        _spare_the_collector()
        if worker:
            print(ready.report(), flush=True)
        else:
            announce(ready, 1)
        await stopping.wait()

    await service(serving)


def _end_now(why: str) -> None:
    log.critical("ends at once, since %s; what was acknowledged is stored", why)
    os._exit(1)


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
