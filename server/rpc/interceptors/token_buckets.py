"""Token buckets: each holds as many tokens as a limit has calls, and refills steadily at its rate.

A call takes a token, and is rejected if there is none. A rejected client that waits for the stated
time is not rejected again, unless another client takes the token.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ...config import Rate
from ...values.counts import RecentlyUsed

NANOSECONDS = 1_000_000_000

# Returns nanoseconds that never go back.
MonotonicClock = Callable[[], int]


class Decision(NamedTuple):
    """Whether a call got a token. `seconds` is the time until the next token, rounded up."""

    remaining: int
    seconds: int
    allowed: bool = True


class TokenBuckets:
    """Token buckets by key, in integer arithmetic, so that nothing is lost to rounding.

    A bucket that is not full is stored as the time at which it will be full again. The unit of
    times is a nanosecond divided by `rate.calls`, so that a token takes a whole number of units.
    Keys beyond `max_keys` share a bucket, which limits memory.
    """

    def __init__(
        self,
        rate: Rate,
        clock: MonotonicClock = time.monotonic_ns,
        max_keys: int | None = None,
    ) -> None:
        self._calls = rate.calls
        self._clock = clock
        self._max_keys = max_keys
        self._second = NANOSECONDS * rate.calls
        self._token = NANOSECONDS * rate.seconds
        self._window = self._token * rate.calls
        self._full_at: RecentlyUsed[str, int] = RecentlyUsed()

    def __len__(self) -> int:
        return len(self._full_at)

    def take(self, key: str) -> Decision:
        """Takes a token, if there is one."""
        key, now = self._bucket(key), self._clock() * self._calls
        missing = max(self._full_at.get(key, 0) - now, 0) + self._token
        if missing > self._window:
            return Decision(0, self._seconds(missing - self._window), allowed=False)
        self._full_at.use(key, now + missing, lambda full_at: full_at <= now)
        remaining = (self._window - missing) // self._token
        until_next = missing + (remaining + 1) * self._token - self._window
        return Decision(remaining, self._seconds(until_next))

    def seconds_until_token(self, key: str) -> int:
        """Returns the seconds until there is a token, rounded up; 0 if there is one."""
        missing = self._full_at.get(self._bucket(key), 0) - self._clock() * self._calls
        return self._seconds(max(max(missing, 0) + self._token - self._window, 0))

    def _bucket(self, key: str) -> str:
        is_new = self._max_keys is not None and key not in self._full_at
        return "" if is_new and len(self._full_at) >= (self._max_keys or 0) else key

    def _seconds(self, ticks: int) -> int:
        return -(-ticks // self._second)
