"""Connections that break, each at one byte of what they carry.

A line is a connection through a proxy, with a break of its own: once so many bytes went up
it, or down, it stands still for a while, or ends, or is reset. The breaks lie at every one of
the first 50 KiB, or at as many of them as are asked for, in an order that mixes them. A line
that has stood still is ended soon after, since each is to break once. One that carries too
little to break, as that on which a service only listens, leaves its break to another in time.
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

from ...parts import wait_until
from ...stubs.lossy import Handler, Proxy, end

PLACES = 50 * 1024
# How long a line stands still, in seconds, and how many bytes it carries after that.
DELAY, MORE = 0.2, 1024
# How long none may break before all are ended, so that others take the breaks, in seconds.
IDLE = 5.0
# Ends a connection at once, with a reset, when it is closed.
_NO_LINGER = struct.pack("ii", 1, 0)


class Way(Enum):
    """What becomes of a line."""

    DELAYED = "delayed"
    CUT = "cut"
    RESET = "reset"


class Break(NamedTuple):
    """What becomes of a line, after how many bytes, and in which direction these go."""

    way: Way
    at: int
    up: bool


def breaks(count: int) -> list[Break]:
    """Returns so many breaks, at places that are spread over all; each place once for PLACES."""
    chance = random.Random(count)
    places = [number * PLACES // count for number in range(count)]
    found = [Break(chance.choice(list(Way)), at, chance.random() < 0.5) for at in places]
    chance.shuffle(found)
    return found


class Lines(Proxy):
    """A proxy of which each new line breaks as told, until all breaks are used up."""

    def __init__(self, service: str, *, idle: float = IDLE) -> None:
        super().__init__(service, handler=_Line)
        self._idle = idle
        self.broken: list[Break] = []

    def break_all(self, planned: list[Break], calling: AbstractContextManager[object]) -> None:
        """Returns once lines have broken in all these ways, while clients call.

        Raises AssertionError if none has for a while.
        """
        self.losses, self.broken = list(planned), []
        self._end_all()
        with calling:
            while (count := len(self.broken)) < len(planned):
                self._idle_since = time.monotonic()
                wait_until(lambda: self._more_than(count), f"{count} of {len(planned)} broke")

    def _more_than(self, count: int) -> bool:
        """Whether more have broken. Ends all lines each time that none has for a while."""
        if time.monotonic() - self._idle_since > self._idle:
            self._idle_since = time.monotonic()
            self._end_all()
        return len(self.broken) > count

    def _end_all(self) -> None:
        for line in list(self.open):
            end(line)


class _Line(Handler):
    """A connection, and what is to become of it: nothing once the server's list is empty."""

    server: Lines

    def handle(self) -> None:
        self._is_reset = False
        planned = self.server.losses.pop(0) if self.server.losses else None
        # Here, and not by the server, which would end it in good order.
        with self.request, self.server.connected() as service:
            ways = ((self.request, service, planned), (service, self.request, None))
            if planned is not None and not planned.up:
                ways = ((self.request, service, None), (service, self.request, planned))
            asking = threading.Thread(target=self._carry, args=ways[0])
            asking.start()
            self._carry(*ways[1])
            asking.join()

    def _carry(self, source: socket.socket, target: socket.socket, planned: Break | None) -> None:
        left = planned.at if planned else 0
        with suppress(OSError):
            while data := source.recv(65_536):
                while planned is not None and len(data) > left:
                    target.sendall(data[:left])
                    data, due, planned = data[left:], planned, None
                    planned, left = self._break(due, source, target), MORE
                left -= len(data)
                target.sendall(data)
        if planned is not None:
            # The line ended before. Another one is to break so.
            self.server.losses.append(planned)
        if not self._is_reset:
            end(source)
            end(target)

    def _break(self, planned: Break, *sides: socket.socket) -> Break:
        """Returns what is to become of the line next. Raises ConnectionError if that is all."""
        if planned.way is Way.DELAYED:
            time.sleep(DELAY)
            return planned._replace(way=Way.CUT)
        self.server.broken.append(planned)
        self._is_reset = planned.way is Way.RESET
        for side in sides:
            if not self._is_reset:
                end(side)
                continue
            if side.family is not socket.AF_UNIX:
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            # Wakes whoever reads from it; the reset is sent when both have let go.
            side.shutdown(socket.SHUT_RD)
        raise ConnectionError
