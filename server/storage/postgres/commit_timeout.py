"""Cancels commits that wait too long for a standby.

statement_timeout does not apply to a commit: with synchronous replication, it waits for a
standby without limit. A canceled commit is durable on the primary, but possibly not on
the standby; PostgreSQL reports that as a warning.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

log = logging.getLogger(__name__)

# The maximum duration of a commit, and the interval of the check, in seconds.
COMMIT_SECONDS = 10.0
SWEEP_SECONDS = 1.0
_CANCEL_SECONDS = 3.0


class CommitTimeout:
    """Tracks the running commits and cancels those that take too long."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[float, psycopg.Connection[Any]]] = {}

    @contextmanager
    def limit(self, connection: psycopg.Connection[Any]) -> Iterator[None]:
        """Limits the duration of a block that commits."""
        thread_id = threading.get_ident()
        self._running[thread_id] = (time.monotonic() + COMMIT_SECONDS, connection)
        try:
            yield
        finally:
            del self._running[thread_id]

    async def run(self) -> None:
        """Cancels overdue commits until this task is canceled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for end, connection in list(self._running.values()):
                if end <= now:
                    await asyncio.to_thread(_cancel, connection)


def _cancel(connection: psycopg.Connection[Any]) -> None:
    log.error("a commit was not confirmed within %d seconds and is canceled", COMMIT_SECONDS)
    try:
        connection.cancel_safe(timeout=_CANCEL_SECONDS)
    except psycopg.Error as error:
        log.warning("could not cancel the commit: %s", error)
