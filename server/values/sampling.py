"""Selects a part of many similar items."""

from __future__ import annotations


class Sampling:
    """Selects one in this many items, the first one too; none if it is 0."""

    def __init__(self, one_in: int) -> None:
        self._one_in = one_in
        self._count = 0

    def selects_next(self) -> bool:
        """Whether the next item is selected."""
        if not self._one_in:
            return False
        self._count += 1
        return self._one_in == 1 or self._count % self._one_in == 1
