"""Queues of work items between the event loop and the threads of an executor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from queue import Empty, SimpleQueue
from typing import Any

from .work_item import GroupLimits, WorkItem

Batch = Sequence[WorkItem[Any]]


class FifoQueue:
    """Returns all queued items as a batch, at most `max_batch`, in the order of their arrival.

    Threads call `take`, which waits and returns an empty batch if the thread must stop. The event
    loop calls the other methods, and `discard` for a withdrawn item. `len` and `ahead` do not count
    withdrawn items.
    """

    def __init__(self, max_batch: int) -> None:
        self._max_batch = max_batch
        self._items: SimpleQueue[WorkItem[Any] | None] = SimpleQueue()
        # The queued items that were not withdrawn. Each change is one C call, which is atomic.
        self._counted: set[WorkItem[Any]] = set()

    def __len__(self) -> int:
        return len(self._counted)

    def ahead(self, limits: GroupLimits) -> int:  # noqa: ARG002
        """Returns the number of items that a new item with these limits waits for."""
        return len(self)

    def is_idle(self, limits: GroupLimits) -> bool:  # noqa: ARG002
        """Whether no item with these limits waits or runs."""
        return False

    def put(self, items: Batch) -> None:
        self._counted.update(items)
        for item in items:
            self._items.put(item)

    def discard(self, item: WorkItem[Any]) -> None:
        self._counted.discard(item)

    def take(self) -> Batch:
        batch = self._taken()
        self._counted.difference_update(batch)
        return batch

    def _taken(self) -> Batch:
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
        """Records that a thread has run a batch."""

    def close(self, threads: int) -> None:
        """Stops the threads when all items were taken."""
        for _ in range(threads):
            self._items.put(None)


class FairQueue:
    """Limits the number of batches of a group that run or are ready to run at the same time.

    Accounts that wait for a lock, or for a node that does not respond, therefore leave threads
    for other accounts. All items of a batch have the same groups. Items that arrive together
    start together, in as many batches as their limits allow; items without a group have a batch
    each. Items above a limit wait, and the waiting combinations of groups take turns. `FifoQueue`
    documents the methods.
    """

    def __init__(self, max_batch: int) -> None:
        self._max_batch = max_batch
        self._ready: SimpleQueue[Batch] = SimpleQueue()
        self._in_use: Counter[Hashable] = Counter()
        # The items are the keys, in the order of their arrival.
        self._waiting: dict[GroupLimits, dict[WorkItem[Any], None]] = {}
        # The items in ready batches that were not withdrawn, as in FifoQueue.
        self._counted: set[WorkItem[Any]] = set()
        # The number of threads to stop when no item waits.
        self._to_stop = 0

    def __len__(self) -> int:
        return len(self._counted) + sum(map(len, self._waiting.values()))

    def ahead(self, limits: GroupLimits) -> int:
        return len(self._counted) + len(self._waiting.get(limits, ()))

    def is_idle(self, limits: GroupLimits) -> bool:
        return limits not in self._waiting and not any(
            limit.group in self._in_use for limit in limits
        )

    def put(self, items: Batch) -> None:
        for item in items:
            self._waiting.setdefault(item.limits, {})[item] = None
        for limits in dict.fromkeys(item.limits for item in items):
            self._start(limits)

    def discard(self, item: WorkItem[Any]) -> None:
        self._counted.discard(item)
        items = self._waiting.get(item.limits, {})
        items.pop(item, None)
        if not items and self._waiting.pop(item.limits, None) is not None:
            self._stop_if_empty()

    def take(self) -> Batch:
        batch = self._ready.get()
        self._counted.difference_update(batch)
        return batch

    def done(self, batch: Batch) -> None:
        for group, _ in batch[0].limits:
            self._in_use[group] -= 1
            if not self._in_use[group]:
                del self._in_use[group]
        limits = next(filter(self._free, self._waiting), None)
        if limits is not None:
            self._start(limits)
        self._stop_if_empty()

    def _free(self, limits: GroupLimits) -> int:
        """Returns the number of batches of waiting items that the limits allow to start."""
        free = [threads - self._in_use[group] for group, threads in limits]
        return max(min(free, default=len(self._waiting[limits])), 0)

    def _start(self, limits: GroupLimits) -> None:
        """Starts batches of waiting items, as many of equal size as the limits allow."""
        free = self._free(limits)
        if not free:
            return
        items = list(self._waiting.pop(limits))
        for left in range(free, 0, -1):
            size = min(-(-len(items) // left), self._max_batch)
            if not size:
                break
            batch, items = items[:size], items[size:]
            self._in_use.update([limit.group for limit in limits])
            self._counted.update(batch)
            self._ready.put(batch)
        if items:
            # The others take their turns first.
            self._waiting[limits] = dict.fromkeys(items)

    def close(self, threads: int) -> None:
        self._to_stop = threads
        self._stop_if_empty()

    def _stop_if_empty(self) -> None:
        if not self._waiting:
            for _ in range(self._to_stop):
                self._ready.put([])
            self._to_stop = 0
