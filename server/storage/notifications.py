"""Notifies listeners on the event loop of changed accounts, from any thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

Listener = Callable[[Collection[str]], None]


class Notifications:
    """Listeners, each called on the event loop on which it was added."""

    def __init__(self) -> None:
        self._listeners: list[tuple[asyncio.AbstractEventLoop, Listener]] = []

    def listen(self, listener: Listener) -> None:
        self._listeners.append((asyncio.get_running_loop(), listener))

    def notify(self, account_ids: Collection[str]) -> None:
        """Schedules a call of every listener. Can be called from any thread."""
        if account_ids:
            for loop, listener in self._listeners:
                loop.call_soon_threadsafe(listener, account_ids)
