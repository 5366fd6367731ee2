"""One process that serves, from its start to its end.

It listens, migrates, says where it is once it serves, and ends, with 0, when a signal stops it
(see `signals.py`). One of several workers is stopped by the end of its standard input as
well: so none outlives the process that looks after it, however that one went.

What runs then is finished, except for a start: a migration that runs is undone. A later
signal ends the process at once, with 1, and so does its patience: that costs whoever still
waits an answer, and nothing that was acknowledged.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from functools import partial

import uvloop

from ..tls import ServerIdentity
from .pending_tasks import pending_tasks
from .ready import Ready, announce, report
from .role import Role
from .signals import handle_signals, ignore_signals, reload_certificates

log = logging.getLogger(__name__)

# How long what runs may take to end, in seconds. Its parts together have less; a database
# that neither commits nor fails may have none.
STOP_SECONDS = 29.0
# After so many seconds of that the log tells what is waited for.
LONG_SECONDS = 5.0


class Lifecycle:
    """The life of a process, as a service has to know it."""

    def __init__(self, tell: Callable[[Ready], None]) -> None:
        self._tell = tell
        self._stopping = asyncio.Event()
        self._starting: asyncio.Task[object] | None = None

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Cancels a block in whose midst the process is asked to stop, or that comes later."""
        if self._stopping.is_set():
            raise asyncio.CancelledError
        self._starting = asyncio.current_task()
        try:
            yield
        finally:
            self._starting = None

    async def serving(self, ready: Ready) -> None:
        """Says that the service is ready, and returns when it is to end."""
        _spare_the_collector()
        self._tell(ready)
        await self._stopping.wait()

    @property
    def ends(self) -> bool:
        """Whether the process was asked to stop."""
        return self._stopping.is_set()

    def end(self) -> None:
        """Has it stop."""
        if self.ends:
            return
        self._stopping.set()
        if self._starting is not None:
            self._starting.cancel()
        loop = asyncio.get_running_loop()
        loop.call_later(LONG_SECONDS, _log_pending_tasks)
        loop.call_later(STOP_SECONDS, _end_now, "what runs does not end")


Service = Callable[[Lifecycle], Coroutine[None, None, None]]


def run(
    service: Service,
    role: Role,
    tell: Callable[[Ready], None] = announce,
    *,
    identities: Iterable[ServerIdentity | None] = (),
) -> None:
    """Runs a service to its end; once it is ready, tells so whoever has started it.

    SIGHUP reloads `identities`, those of its ports.
    """
    life = Lifecycle(report if role.shares_ports else tell)
    uvloop.run(_run(service, role, life, tuple(identities)))
    ignore_signals()


async def _run(
    service: Service, role: Role, life: Lifecycle, identities: Iterable[ServerIdentity | None]
) -> None:
    handle_signals(
        stop=life.end,
        end_now=partial(_end_now, "it was asked twice"),
        reload=partial(reload_certificates, identities),
    )
    if role.shares_ports:
        _at_end_of_input(life.end)
    try:
        await service(life)
    except asyncio.CancelledError:
        if not life.ends:
            raise


def _log_pending_tasks() -> None:
    log.warning("has not ended yet: %s", pending_tasks())


def _end_now(why: str) -> None:
    log.critical("ends at once, since %s; what was acknowledged is stored", why)
    _log_pending_tasks()
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
