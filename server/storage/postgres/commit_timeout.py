"""Ends commits that nobody confirms.

A server ends a statement that takes too long, but not a commit: that waits for its
standby for as long as there is none. Here it is given up after a while, and then says
that it stands on the server and may not stand elsewhere.
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

# How long, in seconds, a commit may take, and how often that is looked at.
COMMIT_SECONDS = 10.0
SWEEP_SECONDS = 1.0
_CANCEL_SECONDS = 3.0


class CommitTimeout:
    """Knows which commits run, and since when."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[float, psycopg.Connection[Any]]] = {}

    @contextmanager
    def over(self, connection: psycopg.Connection[Any]) -> Iterator[None]:
        """Watches over a commit, which is the block."""
        own = threading.get_ident()
        self._running[own] = (time.monotonic() + COMMIT_SECONDS, connection)
        try:
            yield
        finally:
            del self._running[own]

    async def run(self) -> None:
        """Gives up what takes too long, until it is cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for end, connection in list(self._running.values()):
                if end <= now:
                    await asyncio.to_thread(_cancel, connection)


def _cancel(connection: psycopg.Connection[Any]) -> None:
    log.error("a commit has not been confirmed for %d seconds and is given up", COMMIT_SECONDS)
    try:
        connection.cancel_safe(timeout=_CANCEL_SECONDS)
    except psycopg.Error as error:
        log.warning("the server did not take the cancellation: %s", error)
