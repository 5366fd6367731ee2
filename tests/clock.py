"""A clock that tests set, in milliseconds."""

from __future__ import annotations


class ManualClock:
    def __init__(self, now: int) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now
