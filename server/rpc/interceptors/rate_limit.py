"""Limits the calls of an account, with a token bucket in the memory of the process.

A bucket holds as many tokens as the limit has calls, and refills steadily at the limit's rate.
Every call takes a token, even if it fails later; a call that finds none is rejected. Each
response reports the state of the bucket (draft-ietf-httpapi-ratelimit-headers):

    ratelimit-policy: "default";q=100;w=1     100 calls per second, and at most 100 at once
    ratelimit: "default";r=40;t=1             40 calls left; the next token comes in t seconds

`t` is rounded up to whole seconds. A client that makes at most `r` calls, or waits `t` seconds
if `r` is 0, is not rejected. A rejected client that waits for `retry-after` is not rejected
again, unless another client of the account takes the token.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from ...config import Rate
from ..errors import RateLimited
from .base import Call, Interceptor, Method, add_trailing_metadata

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

    A bucket is stored as the time at which it will be full again. Times are in nanoseconds
    multiplied by the calls of the limit, so that a token takes a whole number of them.

    A bucket is full at the latest one window after its last call. Only those used in the
    current and the previous window are stored.
    """

    def __init__(self, rate: Rate, clock: MonotonicClock) -> None:
        self._calls = rate.calls
        self._clock = clock
        self._second = NANOSECONDS * rate.calls
        self._token = NANOSECONDS * rate.seconds
        self._window = self._token * rate.calls
        self._full_at: dict[str, int] = {}
        self._previous_full_at: dict[str, int] = {}
        self._window_end = 0

    def __len__(self) -> int:
        return len(self._full_at | self._previous_full_at)

    @property
    def in_window(self) -> int:
        """The number of buckets used in the current window."""
        return len(self._full_at)

    def take(self, key: str) -> Decision:
        """Takes a token, if there is one."""
        now = self._now()
        missing = self._missing(key, now) + self._token
        if missing > self._window:
            return Decision(0, self._seconds(missing - self._window), allowed=False)
        self._full_at[key] = now + missing
        remaining = (self._window - missing) // self._token
        until_next = missing + (remaining + 1) * self._token - self._window
        return Decision(remaining, self._seconds(until_next))

    def seconds_until_token(self, key: str) -> int:
        """Returns the seconds until there is a token, rounded up; 0 if there is one."""
        shortfall = self._missing(key, self._now()) + self._token - self._window
        return self._seconds(max(shortfall, 0))

    def _now(self) -> int:
        now = self._clock() * self._calls
        if now >= self._window_end:
            self._previous_full_at, self._full_at = self._full_at, {}
            self._window_end = now + self._window
        return now

    def _missing(self, key: str, now: int) -> int:
        """Returns the time until the bucket is full."""
        full_at = self._full_at.get(key) or self._previous_full_at.get(key, 0)
        return max(full_at - now, 0)

    def _seconds(self, ticks: int) -> int:
        return -(-ticks // self._second)


class RateLimit(Interceptor):
    """Raises RateLimited for a call beyond the account's limit. Runs after Authenticate.

    The state of the bucket goes into the trailing metadata. A stream sends it at its start,
    because the client's next calls do not wait for the end of the stream.
    """

    def __init__(self, rate: Rate, clock: MonotonicClock = time.monotonic_ns) -> None:
        self._buckets = TokenBuckets(rate, clock)
        self._policy = ("ratelimit-policy", f'"default";q={rate.calls};w={rate.seconds}')

    def applies_to(self, method: Method) -> bool:
        return not method.is_public

    def intercept(self, call: Call) -> None:
        decision = self._buckets.take(call.rate_limit_key or call.account_id)
        limit = ("ratelimit", f'"default";r={decision.remaining};t={decision.seconds}')
        add_trailing_metadata(call.context, self._policy, limit)
        if not decision.allowed:
            raise RateLimited(decision.seconds)
