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
    """Estimates the delay of the items of a group with one or more consumer threads.

    `dequeued` and `done` record a batch, `enqueued` the first item in an empty queue. There is no
    lock: a lost update only makes the estimate less exact.
    """

    def __init__(self, consumers: int) -> None:
        self._consumers = consumers
        self._seconds_per_item = 0.0
        # The time of the last dequeue, or of the first item in an empty queue.
        self._progress_at = time.monotonic()

    def enqueued(self) -> None:
        """Records that an item was queued while no other waited."""
        self._progress_at = time.monotonic()

    def dequeued(self) -> float:
        """Records that a batch was dequeued, and returns the time."""
        self._progress_at = time.monotonic()
        return self._progress_at

    def seconds_since_dequeue(self) -> float:
        return time.monotonic() - self._progress_at

    def done(self, items: int, dequeued: float) -> None:
        """Records that a batch of `items` is done."""
        seconds = (time.monotonic() - dequeued) / items
        weight = items / (items + HALF_WEIGHT_ITEMS)
        self._seconds_per_item += (seconds - self._seconds_per_item) * weight

    def wait(self, waiting: int) -> float:
        """Returns the estimated delay, in seconds, behind `waiting` items.

        It is at least the time since the last dequeue, so that a stalled queue is detected.
        """
        if not waiting:
            return 0.0
        idle = time.monotonic() - self._progress_at
        return max(waiting * self._seconds_per_item / self._consumers, idle)
