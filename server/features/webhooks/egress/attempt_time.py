"""Measures and limits the time of an attempt, without its wait for a lookup to start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar


class AttemptTime:
    """The timeout of an attempt, and the seconds for which it was paused."""

    def __init__(self, seconds: float) -> None:
        self._timeout = asyncio.timeout(seconds)
        self.is_running = False
        self.paused_seconds = 0.0

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Raises TimeoutError in the block when the time of the attempt has passed."""
        token = _current.set(self)
        try:
            async with self._timeout:
                self.is_running = True
                yield
        finally:
            self.is_running = False
            _current.reset(token)

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Stops the time during the block."""
        loop = asyncio.get_running_loop()
        began, ends_at = loop.time(), self._timeout.when()
        self._timeout.reschedule(None)
        try:
            yield
        finally:
            seconds = loop.time() - began
            self.paused_seconds += seconds
            # A canceled attempt can end before its lookup.
            if self.is_running and ends_at is not None:
                self._timeout.reschedule(ends_at + seconds)


# The connector resolves names in separate tasks, which copy the context of the attempt.
_current: ContextVar[AttemptTime | None] = ContextVar("attempt_time", default=None)


@contextmanager
def pause_attempt() -> Iterator[None]:
    """Stops the time of the current attempt, if there is one, during the block."""
    attempt = _current.get()
    if attempt is None or not attempt.is_running:
        yield
        return
    with attempt.pause():
        yield
