"""Tracks the running transactions, to cancel slow commits and to disconnect from failed nodes.

statement_timeout does not apply to a commit: with synchronous replication, it waits for a
standby without limit. A canceled commit is durable on the primary, but possibly not on
the standby; PostgreSQL reports that as a warning.

Citus can ignore a cancellation while a node does not respond. Then the connection is shut down.
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

# The maximum duration of a commit, in seconds.
COMMIT_SECONDS = 10.0
# The interval at which commits are checked, in seconds.
SWEEP_SECONDS = 1.0
# The timeout of a cancellation, in seconds. After it, the connection is shut down.
_CANCEL_SECONDS = 3.0


@dataclass
class _Running:
    connection: psycopg.Connection[Any]
    limits: GroupLimits
    began: float
    # The time limit of the commit; None until it starts.
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

    def begin_commit(self) -> None:
        """Starts the commit timeout of this thread's transaction."""
        self._running[threading.get_ident()].commit_by = time.monotonic() + COMMIT_SECONDS

    def disconnect(self, group: Hashable, older_than: float) -> None:
        """Disconnects transactions of a group, and all that are `older_than` this many seconds.

        A commit is not interrupted; it has its own timeout.
        """
        oldest = time.monotonic() - older_than
        with self._lock:
            for running in list(self._running.values()):
                in_group = any(limit.group == group for limit in running.limits)
                if running.commit_by is None and (in_group or running.began < oldest):
                    shut_down(running.connection)

    async def run(self) -> None:
        """Cancels overdue commits until this task is canceled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for running in list(self._running.values()):
                if running.commit_by is None or now < running.commit_by:
                    continue
                # Canceled by the first two sweeps after the limit, then disconnected.
                if now < running.commit_by + 2 * SWEEP_SECONDS:
                    await asyncio.to_thread(_cancel, running.connection)
                elif now > running.commit_by + _CANCEL_SECONDS:
                    with self._lock:
                        if running in self._running.values():
                            shut_down(running.connection)


def _cancel(connection: psycopg.Connection[Any]) -> None:
    log.error("a commit was not confirmed within %d seconds and is canceled", COMMIT_SECONDS)
    try:
        connection.cancel_safe(timeout=_CANCEL_SECONDS)
    except psycopg.Error as error:
        log.warning("could not cancel the commit: %s", error)


def shut_down(connection: psycopg.BaseConnection[Any]) -> None:
    """Closes the socket of a connection. A thread or task that waits for it gets an error."""
    with (
        suppress(OSError, psycopg.Error),
        socket.socket(fileno=os.dup(connection.fileno())) as end,
    ):
        end.shutdown(socket.SHUT_RDWR)
