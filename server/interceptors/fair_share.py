"""Limits the CPU time of an account while others call, so that one cannot slow down all.

A process has one interpreter for all accounts. While several accounts call, the calls of one start
only as fast as they take SHARE of a CPU, and wait otherwise. An account that calls alone has no
limit.

Running calls take equal parts of the event loop's CPU time, and each the time of its database
work. The cost of a call is not known at its start; it takes the average of its account.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ..errors import Overloaded
from ..storage.executor.work_time import WorkTime, current
from .base import Call, Interceptor, Method

# The share of a CPU, and the seconds of it that an account can use at once.
SHARE, AT_ONCE = 0.5, 0.01
# Another account counts for so many seconds after the start of its last call.
RECENT_SECONDS = 1.0
# Calls that would wait longer, in seconds, are rejected.
MAX_WAIT_SECONDS = 1.0
# The part of a new call in the average, and the first average in seconds.
WEIGHT, FIRST_AVERAGE = 0.1, 0.001

Clock = Callable[[], float]


@dataclass(slots=True)
class _Use:
    """The average cost of an account's calls, and the time at which it has used nothing."""

    average: float = FIRST_AVERAGE
    unused_at: float = 0.0


class FairShare(Interceptor):
    """Delays a call, or raises Overloaded. Runs after Authenticate."""

    def __init__(self, clock: Clock = time.monotonic, cpu_clock: Clock = time.thread_time) -> None:
        self._clock, self._cpu_clock = clock, cpu_clock
        # By account, the one that called longest ago first.
        self._uses: dict[str, _Use] = {}
        # The account of the last call with its time, and the last one of another account.
        self._latest, self._previous = ("", -RECENT_SECONDS), ("", -RECENT_SECONDS)
        self._running = 0
        # The part of a call that runs since the start of the process, and the time of the loop.
        self._part, self._cpu = 0.0, 0.0

    def applies_to(self, method: Method) -> bool:
        return not method.is_public and not method.server_streaming

    def intercept(self, call: Call) -> Awaitable[None] | None:
        now, account = self._clock(), call.account_id
        if not self._others_call(account, now):
            return None
        use = self._uses.pop(account, None) or _Use()
        unused_at = max(use.unused_at, now)
        wait = unused_at - now - AT_ONCE / SHARE
        self._uses[account] = use
        if wait > MAX_WAIT_SECONDS:
            raise Overloaded(wait)
        use.unused_at = unused_at + use.average / SHARE
        self._forget_unused(now)
        if wait > 0:
            return self._start_later(call, use, wait)
        self._start(call, use)
        return None

    def _others_call(self, account: str, now: float) -> bool:
        if account != self._latest[0]:
            self._previous = self._latest
        self._latest = (account, now)
        return now - self._previous[1] < RECENT_SECONDS

    async def _start_later(self, call: Call, use: _Use, wait: float) -> None:
        await asyncio.sleep(wait)
        self._start(call, use)

    def _start(self, call: Call, use: _Use) -> None:
        self._advance(1)
        started, work_time = self._part, WorkTime()
        current.set(work_time)

        def end(_: Call) -> None:
            self._advance(-1)
            cost = self._part - started + work_time.cpu_seconds
            use.average += WEIGHT * (cost - use.average)

        call.add_done_callback(end)

    def _advance(self, running: int) -> None:
        """Adds the CPU time since the last change of the number of running calls."""
        cpu = self._cpu_clock()
        if self._running:
            self._part += (cpu - self._cpu) / self._running
        self._cpu = cpu
        self._running += running

    def _forget_unused(self, now: float) -> None:
        first = next(iter(self._uses))
        if self._uses[first].unused_at < now - RECENT_SECONDS:
            del self._uses[first]
