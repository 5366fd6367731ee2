"""Ends calls at their deadlines, with one timer for all calls.

While there are calls with a deadline, a sweep every 20 ms ends the overdue ones, so that short
calls do not create and cancel timers.
"""

from __future__ import annotations

import asyncio
import time

from .. import deadline
from ..errors import DeadlineExceeded
from .base import Call, Interceptor

# The default and the maximum deadline of a unary call.
DEADLINE_SECONDS = 30.0
SWEEP_SECONDS = 0.02


class Deadlines(Interceptor):
    """Raises DeadlineExceeded. A stream has a deadline only if its client sets one."""

    def __init__(self) -> None:
        self._ends: dict[Call, float] = {}
        self._is_sweeping = False

    def intercept(self, call: Call) -> None:
        # None without a deadline, unlike the type stub.
        seconds: float | None = call.context.time_remaining()
        if call.method.server_streaming:
            deadline.set_deadline(None)
            if seconds is None:
                return
        elif seconds is None or seconds > DEADLINE_SECONDS:
            seconds = DEADLINE_SECONDS
        if seconds <= 0:
            raise DeadlineExceeded
        self._ends[call] = end = time.monotonic() + seconds
        call.done_callbacks.append(self._remove)
        if not self._is_sweeping:
            self._is_sweeping = True
            self._sweep_later()
        if not call.method.server_streaming:
            deadline.set_deadline(end)

    def _remove(self, call: Call) -> None:
        self._ends.pop(call, None)

    def _sweep_later(self) -> None:
        asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        now = time.monotonic()
        for call in [call for call, end in self._ends.items() if end <= now]:
            del self._ends[call]
            call.cancel(DeadlineExceeded())
        self._is_sweeping = bool(self._ends)
        if self._is_sweeping:
            self._sweep_later()
