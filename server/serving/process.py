"""Runs a service in this process until a signal stops it (see `signals.py`).

The process listens, migrates the database, reports its addresses when it serves, and exits with 0
when it is stopped. A supervised process also stops at the end of its standard input, so that it
does not outlive its supervisor.

When the process stops, running calls are finished; a running migration is rolled back. A second
signal, or a time limit, ends the process immediately with 1. Waiting clients then get no response,
but acknowledged writes are stored.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from functools import partial

import uvloop

from ..storage.database import StorageError
from .certificates import reload_certificates, watch
from .options import ProcessOptions
from .pending_tasks import pending_tasks
from .ready import Ready, announce, report
from .service_manager import READY, STOPPING, notify
from .signals import handle_signals, ignore_signals

log = logging.getLogger(__name__)

# Time limit for stopping, in seconds. The limits of the parts add up to less, but a database call
# that never returns has none.
STOP_SECONDS = 29.0
# Seconds after which the log lists the pending tasks.
LOG_PENDING_SECONDS = 5.0


class Lifecycle:
    """The states of a process that its service observes: starting, serving, stopping."""

    def __init__(self, report_ready: Callable[[Ready], None]) -> None:
        self._report_ready = report_ready
        # Its addresses once it is ready.
        self.ready = Ready()
        self._stopping = asyncio.Event()
        self._starting: asyncio.Task[object] | None = None
        # Why the process stops, unless a signal stops it.
        self.error: StorageError | None = None

    @contextmanager
    def starting(self) -> Iterator[None]:
        """Cancels the block when the process is stopped. Raises CancelledError if it already is."""
        if self._stopping.is_set():
            raise asyncio.CancelledError
        self._starting = asyncio.current_task()
        try:
            yield
        finally:
            self._starting = None

    async def serving(self, ready: Ready) -> None:
        """Reports that the service is ready, and returns when the process is stopped."""
        _tune_garbage_collection()
        self.ready = ready
        log.info("ready", extra=ready.log_fields())
        self._report_ready(ready)
        notify(READY)
        await self._stopping.wait()

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def fail(self, error: StorageError) -> None:
        """Stops the process because of an error, which `run` then raises."""
        if not self.is_stopping:
            self.error = error
            log.critical("not ready: %s", error)
            self.stop()

    def stop(self) -> None:
        if self.is_stopping:
            return
        self._stopping.set()
        notify(STOPPING)
        log.info("stopping; waiting for running calls (at most %d seconds)", STOP_SECONDS)
        if self._starting is not None:
            self._starting.cancel()
        loop = asyncio.get_running_loop()
        loop.call_later(LOG_PENDING_SECONDS, _log_pending_tasks)
        loop.call_later(STOP_SECONDS, _exit_now, "running calls do not end")


Service = Callable[[Lifecycle], Coroutine[None, None, None]]


def run(
    service: Service,
    options: ProcessOptions,
) -> None:
    """Runs a service until the process is stopped. SIGHUP reloads the TLS certificates.

    Raises the error that stopped it.
    """
    lifecycle = Lifecycle(report if options.role.is_supervised else announce)
    uvloop.run(_run(service, options, lifecycle))
    ignore_signals()
    log.info("stopped", extra=lifecycle.ready.log_fields())
    if lifecycle.error is not None:
        raise lifecycle.error


async def _run(service: Service, options: ProcessOptions, lifecycle: Lifecycle) -> None:
    handle_signals(
        stop=lifecycle.stop,
        exit_now=partial(_exit_now, "it received a second signal"),
        reload=partial(reload_certificates, options.tls_files),
    )
    if options.role.is_supervised:
        _call_at_end_of_input(lifecycle.stop)
    watching = asyncio.create_task(watch(options.tls_files))
    try:
        await service(lifecycle)
    except asyncio.CancelledError:
        if not lifecycle.is_stopping:
            raise
    finally:
        watching.cancel()


def _log_pending_tasks() -> None:
    log.warning("waiting for tasks to end: %s", pending_tasks())


def _exit_now(reason: str) -> None:
    log.critical("exiting immediately because %s; acknowledged writes are stored", reason)
    _log_pending_tasks()
    logging.shutdown()
    os._exit(1)


def _call_at_end_of_input(stop: Callable[[], None]) -> None:
    # The supervisor writes nothing, so the input is readable only at its end.
    loop, descriptor = asyncio.get_running_loop(), sys.stdin.fileno()

    def end() -> None:
        loop.remove_reader(descriptor)
        stop()

    loop.add_reader(descriptor, end)


def _tune_garbage_collection() -> None:
    # Objects from the start live as long as the process, so they are excluded from collections.
    # Higher thresholds make collections rarer.
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
