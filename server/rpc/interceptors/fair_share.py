"""Limits the CPU time of each account while several accounts call.

A process has one interpreter for all accounts. While several of them call, each gets SHARE of a
CPU. Further unary calls wait for up to MAX_WAIT_SECONDS; calls that would wait longer are rejected.
Streams are not limited. A sign-up key, which anyone can use, always has a separate share.

The cost of a call is the CPU time of its steps on the event loop, of its work in database threads,
and of what the event loop did since the end of the last call, such as reading requests. A canceled
read costs the time since it began to run. At its start, a call takes the average cost of recent
ones.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from ...storage.executor.work_time import WorkTime, current
from ...values.counts import RecentlyUsed
from .. import deadline
from ..errors import CpuShareExceeded
from .base import Call, Interceptor, Method, Steps

# The share of an account, in CPUs. With a half, the median latency of other accounts was four times
# that without load on PostgreSQL (P12 of `make faults`).
SHARE = 0.25
# CPU time that an account can use in a burst, in seconds.
BURST_SECONDS = 0.01
# An account is active for this many seconds after the start of its last call.
ACTIVE_SECONDS = 1.0
# The maximum wait of a call in seconds, and the maximum number of waiting calls of an account.
MAX_WAIT_SECONDS, MAX_WAITING = 1.0, 100
# The weight of the newest call in the average, and the first average in seconds.
WEIGHT, FIRST_AVERAGE = 0.1, 0.001
# The maximum cost of the event loop between two calls, in seconds. It is limited because it can be
# caused by streams of other accounts.
MAX_OVERHEAD = 0.002

Clock = Callable[[], float]


@dataclass(slots=True)
class _Use:
    """The CPU use of an account: the average cost of its calls, and when its debt is paid.

    A call adds its cost to the debt, which decreases by SHARE seconds per second.
    """

    average: float = FIRST_AVERAGE
    paid_at: float = 0.0
    waiting: int = 0
    running: int = 0

    def is_over(self, now: float) -> bool:
        """Whether nothing runs or waits and the debt was paid some time ago."""
        return not self.running and not self.waiting and self.paid_at < now - ACTIVE_SECONDS


class FairShare(Interceptor):
    """Delays a call, or raises CpuShareExceeded. Runs after Authenticate."""

    def __init__(self, clock: Clock = time.monotonic, cpu_clock: Clock = time.thread_time) -> None:
        self._clock, self._cpu_clock = clock, cpu_clock
        # The CPU time of the event loop at the end of the last call.
        self._cpu = 0.0
        # By account or key.
        self._uses: RecentlyUsed[str, _Use] = RecentlyUsed()
        # The account of the last call with its time, and the last one of another account.
        self._latest, self._previous = ("", -ACTIVE_SECONDS), ("", -ACTIVE_SECONDS)

    def __len__(self) -> int:
        """The number of accounts and keys with debts or running calls, and recent ones."""
        return len(self._uses)

    def applies_to(self, method: Method) -> bool:
        return not method.is_public and not method.server_streaming

    def intercept(self, call: Call) -> Awaitable[None] | None:
        now, name = self._clock(), call.rate_limit_key or call.account_id
        others_are_active = self._others_are_active(call.account_id, now)
        if not others_are_active and not call.rate_limit_key:
            return None
        use = self._uses.get(name) or _Use()
        use.paid_at = max(use.paid_at, now)
        self._uses.use(name, use, lambda each: each.is_over(now))
        wait, left = use.paid_at - now - BURST_SECONDS / SHARE, deadline.seconds_left()
        useful = MAX_WAIT_SECONDS if left is None else min(left, MAX_WAIT_SECONDS)
        if wait > useful or (wait > 0 and use.waiting >= MAX_WAITING):
            raise CpuShareExceeded(math.ceil(wait))
        charged = use.average
        use.paid_at += charged / SHARE
        if wait > 0:
            return self._start_later(call, use, charged, wait)
        self._start(call, use, charged)
        return None

    def _others_are_active(self, account_id: str, now: float) -> bool:
        if account_id != self._latest[0]:
            self._previous = self._latest
        self._latest = (account_id, now)
        return now - self._previous[1] < ACTIVE_SECONDS

    async def _start_later(self, call: Call, use: _Use, charged: float, wait: float) -> None:
        use.waiting += 1
        try:
            await asyncio.sleep(wait)
        except asyncio.CancelledError:
            use.paid_at -= charged / SHARE
            raise
        finally:
            use.waiting -= 1
        self._start(call, use, charged)

    def _start(self, call: Call, use: _Use, charged: float) -> None:
        use.running += 1
        work_time = WorkTime()
        current.set(work_time)
        call.steps = steps = Steps()

        def end(_: Call) -> None:
            use.running -= 1
            cost = steps.seconds + work_time.cpu_seconds + self._overhead(steps.seconds)
            use.paid_at += (cost - charged) / SHARE
            use.average += WEIGHT * (cost - use.average)

        call.done_callbacks.append(end)

    def _overhead(self, steps: float) -> float:
        """Returns the CPU time of the event loop since the last call ended, without `steps`."""
        cpu = self._cpu_clock()
        passed, self._cpu = cpu - self._cpu, cpu
        return min(max(passed - steps, 0.0), MAX_OVERHEAD)
