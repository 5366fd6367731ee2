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

# The share of a key, and the seconds that it can use at once.
SHARE, AT_ONCE = 0.1, 0.2
# The share of a new sign-up in the average, which begins with a slow one.
WEIGHT, FIRST_AVERAGE = 0.05, 0.005


class WriterBudget:
    """The time that sign-ups of each key have used, which decreases by SHARE per second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._average = FIRST_AVERAGE
        # The time at which a key has used nothing, by key. Greater than now if it has.
        self._unused_at: dict[str, float] = {}

    @contextmanager
    def spend(self, key: str) -> Iterator[None]:
        """Takes the time of a sign-up, and measures the work in the block.

        Raises TooManySignups if the key has used its share.
        """
        now = self._clock()
        unused_at = max(self._unused_at.pop(key, 0.0), now)
        wait = unused_at - now - AT_ONCE / SHARE
        if wait > 0:
            self._unused_at[key] = unused_at
            raise TooManySignups(math.ceil(wait))
        self._unused_at[key] = unused_at + self._average / SHARE
        self._forget_unused(now)
        with measured() as work:
            yield
        self._average += WEIGHT * (work.seconds - self._average)

    def _forget_unused(self, now: float) -> None:
        """Removes keys that have used nothing. The one used longest ago comes first."""
        first = next(iter(self._unused_at))
        if self._unused_at[first] < now:
            del self._unused_at[first]
