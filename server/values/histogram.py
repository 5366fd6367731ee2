"""A histogram without locks and labels.

The counters of a metrics library take a lock and look up labels on each update, which is
too slow for calls that take microseconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

# The default bucket bounds for durations, in seconds.
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Histogram:
    """Counts values by bucket, with their sum. Not safe for concurrent use.

    `counts` has one bucket for each upper bound, and one for larger values.
    """

    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    @property
    def count(self) -> int:
        """The number of values."""
        return sum(self.counts)

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value
