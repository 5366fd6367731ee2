"""What processes on one PostgreSQL database tell each other: of which accounts there is news.

The news of a process gathers after its commits, and is told in a statement of its own a
moment later. It is no part of the commits: PostgreSQL lets only one transaction of the
whole server that tells anything commit at a time, so all writers would wait for each
other. What is told is lost where nobody listens at that moment, and with the process that
was to tell it: it makes things quick, and nothing relies on it.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Collection

import psycopg

from ..notifications import Notifications
from .connection import parameters

log = logging.getLogger(__name__)

CHANNEL = "roster"
# How long, in seconds, news gathers before it is told, and then before a connection that
# was lost is made again.
DEBOUNCE_SECONDS = 0.1
RETRY_SECONDS = 1.0

_NOTIFY = "SELECT pg_notify(%s, account_id) FROM unnest(%s::text[]) AS account_id"


class NotificationBridge:
    """The other processes: tells them what happens here, and listeners here what they tell."""

    def __init__(self, url: str, notifications: Notifications) -> None:
        self._url = url
        self._notifications = notifications
        self._pending: set[str] = set()
        self._lock = threading.Lock()

    def notify(self, account_ids: Collection[str]) -> None:
        """Has others told of accounts before long, from whichever thread."""
        with self._lock:
            self._pending.update(account_ids)

    async def run(self) -> None:
        """Passes on what is told, both ways, until it is cancelled; what breaks is mended."""
        while True:
            try:
                await self._listen_and_notify()
            except (psycopg.Error, OSError) as error:
                log.warning("news of other processes cannot be heard: %s", error)
            except Exception:
                log.exception("news of other processes cannot be heard")
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen_and_notify(self) -> None:
        options = parameters(self._url)
        connection = await psycopg.AsyncConnection.connect(**options, autocommit=True)
        async with connection:
            # Nothing is written here that would have to be on a disk, or on a standby.
            await connection.execute("SET synchronous_commit = off")
            await connection.execute(f"LISTEN {CHANNEL}")
            while True:
                await self._receive(connection)
                if account_ids := self._take_pending():
                    await connection.execute(_NOTIFY, [CHANNEL, account_ids])

    async def _receive(self, connection: psycopg.AsyncConnection) -> None:
        """Tells listeners here what others tell, for as long as news gathers."""
        async for notice in connection.notifies(timeout=DEBOUNCE_SECONDS):
            if notice.pid != connection.info.backend_pid:
                self._notifications.notify([notice.payload])

    def _take_pending(self) -> list[str]:
        with self._lock:
            gathered, self._pending = self._pending, set()
        return list(gathered)
