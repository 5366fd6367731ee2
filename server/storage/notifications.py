"""News of accounts: who wants to hear it, and the way from a writing thread to the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

Listener = Callable[[Collection[str]], None]


class Notifications:
    """Tells listeners of accounts, each on the event loop on which it began to listen."""

    def __init__(self) -> None:
        self._listeners: list[tuple[asyncio.AbstractEventLoop, Listener]] = []

    def listen(self, listener: Listener) -> None:
        """Has accounts told of from now on."""
        self._listeners.append((asyncio.get_running_loop(), listener))

    def notify(self, account_ids: Collection[str]) -> None:
        """Tells of accounts, from whichever thread."""
        if account_ids:
            for loop, listener in self._listeners:
                loop.call_soon_threadsafe(listener, account_ids)
