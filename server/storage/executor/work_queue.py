"""Queues of work items between the event loop and the threads of an executor."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from .work_item import GroupLimits, WorkItem

Batch = Sequence[WorkItem[Any]]


class WorkQueue(Protocol):
    """A queue with several consumer threads. Threads call `take`, the event loop the rest."""

    def __len__(self) -> int: ...

    def put(self, item: WorkItem[Any]) -> None:
        """Adds an item."""

    def take(self) -> Batch:
        """Waits for items and returns a batch, which is empty if the thread must stop."""

    def done(self, batch: Batch) -> None:
        """Records that a thread has run a batch."""

    def close(self, threads: int) -> None:
        """Stops the threads when all items were taken."""


class FifoQueue:
    """Returns all queued items as a batch, at most `max_batch`, in the order of their arrival."""

    def __init__(self, max_batch: int) -> None:
        self._max_batch = max_batch
        self._items: SimpleQueue[WorkItem[Any] | None] = SimpleQueue()

    def __len__(self) -> int:
        return self._items.qsize()

    def put(self, item: WorkItem[Any]) -> None:
        self._items.put(item)

    def take(self) -> Batch:
        batch: list[WorkItem[Any]] = []
        item = self._items.get()
        while item is not None:
            batch.append(item)
            if len(batch) == self._max_batch:
                return batch
            try:
                item = self._items.get_nowait()
            except Empty:
                return batch
        if batch:
            # The next call returns the empty batch.
            self._items.put(None)
        return batch

    def done(self, batch: Batch) -> None:
        pass

    def close(self, threads: int) -> None:
        for _ in range(threads):
            self._items.put(None)


class FairQueue:
    """Limits the number of batches of a group that run or are ready to run at the same time.

    Accounts that wait for a lock, or for a node that does not respond, therefore leave threads
    for other accounts. All items of a batch have the same groups. Items above a limit wait, and
    the waiting combinations of groups take turns.
    """

    def __init__(self, max_batch: int) -> None:
        self._max_batch = max_batch
        self._ready: SimpleQueue[Batch] = SimpleQueue()
        self._in_use: Counter[Hashable] = Counter()
        self._waiting: dict[GroupLimits, deque[WorkItem[Any]]] = {}
        self._length = 0
        # The number of threads to stop when no item waits.
        self._to_stop = 0

    def __len__(self) -> int:
        return self._ready.qsize() + self._length

    def put(self, item: WorkItem[Any]) -> None:
        limits = item.limits
        self._length += 1
        if limits not in self._waiting and self._is_free(limits):
            self._start(limits, [item])
        else:
            self._waiting.setdefault(limits, deque()).append(item)

    def take(self) -> Batch:
        return self._ready.get()

    def done(self, batch: Batch) -> None:
        for group, _ in batch[0].limits:
            self._in_use[group] -= 1
            if not self._in_use[group]:
                del self._in_use[group]
        limits = next(filter(self._is_free, self._waiting), None)
        if limits is not None:
            items = self._waiting.pop(limits)
            self._start(limits, [items.popleft() for _ in range(min(self._max_batch, len(items)))])
            if items:
                self._waiting[limits] = items
        self._stop_if_empty()

    def _is_free(self, limits: GroupLimits) -> bool:
        return all(self._in_use[group] < threads for group, threads in limits)

    def _start(self, limits: GroupLimits, batch: Batch) -> None:
        self._in_use.update([limit.group for limit in limits])
        self._length -= len(batch)
        self._ready.put(batch)

    def close(self, threads: int) -> None:
        self._to_stop = threads
        self._stop_if_empty()

    def _stop_if_empty(self) -> None:
        if not self._waiting:
            for _ in range(self._to_stop):
                self._ready.put([])
            self._to_stop = 0
