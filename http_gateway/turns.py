"""Lets API keys take turns on the event loop.

All calls share one interpreter. If many clients of one key send requests at the same time, calls
of other keys would wait until each of these requests was processed.
"""

from __future__ import annotations

import asyncio
from collections import deque


class Turns:
    """Starts one request of each key in each iteration of the event loop, in their order."""

    def __init__(self) -> None:
        # The keys whose turn in this iteration is taken, with their waiting requests.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def take(self, key: str) -> asyncio.Future[None] | None:
        """Takes the turn of a key. Returns None, or a future to wait for if it is taken."""
        loop = asyncio.get_running_loop()
        requests = self._waiting.get(key)
        if requests is None:
            if not self._waiting:
                loop.call_soon(self._next, loop)
            self._waiting[key] = deque()
            return None
        turn = loop.create_future()
        requests.append(turn)
        return turn

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        for key, requests in list(self._waiting.items()):
            # The clients of canceled requests have left.
            while requests and requests[0].done():
                requests.popleft()
            if requests:
                requests.popleft().set_result(None)
            else:
                del self._waiting[key]
        if self._waiting:
            loop.call_soon(self._next, loop)
