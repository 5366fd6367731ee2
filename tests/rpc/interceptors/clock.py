"""A clock that tests advance."""

from __future__ import annotations

from rosterd.server.rpc.interceptors.token_buckets import NANOSECONDS


class Clock:
    """Returns nanoseconds."""

    def __init__(self, seconds: int = 1_000_000) -> None:
        self.now = seconds * NANOSECONDS

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += int(seconds * NANOSECONDS)
