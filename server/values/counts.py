"""Counts and values by key that do not grow: keys without use are removed."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class RunningCounts(Counter[Key]):
    """The number of running things by key. A key is removed when its number is 0."""

    def end(self, key: Key) -> None:
        """Subtracts one from a key."""
        self[key] -= 1
        if not self[key]:
            del self[key]

    @contextmanager
    def one(self, key: Key) -> Iterator[None]:
        """Adds one to a key during the block."""
        self[key] += 1
        try:
            yield
        finally:
            self.end(key)


class RecentlyUsed(OrderedDict[Key, Value]):
    """Values by key, the one used longest ago first.

    Each use removes at most two values that are not needed any more. So old values are removed
    faster than new ones are added, but no use takes long.
    """

    def use(self, key: Key, value: Value, is_over: Callable[[Value], bool]) -> None:
        """Stores the value of a key, and removes the two used longest ago if `is_over`."""
        self[key] = value
        self.move_to_end(key)
        for oldest in [*islice(self, 2)]:
            if is_over(self[oldest]):
                del self[oldest]
