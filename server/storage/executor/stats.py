"""What a database counts of its own work: how busy its lanes are, and how long commits take."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

from ...histogram import Histogram

# Up to how many jobs a batch holds.
BATCH_SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


class ExecutorStats:
    """The figures of one lane. Its threads change them, each under the lock; callers `refused`."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        # How many of the threads are at a batch now, and for how long they have been in all.
        self.busy = 0
        self.busy_seconds = 0.0
        self.batches = Histogram(BATCH_SIZES)
        self.commits = Histogram()
        # Callers that were sent away since the lane was full, was closing, or took too long.
        self.refused = 0
        self._lock = threading.Lock()

    def begin(self, items: int) -> float:
        """Notes that a thread begins with a batch, and returns what `end` is to be given."""
        with self._lock:
            self.busy += 1
            self.batches.add(items)
        return time.perf_counter()

    def end(self, began: float) -> None:
        """Notes that the thread is done with the batch."""
        seconds = time.perf_counter() - began
        with self._lock:
            self.busy -= 1
            self.busy_seconds += seconds

    def committed(self, seconds: float) -> None:
        """Notes how long a commit took that stands."""
        with self._lock:
            self.commits.add(seconds)


class MeasuredExecutor(Protocol):
    """A lane, for whoever reads its figures."""

    name: str
    stats: ExecutorStats

    @property
    def waiting(self) -> int:
        """How many jobs are in no batch yet."""


class Measured(Protocol):
    """A database, for whoever reads its figures."""

    @property
    def executors(self) -> Sequence[MeasuredExecutor]:
        """Its lanes; those that write come first."""

    def bytes_on_disk(self) -> Mapping[str, int]:
        """Returns how large its files are, by what they hold; nothing of a server's."""
