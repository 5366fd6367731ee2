"""Estimates the delay of a queue from the duration of recent batches.

The estimate is a moving average of the time per item, weighted by batch size: items of a
large batch share one commit. So after an idle period with batches of one item, the first
large batch dominates the estimate.
"""

from __future__ import annotations

import time

# A batch of this size contributes half of the new average.
HALF_WEIGHT_ITEMS = 64


class QueueDelay:
    """Estimates the delay of a queue with one or more consumer threads.

    `dequeued` and `done` record a batch, `enqueued` an item. There is no lock: a lost update
    only makes the estimate less exact.
    """

    def __init__(self, ends: int) -> None:
        self._ends = ends
        self._seconds_each = 0.0
        # The time of the last dequeue, or of the first item in an empty queue.
        self._moved = time.monotonic()

    def enqueued(self, waiting: int) -> None:
        """Records that an item was queued behind `waiting` others."""
        if not waiting:
            self._moved = time.monotonic()

    def dequeued(self) -> float:
        """Records that a batch was dequeued, and returns the time."""
        self._moved = time.monotonic()
        return self._moved

    def done(self, items: int, dequeued: float) -> None:
        """Records that a batch of `items` is done."""
        each = (time.monotonic() - dequeued) / items
        self._seconds_each += (each - self._seconds_each) * items / (items + HALF_WEIGHT_ITEMS)

    def wait(self, waiting: int) -> float:
        """Returns the estimated delay, in seconds, behind `waiting` items.

        It is at least the time since the last dequeue, so that a stalled queue is detected.
        """
        if not waiting:
            return 0.0
        idle = time.monotonic() - self._moved
        return max(waiting * self._seconds_each / self._ends, idle)
