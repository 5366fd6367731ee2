"""How long a queue takes, by what has come out of it of late.

A job's share of its batch is what counts: the commit that many share costs each of them
little. So one large batch says more than many small ones, and after a quiet time, when
each job had a commit to itself, a rush is judged by its own first batch.
"""

from __future__ import annotations

import time

# After so many jobs, half of what is believed comes from them.
HALF_WEIGHT_ITEMS = 64


class QueueDelay:
    """The pace of a queue with one end, or several. Used by its threads and by those who ask.

    `dequeued` and `done` are of one batch, `enqueued` of one job. A number that two write at the
    same time may be that of either; all are estimates.
    """

    def __init__(self, ends: int) -> None:
        self._ends = ends
        self._seconds_each = 0.0
        # When something was last taken, or when the queue began, whichever came later.
        self._moved = time.monotonic()

    def enqueued(self, waiting: int) -> None:
        """Notes that a job joins so many others."""
        if not waiting:
            self._moved = time.monotonic()

    def dequeued(self) -> float:
        """Notes that a batch leaves the queue, and returns when that was."""
        self._moved = time.monotonic()
        return self._moved

    def done(self, items: int, dequeued: float) -> None:
        """Notes that a batch of so many jobs is done."""
        each = (time.monotonic() - dequeued) / items
        self._seconds_each += (each - self._seconds_each) * items / (items + HALF_WEIGHT_ITEMS)

    def wait(self, waiting: int) -> float:
        """Returns how many seconds a job may have to wait behind so many others.

        Where nothing has moved for longer than that, it is at least as long again.
        """
        if not waiting:
            return 0.0
        still = time.monotonic() - self._moved
        return max(waiting * self._seconds_each / self._ends, still)
