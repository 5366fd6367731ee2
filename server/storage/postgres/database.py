"""Runs transactions on PostgreSQL: a thread for each connection, and group commit.

All writes of an account that queued during its previous transaction form the next one: one lock
of the account, a savepoint for each write or group of writes that run together, one COMMIT, then
all results. A failed write is rolled back to its savepoint; the others are committed.

Several processes can serve one database. Each process has a fixed number of threads with one
connection each. Work waits for a free thread in a queue with a maximum length and a
timeout. Reads and writes have separate threads, so that reads continue while writes wait
for locks. A batch of reads shares one snapshot, taken after the last of them was queued.

A transaction that was rolled back by a conflict, or by a connection lost before the commit, is
retried once. If the connection is lost during the commit, the outcome is unknown: its writes are
not retried and their calls fail.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any

import psycopg
from peewee import PeeweeException
from playhouse.postgres_ext import Psycopg3Database
from psycopg.pq import TransactionStatus

from ...rpc import caller
from ...rpc.errors import DatabaseFull, Internal, StatementTimeout, Unavailable
from ...values.clock import Clock, system_clock
from ..database import AcceptKey, Result, SchemaTooNew, StorageError, Work
from ..executor.batch_executor import BatchExecutor
from ..executor.database import ExecutorDatabase
from ..executor.work_item import GroupLimit, GroupLimits, WorkItem
from ..interruptible import InterruptedBy, interruptible
from ..notifications import Listener
from ..shared_work import grouped, has_one_statement, run_together
from .connection import connect, open_database, unusable, warn_if_unsafe
from .listen import NotificationBridge
from .running import RunningTransactions
from .schema import bring_up_to_date
from .transaction import (
    Commands,
    OutcomeUnknown,
    RolledBack,
    WriteTransaction,
    begin_reading,
    driver_error,
    is_conflict,
    is_transient,
    reading,
    undo,
)
from .vacuum import Vacuuming

log = logging.getLogger(__name__)

# How long a request waits for a connection, in seconds.
QUEUE_TIMEOUT_SECONDS = 5.0
# The timeout of a request to cancel a statement, in seconds.
CANCEL_SECONDS = 3.0
# The interval of repeated cancel requests, in seconds.
CANCEL_INTERVAL = 0.02
# The maximum number of reads that share a snapshot and its round trips.
MAX_READ_BATCH = 32
# The maximum number of writes of an account that share a transaction.
MAX_WRITE_BATCH = 64
# A write that fails later than this after its start is not retried, in seconds.
RETRY_SECONDS = 2.0


class PostgresDatabase(ExecutorDatabase):
    """Runs transactions on a PostgreSQL database. `Database` documents the methods."""

    alone = False

    def __init__(self, url: str, connections: int, *, clock: Clock = system_clock) -> None:
        super().__init__(clock)
        self._url = url
        self._connections = connect(url)
        self._readers = connections // 2
        self._writers = connections - self._readers
        self._running = RunningTransactions()
        self._vacuuming = Vacuuming(url)
        self._bridge = NotificationBridge(url, self._notifications)
        self._listen_task: asyncio.Task[None] | None = None

    async def open(self, accept_key: AcceptKey | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await interruptible(partial(self._bring_up_to_date, accept_key))
        self.migration = ""
        async with AsyncExitStack() as stack:
            for task in self._background():
                stack.push_async_callback(_end, asyncio.create_task(task))
            stack.push_async_callback(self._stop_listening)
            self._writing = self._executor(
                "writer", self._write_batch, self._writers, max_batch=MAX_WRITE_BATCH
            )
            await self._writing.open()
            stack.push_async_callback(self._writing.close)
            self._reading = self._executor(
                "reader",
                self._read_batch,
                self._readers,
                max_batch=MAX_READ_BATCH,
                abandons=True,
            )
            await self._reading.open()
            stack.push_async_callback(self._reading.close)
            self.executors = (self._writing, self._reading)
            self._closing = stack.pop_all()

    def _bring_up_to_date(
        self, accept_key: AcceptKey | None, interrupted_by: InterruptedBy
    ) -> None:
        with open_database(self._url) as database:
            interrupted_by(database.connection().cancel_safe)
            warn_if_unsafe(database)
            self._migrate(database, accept_key)

    def _migrate(self, database: Psycopg3Database, accept_key: AcceptKey | None) -> None:
        bring_up_to_date(database, accept_key=accept_key, report=self.report_migration)

    def _background(self) -> Sequence[Coroutine[Any, Any, None]]:
        """Returns what runs while the database is open."""
        return [self._running.run(), self._vacuuming.run(self.read)]

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
            fair=True,
            queue_timeout=QUEUE_TIMEOUT_SECONDS,
        )

    async def read(self, work: Work[Result]) -> Result:
        return await self._reading.run(work, self._read_limits())  # type: ignore[no-any-return]

    def _read_limits(self) -> GroupLimits:
        """Returns the groups of a read for the current account."""
        account_id = caller.account_id_or_none()
        # Slow reads of one account leave threads for others. Waiting reads share a batch.
        threads = max(self._readers // 2, 1)
        return () if account_id is None else (GroupLimit((account_id, "reads"), threads),)

    async def read_parts(self, works: Sequence[Work[Result]]) -> list[Result]:
        # The limits of an account apply to its parts, too.
        return await asyncio.gather(*map(self.read, works))

    async def write(self, work: Work[Result]) -> Result:
        return await self._writing.run(work, self._write_limits())  # type: ignore[no-any-return]

    def _write_limits(self) -> GroupLimits:
        """Returns the groups of a write for the current account, which is the last of them."""
        account_id = caller.account_id_or_none()
        # With one thread, all writes that wait share the next transaction.
        return () if account_id is None else (GroupLimit(account_id, 1),)

    def listen(self, listener: Listener) -> None:
        super().listen(listener)
        if self._listen_task is None:
            self._listen_task = asyncio.create_task(self._bridge.run())

    async def _stop_listening(self) -> None:
        """Cancels the task and waits for it: the driver warns if it is canceled twice."""
        if self._listen_task is not None:
            self._listen_task.cancel()
            await asyncio.gather(self._listen_task, return_exceptions=True)

    def _connect(self) -> None:
        """Opens the thread's connection, if it has none. Raises StorageError."""
        try:
            self._connections.connect(reuse_if_open=True)
            self._connections.renew_plans()
        except (psycopg.Error, PeeweeException) as error:
            raise unusable(error) from error

    def _write_batch(self, items: Sequence[WorkItem[Work[Any]]]) -> None:
        claimed = list(filter(WorkItem.claim, items))
        if not claimed:
            return
        try:
            self._write_with_retry(claimed)
        except Exception as error:  # noqa: BLE001 - raised to all callers
            for item in claimed:
                item.result, item.error = None, self._client_error(error)

    def _write_with_retry(self, items: Sequence[WorkItem[Work[Any]]]) -> None:
        began, groups = time.monotonic(), grouped(items)
        try:
            self._write(groups)
        except Exception as error:
            if self._can_retry(error):
                if time.monotonic() > began + RETRY_SECONDS:
                    raise
                log.warning("a write was rolled back and is retried: %s", driver_error(error))
            elif _can_run_apart(error) and len(groups) < len(items):
                groups = [[item] for item in items]
            else:
                raise
            for item in items:
                item.result, item.error = None, None
            self._write(groups)

    def _can_retry(self, error: Exception) -> bool:
        """Whether a write was rolled back by an error that an immediate retry can avoid."""
        cause = driver_error(error)
        return cause is not None and (
            is_conflict(cause) or self._connections.is_closed() or self._is_node_failure(cause)
        )

    def _is_node_failure(self, error: psycopg.Error) -> bool:  # noqa: ARG002 - for a cluster
        return False

    def _check_nodes(self, limits: GroupLimits) -> None:
        """Raises Unavailable if a node of the cluster that these groups use does not respond."""

    def _write(self, groups: Sequence[Sequence[WorkItem[Work[Any]]]]) -> None:
        """Runs the writes of all groups in one transaction."""
        self._connect()
        limits = groups[0][0].limits
        self._check_nodes(limits)
        commands, notified = Commands(self._connections), set[str]()
        try:
            with self._running.track(self._connections.connection(), limits):
                if len(groups) == 1:
                    notified = self._run(groups[0], commands)
                else:
                    # Taken before the savepoints: rolling back to one would release the lock.
                    commands.lock(str(limits[-1].group))
                    for group in groups:
                        notified |= self._run_in_savepoint(group, commands)
                began = time.perf_counter()
                self._running.begin_commit()
                commands.commit()
            self._writing.stats.committed(time.perf_counter() - began)
            self._notify(notified)
        except BaseException as error:
            undo(self._connections, error)
            raise

    def _run(self, group: Sequence[WorkItem[Work[Any]]], commands: Commands) -> set[str]:
        """Runs a group, and returns the accounts to notify."""
        tx = WriteTransaction(self._connections, self._clock, self.ids, commands)
        run_together(group, tx)
        if self._connections.connection().info.transaction_status is TransactionStatus.INERROR:
            raise RolledBack("a statement failed, and the work ignored its error")
        return tx.accounts_to_notify

    def _run_in_savepoint(
        self, group: Sequence[WorkItem[Work[Any]]], commands: Commands
    ) -> set[str]:
        """Runs a group in a savepoint, which is rolled back on an error.

        If several writes ran together, each is then run alone.
        """
        commands.savepoint()
        try:
            return self._run(group, commands)
        except Exception as error:
            if self._can_retry(error):
                raise
            commands.roll_back_to_savepoint()
            if len(group) == 1 or not _can_run_apart(error):
                for item in group:
                    item.error = self._client_error(error)
                return set()
        notified = set[str]()
        for item in group:
            item.result, item.error = None, None
            notified |= self._run_in_savepoint([item], commands)
        return notified

    def _notify(self, account_ids: Collection[str]) -> None:
        """Notifies the listeners of this process, and later those of other processes."""
        self._notifications.notify(account_ids)
        if account_ids and self._listen_task is not None:
            self._bridge.notify(account_ids)

    def _read_batch(self, items: Sequence[WorkItem[Work[Any]]]) -> None:
        failure = self._failure(items)
        if failure is None:
            return
        # A failed statement ends the transaction for the whole batch, so each read is run again
        # alone. Without a connection, all fail.
        for item in items:
            if item.is_withdrawn:
                continue
            if not isinstance(failure, StorageError):
                failure = self._failure([item])
            if failure is not None:
                item.error = self._client_error(failure)

    def _failure(self, items: Sequence[WorkItem[Work[Any]]]) -> Exception | None:
        """Runs reads in one snapshot; returns the error that ended the transaction, or None."""
        try:
            self._read(items)
        except Exception as error:  # noqa: BLE001 - raised to each caller
            return error
        return None

    def _read(self, items: Sequence[WorkItem[Work[Any]]]) -> None:
        self._connect()
        # The items of a batch have the same groups.
        limits = items[0].limits if items else ()
        self._check_nodes(limits)
        try:
            with self._running.track(self._connections.connection(), limits):
                self._read_all(items)
        except BaseException as error:
            undo(self._connections, error)
            raise
        undo(self._connections)

    def _read_all(self, items: Sequence[WorkItem[Work[Any]]]) -> None:
        if not has_one_statement(items):
            begin_reading(self._connections)
        interrupt = partial(_interrupt, self._connections.connection())
        for group in grouped(items):
            # Only a single read can be interrupted. Grouped reads are lookups, which are fast.
            claimed = [item for item in group if item.claim(interrupt if len(group) == 1 else None)]
            for item in claimed:
                item.result, item.error = None, None
            try:
                if claimed:
                    run_together(claimed, reading(self._connections, self._clock, self.ids))
            except Exception as error:
                if len(claimed) > 1 or driver_error(error) is not None:
                    raise
                claimed[0].error = error
            finally:
                group[0].done()

    def _client_error(self, error: Exception) -> Exception:
        """Returns the error to raise to the caller."""
        if isinstance(error, OutcomeUnknown):
            log.critical("the outcome of a commit is unknown", exc_info=error)
            return Internal()
        if isinstance(error, SchemaTooNew):
            if self.on_outdated is not None:
                self._loop.call_soon_threadsafe(self.on_outdated, error)
            return Unavailable()
        cause = driver_error(error)
        is_temporary = cause is not None and (is_transient(cause) or self._is_node_failure(cause))
        if isinstance(error, StorageError) or is_temporary:
            log.error("the database is unavailable: %s", cause or error)
            if isinstance(cause, psycopg.errors.DiskFull):
                return DatabaseFull()
            is_timeout = isinstance(cause, psycopg.errors.QueryCanceled)
            return StatementTimeout() if is_timeout else Unavailable()
        return error


def _interrupt(connection: psycopg.Connection[Any], item: WorkItem[Work[Any]]) -> None:
    """Cancels the statement of an abandoned read. Runs on the event loop, and does not wait."""
    asyncio.get_running_loop().run_in_executor(None, _cancel, connection, item)


def _cancel(connection: psycopg.Connection[Any], item: WorkItem[Work[Any]]) -> None:
    """Cancels statements until the read ends: one may not have started yet.

    A late cancellation can hit another read, which is then run again.
    """
    with suppress(psycopg.Error):
        while item.is_interrupted:
            connection.cancel_safe(timeout=CANCEL_SECONDS)
            time.sleep(CANCEL_INTERVAL)


def _can_run_apart(error: Exception) -> bool:
    """Whether writes that failed together, without effect, can succeed one by one."""
    cause = driver_error(error)
    is_of_one_write = not isinstance(error, (OutcomeUnknown, StorageError, Unavailable))
    return is_of_one_write and (cause is None or not is_transient(cause))


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
