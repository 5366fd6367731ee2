"""A PostgreSQL database: connections in threads, and a transaction for each request that writes.

Several processes may serve one database. Each has a bounded number of threads, with a
connection each; what finds none free waits in a queue that is bounded in length and in
time. Reads and writes have threads of their own, so that reading goes on while writes
wait for locks. Reads that wait together share one view, taken after the youngest of
them was asked for.

What was undone, by a conflict with others or because its connection was lost before the
commit, is done once more. A commit whose answer was lost is neither acknowledged nor
done again: nobody knows whether it stands.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import psycopg
from peewee import PeeweeException

from ...clock import Clock, system_clock
from ...errors import Internal, Unavailable
from ...ids import Ids
from ..database import Result, StorageError, Work
from ..executor.batch_executor import BatchExecutor
from ..executor.work_item import WorkItem
from ..interruptible import InterruptedBy, interruptible
from ..notifications import Listener, Notifications
from .commit_timeout import CommitTimeout
from .connection import bring_up_to_date, connect, opened, unusable, warn_of_danger
from .listen import NotificationBridge
from .transaction import (
    OutcomeUnknown,
    WriteTransaction,
    begin_reading,
    driver_error,
    is_conflict,
    is_transient,
    reading,
    undo,
)

log = logging.getLogger(__name__)

# How long, in seconds, a request may wait for a connection.
QUEUE_TIMEOUT_SECONDS = 5.0
# Reads that share a view, and with it the way to the server and back.
READS_AT_ONCE = 8


class PostgresDatabase:
    """Serves a database by its URL. See `Database` for what the methods promise."""

    alone = False

    def __init__(self, url: str, connections: int, *, clock: Clock = system_clock) -> None:
        self._url = url
        self._connections = connect(url)
        self._readers = connections // 2
        self._writers = connections - self._readers
        self._clock = clock
        self._commit_timeout = CommitTimeout()
        self._notifications = Notifications()
        self._bridge = NotificationBridge(url, self._notifications)
        self._listen_task: asyncio.Task[None] | None = None
        # They rise in this process. Other processes make theirs beside it, so the order
        # of what is made at the same time in two of them is that of their clocks.
        self.ids = Ids(clock)

    async def open(self) -> None:
        await interruptible(self._bring_up_to_date)
        async with AsyncExitStack() as stack:
            stack.callback(asyncio.create_task(self._commit_timeout.run()).cancel)
            stack.push_async_callback(self._stop_listening)
            self._writing = self._executor("writer", self._write_batch, self._writers, max_batch=1)
            await self._writing.open()
            stack.push_async_callback(self._writing.close)
            self._reading = self._executor(
                "reader", self._read_batch, self._readers, max_batch=READS_AT_ONCE, abandons=True
            )
            await self._reading.open()
            stack.push_async_callback(self._reading.close)
            self._closing = stack.pop_all()

    def _bring_up_to_date(self, interrupted_by: InterruptedBy) -> None:
        with opened(self._url) as database:
            interrupted_by(database.connection().cancel_safe)
            warn_of_danger(database)
            bring_up_to_date(database)

    def _executor(
        self,
        name: str,
        run_batch: Callable[[Sequence[WorkItem[Work[Any]]]], None],
        threads: int,
        *,
        max_batch: int,
        abandons: bool = False,
    ) -> BatchExecutor[Work[Any]]:
        return BatchExecutor(
            name,
            start=self._connect,
            run_batch=run_batch,
            stop=self._connections.close,
            threads=threads,
            max_batch=max_batch,
            abandons=abandons,
            queue_timeout=QUEUE_TIMEOUT_SECONDS,
        )

    async def read(self, work: Work[Result]) -> Result:
        return await self._reading.run(work)  # type: ignore[no-any-return]

    async def lookup(self, work: Work[Result]) -> Result:
        return await self.read(work)

    async def write(self, work: Work[Result]) -> Result:
        return await self._writing.run(work)  # type: ignore[no-any-return]

    def listen(self, listener: Listener) -> None:
        self._notifications.listen(listener)
        if self._listen_task is None:
            self._listen_task = asyncio.create_task(self._bridge.run())

    async def _stop_listening(self) -> None:
        """Waits for it: cancelled once more by whoever ends the loop, the driver complains."""
        if self._listen_task is not None:
            self._listen_task.cancel()
            await asyncio.gather(self._listen_task, return_exceptions=True)

    async def close(self) -> None:
        await self._closing.aclose()

    @property
    def executors(self) -> Sequence[BatchExecutor[Work[Any]]]:
        return self._writing, self._reading

    def bytes_on_disk(self) -> Mapping[str, int]:
        return {}

    def _connect(self) -> None:
        """Gives the thread its connection. Raises StorageError if there is none to be had."""
        try:
            self._connections.connect(reuse_if_open=True)
        except (psycopg.Error, PeeweeException) as error:
            raise unusable(error) from error

    def _write_batch(self, items: Sequence[WorkItem[Work[Any]]]) -> None:
        for item in filter(WorkItem.claim, items):
            try:
                item.result = self._write_twice(item.work)
            except Exception as error:  # noqa: BLE001 - told to its caller
                item.error = client_error(error)

    def _write_twice(self, work: Work[Result]) -> Result:
        try:
            return self._write(work)
        except Exception as error:
            cause = driver_error(error)
            if cause is None or not (is_conflict(cause) or self._connections.is_closed()):
                raise
            log.warning("a write was undone and is done again: %s", cause)
        return self._write(work)

    def _write(self, work: Work[Result]) -> Result:
        self._connect()
        tx = WriteTransaction(self._connections, self._clock, self.ids)
        try:
            result = work(tx)
            began = time.perf_counter()
            with self._commit_timeout.over(self._connections.connection()):
                tx.commit()
            self._writing.stats.committed(time.perf_counter() - began)
            self._notify(tx.accounts_to_notify)
        except BaseException as error:
            undo(self._connections, error)
            raise
        return result

    def _notify(self, account_ids: Collection[str]) -> None:
        """Tells of what now stands: listeners here at once, and others before long."""
        self._notifications.notify(account_ids)
        if account_ids and self._listen_task is not None:
            self._bridge.notify(account_ids)

    def _read_batch(self, items: Sequence[WorkItem[Work[Any]]]) -> None:
        claimed = list(filter(WorkItem.claim, items))
        failure = self._failure(claimed)
        if failure is None:
            return
        # One statement that fails ends the transaction for all who share it; alone
        # each gets its own answer. Without a connection there is none to be had.
        for item in claimed:
            if not isinstance(failure, StorageError):
                failure = self._failure([item])
            if failure is not None:
                item.error = client_error(failure)

    def _failure(self, items: Sequence[WorkItem[Work[Any]]]) -> Exception | None:
        """Reads for jobs on one view; returns what failed for all of them."""
        try:
            self._read(items)
        except Exception as error:  # noqa: BLE001 - told to each caller
            return error
        return None

    def _read(self, items: Sequence[WorkItem[Work[Any]]]) -> None:
        self._connect()
        try:
            begin_reading(self._connections)
            for item in items:
                item.result, item.error = None, None
                try:
                    item.result = item.work(reading(self._connections, self._clock, self.ids))
                except Exception as error:
                    if driver_error(error) is not None:
                        raise
                    item.error = error
        except BaseException as error:
            undo(self._connections, error)
            raise
        undo(self._connections)


def client_error(error: Exception) -> Exception:
    """Returns what a caller is told of an error: its own words, or that the store failed."""
    if isinstance(error, OutcomeUnknown):
        log.critical("nobody knows whether a commit stands", exc_info=error)
        return Internal()
    cause = driver_error(error)
    if isinstance(error, StorageError) or (cause is not None and is_transient(cause)):
        log.error("the database could not be had: %s", cause or error)
        return Unavailable()
    return error
