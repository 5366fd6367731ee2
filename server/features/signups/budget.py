"""Limits the share of the database's writer that sign-ups with a public key take.

Anyone can send sign-ups with such a key, and SQLite has one writer for all accounts. Each sign-up
takes the average time of recent ones, so that the limit does not reveal whether an address exists.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...rpc.errors import TooManySignups
from ...storage.executor.work_time import measured

# Fraction of the writer's time that the sign-ups of a key can use, and the seconds of a burst.
SHARE, BURST_SECONDS = 0.1, 0.2
# Weight of a new sign-up in the moving average, and its first value: the seconds of a slow sign-up.
WEIGHT, FIRST_AVERAGE = 0.05, 0.005


class WriterBudget:
    """The budget of each key in seconds of the writer, refilled by SHARE per second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._average = FIRST_AVERAGE
        # When the budget is full again, by key.
        self._full_at: dict[str, float] = {}

    @contextmanager
    def spend(self, key: str) -> Iterator[None]:
        """Takes the time of a sign-up, and measures the work in the block.

        Raises TooManySignups if the budget of the key is used up.
        """
        now = self._clock()
        full_at = max(self._full_at.pop(key, 0.0), now)
        wait = full_at - now - BURST_SECONDS / SHARE
        if wait > 0:
            self._full_at[key] = full_at
            raise TooManySignups(math.ceil(wait))
        self._full_at[key] = full_at + self._average / SHARE
        self._forget_full(now)
        with measured() as work:
            yield
        self._average += WEIGHT * (work.seconds - self._average)

    def _forget_full(self, now: float) -> None:
        """Removes the key used longest ago if its budget is full."""
        first = next(iter(self._full_at))
        if self._full_at[first] < now:
            del self._full_at[first]
