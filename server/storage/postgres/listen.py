"""Notifies other processes of changed accounts, by LISTEN and NOTIFY.

A process collects the accounts of its commits and sends them shortly afterwards, in a
separate statement. NOTIFY is not part of the commits: PostgreSQL serializes the commits of
all transactions that notify, so writers would wait for each other. A notification is lost
if a listener is disconnected or the sender ends. Listeners therefore also poll.
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
# How long account IDs are collected before they are sent, and how long to wait before
# reconnecting, in seconds.
DEBOUNCE_SECONDS = 0.1
RETRY_SECONDS = 1.0

_NOTIFY = "SELECT pg_notify(%s, account_id) FROM unnest(%s::text[]) AS account_id"


class NotificationBridge:
    """Exchanges notifications between this process and the others."""

    def __init__(self, url: str, notifications: Notifications) -> None:
        self._url = url
        self._notifications = notifications
        self._pending: set[str] = set()
        self._lock = threading.Lock()

    def notify(self, account_ids: Collection[str]) -> None:
        """Queues accounts for notification of other processes. Can be called from any thread."""
        with self._lock:
            self._pending.update(account_ids)

    async def run(self) -> None:
        """Sends and receives notifications until canceled; reconnects after an error."""
        while True:
            try:
                await self._listen_and_notify()
            except (psycopg.Error, OSError) as error:
                log.warning("cannot listen for notifications of other processes: %s", error)
            except Exception:
                log.exception("cannot listen for notifications of other processes")
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen_and_notify(self) -> None:
        options = parameters(self._url)
        connection = await psycopg.AsyncConnection.connect(**options, autocommit=True)
        async with connection:
            # Notifications need not be durable.
            await connection.execute("SET synchronous_commit = off")
            await connection.execute(f"LISTEN {CHANNEL}")
            while True:
                await self._receive(connection)
                if account_ids := self._take_pending():
                    await connection.execute(_NOTIFY, [CHANNEL, account_ids])

    async def _receive(self, connection: psycopg.AsyncConnection) -> None:
        """Passes received notifications to local listeners for DEBOUNCE_SECONDS."""
        async for notice in connection.notifies(timeout=DEBOUNCE_SECONDS):
            if notice.pid != connection.info.backend_pid:
                self._notifications.notify([notice.payload])

    def _take_pending(self) -> list[str]:
        with self._lock:
            gathered, self._pending = self._pending, set()
        return list(gathered)
