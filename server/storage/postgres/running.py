"""Tracks the running transactions and ends those that take too long.

statement_timeout does not apply to a commit: with synchronous replication, it waits for a
standby without limit. A canceled commit is durable on the primary, but possibly not on
the standby; PostgreSQL reports that as a warning.

Citus can ignore a cancellation while a node does not respond. Its connection is then ended.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from ..executor.work_item import GroupLimits

log = logging.getLogger(__name__)

# The maximum duration of a commit, and the interval of the check, in seconds.
COMMIT_SECONDS = 10.0
SWEEP_SECONDS = 1.0
_CANCEL_SECONDS = 3.0


@dataclass
class _Running:
    connection: psycopg.Connection[Any]
    limits: GroupLimits
    since: float
    # When the commit is overdue; None before it.
    commit_by: float | None = None


class RunningTransactions:
    """The transactions that threads run now."""

    def __init__(self) -> None:
        self._running: dict[int, _Running] = {}
        # Held while a connection is shut down, so that its thread does not close it.
        self._lock = threading.Lock()

    @contextmanager
    def track(self, connection: psycopg.Connection[Any], limits: GroupLimits) -> Iterator[None]:
        """Tracks a block that runs the statements of a transaction."""
        thread_id = threading.get_ident()
        self._running[thread_id] = _Running(connection, limits, time.monotonic())
        try:
            yield
        finally:
            with self._lock:
                del self._running[thread_id]

    def committing(self) -> None:
        """Limits the duration of the rest of the transaction, which is its commit."""
        self._running[threading.get_ident()].commit_by = time.monotonic() + COMMIT_SECONDS

    def disconnect(self, group: Hashable, older_than: float) -> None:
        """Ends the connections of transactions of a group or older than this, in seconds.

        Transactions that are being committed keep the commit timeout.
        """
        oldest = time.monotonic() - older_than
        with self._lock:
            for running in list(self._running.values()):
                in_group = any(limit.group == group for limit in running.limits)
                if running.commit_by is None and (in_group or running.since < oldest):
                    disconnect(running.connection)

    async def run(self) -> None:
        """Ends overdue commits until this task is canceled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for running in list(self._running.values()):
                if running.commit_by is None or now < running.commit_by:
                    continue
                if now < running.commit_by + 2 * SWEEP_SECONDS:
                    await asyncio.to_thread(_cancel, running.connection)
                elif now > running.commit_by + _CANCEL_SECONDS:
                    with self._lock:
                        if running in self._running.values():
                            disconnect(running.connection)


def _cancel(connection: psycopg.Connection[Any]) -> None:
    log.error("a commit was not confirmed within %d seconds and is canceled", COMMIT_SECONDS)
    try:
        connection.cancel_safe(timeout=_CANCEL_SECONDS)
    except psycopg.Error as error:
        log.warning("could not cancel the commit: %s", error)


def disconnect(connection: psycopg.BaseConnection[Any]) -> None:
    """Ends a connection while another thread or task waits for it; the wait fails at once."""
    with (
        suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as end,
    ):
        end.shutdown(socket.SHUT_RDWR)
