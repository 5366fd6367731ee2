"""Runs Roster and its components (server, gateway, worker), each in its own process."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any

from .processes import Process, environment, limited, run_command

TIMEOUT = 60.0


@dataclass
class Component:
    """A running process. Its addresses are empty if it has none."""

    command: str
    process: Process
    log: Path
    printed: list[str] = field(default_factory=list)

    @property
    def http(self) -> str:
        return self._after(r"HTTP\s+https?://(\S+)")

    @property
    def grpc(self) -> str:
        return self._after(r"gRPC\s+(\S+)")

    def _after(self, pattern: str) -> str:
        match = re.search(pattern, "".join(self.printed))
        return match[1] if match else ""

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends the process by a signal and returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def launch(
    command: str, log: Path, *, under: Sequence[str] = (), code: str = "", **settings: str
) -> Component:
    """Starts a component, by default on free ports, without waiting until it is ready.

    `under` and `code` are those of run_command.
    """
    free = {"ROSTER_HTTP_ADDRESS": "127.0.0.1:0", "ROSTER_GRPC_ADDRESS": "127.0.0.1:0"}
    env = environment(**{"ROSTER_LOG_LEVEL": "error", **free, **settings})
    return Component(command, run_command(command, log=log, env=env, under=under, code=code), log)


def wait_until_ready(component: Component) -> Component:
    """Waits until a component serves. Raises AssertionError with its log if it ends instead."""
    assert component.process.stdout is not None
    with limited(component.process):
        for line in component.process.stdout:
            component.printed.append(line)
            # The addresses are printed between the first empty line and the second.
            if component.printed.count("\n") == 2:
                return component
    code = component.process.wait(timeout=60)
    raise AssertionError(
        f"roster {component.command} ended with {code}:\n{component.log.read_text()}"
    )


@contextmanager
def running(command: str, folder: Path, **settings: Any) -> Iterator[Component]:
    """Runs a component for the length of a block. It must exit with 0."""
    component = launch(command, folder / f"{command}.log", **settings)
    try:
        yield wait_until_ready(component)
    except BaseException:
        component.stop(signal.SIGKILL)
        raise
    assert component.stop() == 0, component.log.read_text()


def _own_ports() -> Iterator[int]:
    """Returns ports of this test process, below those that the system chooses itself."""
    size, worker = 2_000, int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
    first = 12_000 + worker % 8 * size
    return cycle((*range(first + os.getpid() % size, first + size), *range(first, first + size)))


_PORTS = _own_ports()


def free_port() -> int:
    """Returns a port without a listener, which the system gives to no process that asks for any.

    Workers that are 8 apart, and test runs at the same time, share ranges, but begin elsewhere.
    """
    while True:
        port = next(_PORTS)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


def child_processes(process: int) -> list[int]:
    """Returns the ids of the child processes of a process, oldest first."""
    found = subprocess.run(
        ["pgrep", "-P", str(process)], stdout=subprocess.PIPE, text=True, timeout=TIMEOUT
    )
    return [int(line) for line in found.stdout.split()]


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def accepts_connections(address: str) -> bool:
    """Whether an address accepts connections."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=TIMEOUT).close()
    except OSError:
        return False
    return True


def status_of(address: str, path: str) -> int:
    """Returns the status of a GET without a key over a new connection."""
    with closing(http.client.HTTPConnection(address, timeout=20)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status
