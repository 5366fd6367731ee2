"""Supervises several processes that share the ports.

Each is the same command in a new interpreter, because gRPC does not survive a fork. The
first one starts alone, migrates the database and listens meanwhile (see `role.py`), so that an
error in a setting or the database is reported once. The others start when it serves. A child that
dies is replaced: immediately if it had served for a while, otherwise after an increasing delay. If
one ends because the database requires a later version, all do. If the system cannot create a
process, the supervisor logs that and tries again, also at the start.

A signal that stops the process is forwarded as SIGTERM, and the children finish running calls; a
second signal kills them. SIGHUP is forwarded if it reloads certificates (see `signals.py`).
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

from ..config import OFF, SETTINGS
from .certificates import expiry_samples, reload_certificates, watch
from .console import ExitCode
from .options import ObservabilityOptions, ProcessOptions
from .ready import Ready, announce, read_report
from .reserved_ports import reserved
from .role import Role
from .service_manager import NOTIFY_SOCKET, READY, STOPPING, notify
from .signals import handle_signals, ignore_signals

log = logging.getLogger(__name__)

# A child that has served for this number of seconds is replaced immediately.
STABLE_SECONDS = 10.0
MIN_DELAY_SECONDS = 0.5
MAX_DELAY_SECONDS = 10.0
# Seconds that children have to stop; more than the limit of a process itself.
STOP_SECONDS = 30.0
# Only the supervisor reads the metrics of a child.
_CHILD_METRICS = {
    "metrics_address": "127.0.0.1:0",
    "metrics_tls_certificate": OFF,
    "metrics_tls_key": "",
}


def supervise(options: ProcessOptions) -> int:
    """Runs a command in several processes until it is stopped, and returns the exit code.

    They share the ports. The metrics of all children are served together. Raises PortInUse.
    """
    settings, observability = options.settings, options.observability
    texts = dict(settings.texts)
    texts |= _CHILD_METRICS if observability.address else {"metrics_address": OFF}
    with ExitStack() as stack:
        for name, address in options.addresses.items():
            texts[name] = str(stack.enter_context(reserved(name, address)))
        # In the environment, because all users of a machine can see arguments.
        named = {SETTINGS[name].environment: text for name, text in texts.items()}
        # The children import the same modules as this process.
        path = os.pathsep.join(folder for folder in sys.path if folder)
        environment = {**os.environ, **named, "PYTHONPATH": path}
        # Only this process reports to the service manager.
        environment.pop(NOTIFY_SOCKET, None)
        supervisor = Supervisor(options.command, environment, observability)
        code = asyncio.run(supervisor.serve(settings.processes))
    ignore_signals()
    return code


class Supervisor:
    """Starts, replaces and stops children that run `roster COMMAND` in an environment."""

    def __init__(
        self,
        command: str,
        environment: Mapping[str, str],
        observability: ObservabilityOptions,
        *,
        stable_seconds: float = STABLE_SECONDS,
    ) -> None:
        self._observability = observability
        # The files of the metrics port; each child has those of its ports.
        self._tls_files = [observability.identity] if observability.identity else []
        self._stable_seconds = stable_seconds
        # The URL of the metrics of each child, by its number; empty if it has ended.
        self._metrics_urls: dict[int, str] = {}
        self._arguments = (sys.executable, "-P", "-m", "rosterd.server", command, "--supervised")
        self._environment = environment
        self._running: set[Process] = set()
        # The running processes that have reported that they serve.
        self._serving: set[Process] = set()
        self._stopping = asyncio.Event()
        # The number of reloads of certificates.
        self._reloads = 0

    async def serve(self, count: int) -> int:
        handle_signals(
            stop=self._stop,
            exit_now=partial(self._send, signal.SIGKILL),
            reload=self._reload,
        )
        async with AsyncExitStack() as stack:
            stack.callback(asyncio.create_task(watch(self._tls_files)).cancel)
            metrics = await self._serve_metrics(stack)
            first, ready = await self._start(0)
            if first is None or ready is None or self._stopping.is_set():
                return await self._abort_start(first)
            others = await asyncio.gather(*(self._start(number) for number in range(1, count)))
            processes = [first]
            for process, also_ready in others:
                if process is None or also_ready is None:
                    return await self._abort_start(process)
                processes.append(process)
            ready = replace(ready, metrics=metrics)
            log.info("ready", extra={**ready.log_fields(), "processes": count})
            announce(ready, count)
            notify(READY)
            codes = await asyncio.gather(*map(self._keep_running, range(count), processes))
            log.info("stopped", extra={**ready.log_fields(), "processes": count})
            return ExitCode.OUTDATED if ExitCode.OUTDATED in codes else int(any(codes))

    async def _serve_metrics(self, stack: AsyncExitStack) -> str:
        """Serves the metrics of all children, and returns their URL; empty if disabled."""
        if self._observability.address is None:
            return ""
        from ..observability.exposition import Exposition  # noqa: PLC0415 - not without metrics
        from ..observability.process_metrics import gather  # noqa: PLC0415 - by supervisors only
        from .observability import serve_metrics  # noqa: PLC0415 - likewise

        own = Exposition()
        own.add(lambda: expiry_samples(self._tls_files))
        return await serve_metrics(
            self._observability, lambda: gather(self._metrics_urls, own), stack
        )

    async def _start(self, number: int) -> tuple[Process | None, Ready | None]:
        """Starts a child, and returns its process and its report.

        The report is None if the process ended instead. Both are None if a signal stopped the
        attempts to start it.
        """
        process = await self._spawn()
        if process is None:
            return None, None
        self._running.add(process)
        if self._stopping.is_set():
            _signal(process, signal.SIGTERM)
        reloads = self._reloads
        assert process.stdout is not None
        line = await process.stdout.readline()
        if not line.endswith(b"\n"):
            return process, None
        self._serving.add(process)
        if reloads != self._reloads:
            # The child may have read the previous certificates.
            _signal(process, signal.SIGHUP)
        ready = read_report(line)
        if ready.metrics:
            self._metrics_urls[number] = ready.metrics
        return process, ready

    async def _spawn(self) -> Process | None:
        """Creates a process. Tries again while the system has no memory, processes or files left.

        Returns None if a signal stops the attempts.
        """
        delay = 0.0
        while True:
            try:
                # In a new session, so that Ctrl-C in a terminal reaches the supervisor only.
                return await asyncio.create_subprocess_exec(
                    *self._arguments,
                    Role.FURTHER if self._serving else Role.FIRST,
                    env=self._environment,
                    stdin=PIPE,
                    stdout=PIPE,
                    start_new_session=True,
                )
            # RuntimeError: the thread in which asyncio waits for the process cannot be started.
            except (OSError, RuntimeError) as error:
                delay = _next_delay(delay)
                log.error(
                    "a process cannot be started: %s; next attempt in %g seconds",
                    error,
                    delay,
                )
            if await self._stops_within(delay):
                return None

    async def _stops_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
        return self._stopping.is_set()

    async def _abort_start(self, process: Process | None) -> int:
        """Stops all children after `process` did not start. Returns the exit code."""
        code = await self._ended(process) if process else 0
        if self._stopping.is_set():
            code = 0
        self._stop()
        for other in list(self._running):
            await self._ended(other)
        return code if code >= 0 else 1

    async def _keep_running(self, number: int, process: Process) -> int:
        """Replaces a child whenever it ends; returns the exit code of the last one."""
        loop, delay = asyncio.get_running_loop(), 0.0
        serving_since = loop.time()
        while True:
            code = await self._ended(process)
            if code == ExitCode.OUTDATED:
                self._stop()
                return code
            if self._stopping.is_set():
                # A child that does not handle signals yet is ended by SIGTERM itself.
                return 0 if code == -signal.SIGTERM else code
            # Another process can listen on its port now.
            self._metrics_urls[number] = ""
            if loop.time() - serving_since > self._stable_seconds:
                delay = 0.0
            log.error(
                "process %d exited with %d and is replaced in %g seconds",
                process.pid,
                code,
                delay,
            )
            if await self._stops_within(delay):
                return 0
            delay = _next_delay(delay)
            replacement, _ = await self._start(number)
            if replacement is None:
                return 0
            process = replacement
            serving_since = loop.time()

    async def _ended(self, process: Process) -> int:
        code = await process.wait()
        self._running.discard(process)
        self._serving.discard(process)
        return code

    def _stop(self) -> None:
        if self._stopping.is_set():
            return
        self._stopping.set()
        notify(STOPPING)
        self._send(signal.SIGTERM)
        asyncio.get_running_loop().call_later(STOP_SECONDS, self._send, signal.SIGKILL)

    def _reload(self) -> None:
        """Reloads the certificates of serving children. SIGHUP would end a starting one."""
        self._reloads += 1
        reload_certificates(self._tls_files)
        for process in self._serving:
            _signal(process, signal.SIGHUP)

    def _send(self, number: signal.Signals) -> None:
        for process in self._running:
            _signal(process, number)


def _next_delay(seconds: float) -> float:
    return min(max(MIN_DELAY_SECONDS, 2 * seconds), MAX_DELAY_SECONDS)


def _signal(process: Process, number: signal.Signals) -> None:
    """Sends a signal to a process, which may have ended already."""
    with suppress(ProcessLookupError):
        process.send_signal(number)
