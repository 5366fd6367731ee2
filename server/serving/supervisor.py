"""Several processes that share the ports, and the one that looks after them.

Each is the same command in a fresh interpreter, since gRPC survives no fork. The first
starts alone, so that what is wrong with a setting or the database is said once, and the
rest when it serves; so the first migrates, and listens meanwhile (see `role.py`). One that
dies is replaced: at once if it had served for a while, else after a pause that grows.
A signal that stops is passed on as SIGTERM, and all finish what runs; a later one kills them.
SIGHUP is passed on where it reloads certificates (see `signals.py`).
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import replace
from functools import partial
from typing import Any

from ..addresses import Address
from ..config import OFF, SETTINGS
from .observability_options import ObservabilityOptions
from .ready import Ready, announce, read_report
from .reserved_ports import reserved
from .role import Role
from .signals import handle_signals, ignore_signals, reload_certificates

log = logging.getLogger(__name__)

# A process that had lived for so many seconds is replaced at once.
STEADY_SECONDS = 10.0
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 10.0
# How long processes may take to end; what runs in them has less.
STOP_SECONDS = 30.0
# Of one of several processes, the one that looks after them alone asks for its figures.
_OWN_METRICS = {
    "metrics_address": "127.0.0.1:0",
    "metrics_tls_certificate": "",
    "metrics_tls_key": "",
}


def supervise(
    command: str,
    count: int,
    told: Mapping[str, Any],
    addresses: Mapping[str, Address],
    watch: ObservabilityOptions,
) -> int:
    """Runs a command in so many processes until it is asked to stop, and returns the exit code.

    `told` are its settings by name, and `addresses` those of them that are shared; `watch` says
    where the figures of all are told. Raises PortInUse.
    """
    settings = {name: str(value) for name, value in told.items() if name in SETTINGS}
    settings |= _OWN_METRICS if watch.address else {"metrics_address": OFF}
    with ExitStack() as stack:
        for name, address in addresses.items():
            settings[name] = str(stack.enter_context(reserved(name, address)))
        # In the environment, since others on this machine may see arguments.
        named = {SETTINGS[name].environment: value for name, value in settings.items()}
        # What this process has imported is what they import, wherever it came from.
        path = os.pathsep.join(place for place in sys.path if place)
        environment = {**os.environ, **named, "PYTHONPATH": path}
        code = asyncio.run(_Supervisor(command, environment, watch).serve(count))
    ignore_signals()
    return code


class _Supervisor:
    """The processes."""

    def __init__(
        self, command: str, environment: Mapping[str, str], watch: ObservabilityOptions
    ) -> None:
        self._watch = watch
        # Where each tells its figures, by its number.
        self._figures: dict[int, str] = {}
        self._words = (sys.executable, "-P", "-m", "server", command, "--worker")
        self._environment = environment
        self._running: set[Process] = set()
        # Those of them that have said that they serve.
        self._serving: set[Process] = set()
        self._stopping = asyncio.Event()
        # How often certificates were reloaded.
        self._reloads = 0

    async def serve(self, count: int) -> int:
        handle_signals(
            stop=self._stop,
            end_now=partial(self._send, signal.SIGKILL),
            reload=self._reload,
        )
        async with AsyncExitStack() as stack:
            metrics = await self._serve_metrics(stack)
            first, ready = await self._start(0)
            if ready is None or self._stopping.is_set():
                return await self._failed(first)
            others = await asyncio.gather(*(self._start(number) for number in range(1, count)))
            for process, also_ready in others:
                if also_ready is None:
                    return await self._failed(process)
            announce(replace(ready, metrics=metrics), count)
            processes = [first, *(process for process, _ in others)]
            codes = await asyncio.gather(*map(self._keep, range(count), processes))
            return int(any(codes))

    async def _serve_metrics(self, stack: AsyncExitStack) -> str:
        """Serves the figures of all until the stack is closed; returns where, "" for nowhere."""
        if self._watch.address is None:
            return ""
        # Imported here, since no other command needs a web server.
        from ..observability.worker_metrics import gather
        from .observability import serve_metrics

        return await serve_metrics(self._watch, lambda: gather(self._figures), stack)

    async def _start(self, number: int) -> tuple[Process, Ready | None]:
        """Starts a process; returns it and what it reports once it serves, or None if it ended.

        It tells its figures under the number.
        """
        # A session of its own: Ctrl-C in a terminal then reaches this process alone.
        process = await asyncio.create_subprocess_exec(
            *self._words,
            Role.FURTHER if self._serving else Role.FIRST,
            env=self._environment,
            stdin=PIPE,
            stdout=PIPE,
            start_new_session=True,
        )
        self._running.add(process)
        if self._stopping.is_set():
            _signal(process, signal.SIGTERM)
        reloads = self._reloads
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line:
            return process, None
        self._serving.add(process)
        if reloads != self._reloads:
            # It may have read the certificates before they were renewed.
            _signal(process, signal.SIGHUP)
        ready = read_report(line)
        if ready.metrics:
            self._figures[number] = ready.metrics
        return process, ready

    async def _failed(self, process: Process) -> int:
        """Ends all since one did not start, and has said why, or was not to. Returns its code."""
        code = await self._ended(process)
        if self._stopping.is_set():
            code = 0
        self._stop()
        for other in list(self._running):
            await self._ended(other)
        return code if code >= 0 else 1

    async def _keep(self, number: int, process: Process) -> int:
        """Replaces a process whenever it ends; returns the exit code of the last one."""
        loop, pause = asyncio.get_running_loop(), 0.0
        began = loop.time()
        while True:
            code = await self._ended(process)
            if self._stopping.is_set():
                return code
            log.error("process %d ended with %d and is replaced", process.pid, code)
            if loop.time() - began > STEADY_SECONDS:
                pause = 0.0
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), pause)
                return 0
            pause = min(max(FIRST_PAUSE_SECONDS, 2 * pause), LONGEST_PAUSE_SECONDS)
            began = loop.time()
            process, _ = await self._start(number)

    async def _ended(self, process: Process) -> int:
        code = await process.wait()
        self._running.discard(process)
        self._serving.discard(process)
        return code

    def _stop(self) -> None:
        """Has all end once they are done."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._send(signal.SIGTERM)
        asyncio.get_running_loop().call_later(STOP_SECONDS, self._send, signal.SIGKILL)

    def _reload(self) -> None:
        """Has all reload their certificates. A process that starts would not survive the signal."""
        self._reloads += 1
        reload_certificates([self._watch.identity])
        for process in self._serving:
            _signal(process, signal.SIGHUP)

    def _send(self, number: signal.Signals) -> None:
        for process in self._running:
            _signal(process, number)


def _signal(process: Process, number: signal.Signals) -> None:
    """Sends a signal to a process, which may have ended already."""
    with suppress(ProcessLookupError):
        process.send_signal(number)
