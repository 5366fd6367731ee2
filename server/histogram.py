"""Plain numbers that are counted while a process works, and read when somebody asks for them.

A call is counted within a fraction of a microsecond. The counters of a metrics library
take a lock and look up their labels each time, which for a call that takes thirty
microseconds would be felt. Nothing here knows who asks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

# Up to how many seconds calls take, for whoever wants to know how many took longer.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Histogram:
    """How many values there were up to each of some bounds, and beyond the last; and their sum.

    It is for one thread at a time.
    """

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Counts a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value
