"""How many calls an account may make: a bucket of tokens each, in this process's memory.

A bucket holds as many tokens as there are calls in the limit and fills at the
limit's rate, steadily. A call takes one token, reads included, and whatever comes
of it; a call that finds none is refused. Every answer says how many calls are left
and for how long there will be no more, by draft-ietf-httpapi-ratelimit-headers:

    ratelimit-policy: "default";q=100;w=1     100 calls a second, and 100 at once
    ratelimit: "default";r=40;t=1             40 are left; t seconds on there is another

`t` is rounded up to whole seconds. So whoever makes no more than `r` calls, or
waits `t` seconds where `r` is 0, is not refused, and whoever was refused and waits
as long as `retry-after` says is not refused again, unless another caller of the
account was faster.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, NamedTuple

from google.protobuf.message import Message

from .. import caller
from ..config import Rate
from ..errors import RateLimited
from ..messages import Context
from .base import Interceptor, Method, Proceed, ProceedStream, add_trailing_metadata

NANOSECONDS = 1_000_000_000

# Returns nanoseconds that never step back, whatever the time of day does.
MonotonicClock = Callable[[], int]


class Turn(NamedTuple):
    """What came of asking for a token."""

    allowed: bool
    # Whole calls that are left.
    remaining: int
    # In how many seconds, rounded up, there is one call more than that.
    seconds: int


class Buckets:
    """The tokens of all accounts, in whole numbers: nothing is lost to rounding.

    A bucket is one number, the moment at which it will be full again. Moments are
    counted in nanoseconds times the calls of the limit, so that a token, which
    takes seconds/calls to come, takes a whole number of them.

    What was full is forgotten. A bucket is full at the latest one window after the
    last call; those that were used in this window or the one before are kept.
    """

    def __init__(self, rate: Rate, clock: MonotonicClock) -> None:
        self._calls = rate.calls
        self._clock = clock
        self._second = NANOSECONDS * rate.calls
        self._token = NANOSECONDS * rate.seconds
        self._whole = self._token * rate.calls
        self._full_at: dict[str, int] = {}
        self._full_at_before: dict[str, int] = {}
        self._window_ends = 0

    def __len__(self) -> int:
        return len(self._full_at | self._full_at_before)

    @property
    def used(self) -> int:
        """How many buckets were used in this window."""
        return len(self._full_at)

    def take(self, account_id: str) -> Turn:
        """Takes a token of an account's, if there is one."""
        now = self._now()
        taken = self._taken(account_id, now) + self._token
        if taken > self._whole:
            return Turn(allowed=False, remaining=0, seconds=self._seconds(taken - self._whole))
        self._full_at[account_id] = now + taken
        remaining = (self._whole - taken) // self._token
        another = taken + (remaining + 1) * self._token - self._whole
        return Turn(allowed=True, remaining=remaining, seconds=self._seconds(another))

    def wait(self, account_id: str) -> int:
        """Returns in how many seconds, rounded up, there is a token, and 0 if there is one."""
        short = self._taken(account_id, self._now()) + self._token - self._whole
        return self._seconds(max(short, 0))

    def _now(self) -> int:
        now = self._clock() * self._calls
        if now >= self._window_ends:
            self._full_at_before, self._full_at = self._full_at, {}
            self._window_ends = now + self._whole
        return now

    def _taken(self, account_id: str, now: int) -> int:
        full_at = self._full_at.get(account_id) or self._full_at_before.get(account_id, 0)
        return max(full_at - now, 0)

    def _seconds(self, moments: int) -> int:
        return -(-moments // self._second)


class RateLimit(Interceptor):
    """Stands behind Authenticate. Raises RateLimited for a call beyond the account's limit."""

    def __init__(self, rate: Rate, clock: MonotonicClock = time.monotonic_ns) -> None:
        super().__init__()
        self._buckets = Buckets(rate, clock)
        self._policy = ("ratelimit-policy", f'"default";q={rate.calls};w={rate.seconds}')

    async def around(
        self, method: Method, proceed: Proceed, request: Any, context: Context
    ) -> Message:
        self._take(context)
        return await proceed(request, context)

    async def around_stream(
        self, method: Method, proceed: ProceedStream, request: Any, context: Context
    ) -> AsyncGenerator[Message, None]:
        self._take(context)
        async with aclosing(proceed(request, context)) as replies:
            async for reply in replies:
                yield reply

    def _take(self, context: Context) -> None:
        """Takes a token, and notes in the metadata of the call how many are left.

        A stream that is accepted sends that at its start: it may be long, and the client's next
        calls do not wait for its end.
        """
        turn = self._buckets.take(caller.account_id())
        limit = ("ratelimit", f'"default";r={turn.remaining};t={turn.seconds}')
        add_trailing_metadata(context, self._policy, limit)
        if not turn.allowed:
            raise RateLimited(turn.seconds)
