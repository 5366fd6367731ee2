"""Statistics of database threads: queues, batches and commits."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from ...values.histogram import Histogram

# Histogram bounds of batch sizes.
BATCH_SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


class ExecutorStats:
    """Statistics of one executor. Its threads update them under a lock, callers `rejected`."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        # The number of threads running a batch, and the total time of all finished batches.
        self.busy = 0
        self.busy_seconds = 0.0
        self.batches = Histogram(BATCH_SIZES)
        self.waits = Histogram()
        self.commits = Histogram()
        # Rejected calls: the queue was full, too slow, or closing.
        self.rejected = 0
        self._lock = threading.Lock()

    def begin(self, queued_at: Sequence[float]) -> float:
        """Records the start of a batch of items, and returns its start time for `end`."""
        now = time.perf_counter()
        with self._lock:
            self.busy += 1
            self.batches.add(len(queued_at))
            for queued in queued_at:
                self.waits.add(now - queued)
        return now

    def end(self, began: float) -> float:
        """Records the end of a batch, and returns its duration in seconds."""
        seconds = time.perf_counter() - began
        with self._lock:
            self.busy -= 1
            self.busy_seconds += seconds
        return seconds

    def committed(self, seconds: float) -> None:
        """Records the duration of a successful commit."""
        with self._lock:
            self.commits.add(seconds)
