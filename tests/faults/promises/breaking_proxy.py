"""A proxy whose connections break, each at a given byte.

Each connection has one planned break: after a number of bytes in one direction it stalls,
closes or is reset. The breaks cover every byte of the first 50 KiB, or a sample of them, in
random order. A connection that stalled is closed soon afterwards, so that each breaks once. If
a connection ends before its break, another one gets that break. An idle connection, such as one
that only listens, is closed in time.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from contextlib import AbstractContextManager, suppress
from enum import Enum
from typing import NamedTuple

from ...components import wait_until
from ...stubs.lossy_proxy import Handler, Proxy, shut_down

POSITIONS = 50 * 1024
# How long a connection stalls, in seconds, and how many bytes it carries after that.
DELAY, BYTES_AFTER_STALL = 0.2, 1024
# Seconds without a break after which all connections are closed, so that others get the breaks.
IDLE = 5.0
# Makes close() reset a connection.
_NO_LINGER = struct.pack("ii", 1, 0)


class BreakKind(Enum):
    """How a connection breaks."""

    DELAYED = "delayed"
    CUT = "cut"
    RESET = "reset"


class Break(NamedTuple):
    """How a connection breaks, after how many bytes, and in which direction they flow."""

    kind: BreakKind
    at: int
    up: bool


def breaks(count: int) -> list[Break]:
    """Returns breaks at evenly spread positions, in random order. POSITIONS breaks cover all."""
    rng = random.Random(count)
    positions = [number * POSITIONS // count for number in range(count)]
    planned_breaks = [
        Break(rng.choice(list(BreakKind)), at, rng.random() < 0.5) for at in positions
    ]
    rng.shuffle(planned_breaks)
    return planned_breaks


class BreakingProxy(Proxy):
    """A proxy that breaks each new connection as planned, until all breaks are used."""

    def __init__(self, service: str, *, idle: float = IDLE) -> None:
        super().__init__(service, handler=_Connection)
        self._idle = idle
        self.broken: list[Break] = []

    def break_all(self, planned: list[Break], calling: AbstractContextManager[object]) -> None:
        """Runs clients until all planned breaks have been applied.

        Raises AssertionError if no connection breaks for a long time.
        """
        self.losses, self.broken = list(planned), []
        self._close_all()
        with calling:
            while (count := len(self.broken)) < len(planned):
                self._idle_since = time.monotonic()
                wait_until(
                    lambda: self._has_broken_more_than(count), f"{count} of {len(planned)} broke"
                )

    def _has_broken_more_than(self, count: int) -> bool:
        """Whether more connections have broken. Closes all connections after each idle period."""
        if time.monotonic() - self._idle_since > self._idle:
            self._idle_since = time.monotonic()
            self._close_all()
        return len(self.broken) > count

    def _close_all(self) -> None:
        for connection in list(self.open):
            shut_down(connection)


class _Connection(Handler):
    """A connection and its planned break, which is None once all breaks are used."""

    server: BreakingProxy

    def handle(self) -> None:
        self._is_reset = False
        planned = self.server.losses.pop(0) if self.server.losses else None
        # Closed here and not by the server, which would shut it down gracefully.
        with self.request, self.server.connect() as service:
            ways = ((self.request, service, planned), (service, self.request, None))
            if planned is not None and not planned.up:
                ways = ((self.request, service, None), (service, self.request, planned))
            upload = threading.Thread(target=self._forward, args=ways[0])
            upload.start()
            self._forward(*ways[1])
            upload.join()

    def _forward(self, source: socket.socket, target: socket.socket, planned: Break | None) -> None:
        remaining = planned.at if planned else 0
        with suppress(OSError):
            while data := source.recv(65_536):
                while planned is not None and len(data) > remaining:
                    target.sendall(data[:remaining])
                    data, due, planned = data[remaining:], planned, None
                    planned, remaining = self._break(due, source, target), BYTES_AFTER_STALL
                remaining -= len(data)
                target.sendall(data)
        if planned is not None:
            # The connection ended before its break. Another one gets the break.
            self.server.losses.append(planned)
        if not self._is_reset:
            shut_down(source)
            shut_down(target)

    def _break(self, planned: Break, *sides: socket.socket) -> Break:
        """Breaks a connection. Returns its next break, or raises ConnectionError if it ended."""
        if planned.kind is BreakKind.DELAYED:
            time.sleep(DELAY)
            return planned._replace(kind=BreakKind.CUT)
        self.server.broken.append(planned)
        self._is_reset = planned.kind is BreakKind.RESET
        for side in sides:
            if not self._is_reset:
                shut_down(side)
                continue
            if side.family is not socket.AF_UNIX:
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            # Wakes the thread that reads from it. The reset is sent when both have closed it.
            side.shutdown(socket.SHUT_RD)
        raise ConnectionError
