"""Runs transactions on a SQLite file: one writer thread with group commit, three readers.

A write returns after its commit is synced to disk. All writes that queued during the
previous commit form the next transaction: BEGIN IMMEDIATE, a savepoint for each write or group
of writes that run together, one COMMIT, then all results. A failed write is rolled back to its
savepoint; the others are committed. If the commit fails, all writes of the batch fail.

Each reader has its own connection. A batch of reads shares one snapshot, taken after the
last of them was queued. Short reads can run on the event loop. The third reader only runs parts of
long reads, one at a time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path
from shutil import disk_usage
from typing import Any

import apsw
from peewee import OperationalError, PeeweeException
from playhouse.apsw_ext import APSWDatabase

from ...rpc import caller
from ...rpc.errors import DatabaseFull, Internal, RosterError, Unavailable
from ...values.clock import Clock, system_clock
from ..database import AcceptKey, Result, Work
from ..executor.batch_executor import BatchExecutor
from ..executor.database import ExecutorDatabase
from ..executor.work_item import WorkItem
from ..interruptible import InterruptedBy, interruptible
from ..migrate import Report, migrate
from ..shared_work import SharedWork, grouped, is_short, run_together
from ..transaction import Transaction
from .file import (
    DIALECT,
    connect,
    file_lock,
    files_folder,
    is_damage,
    is_full,
    prepare,
    reports_damage,
    size_of,
    unusable,
)

log = logging.getLogger(__name__)

# Reads go to the first reader while its queue is short, because two threads that compete
# for the GIL do less than one. The second reader takes the overflow.
READERS = 2
# The length from which a queue is no longer short.
LONG_QUEUE = 64
# Steps of SQLite's virtual machine, about 5 ms, between checks whether a statement was abandoned.
STEPS_BETWEEN_CHECKS = 200_000
# A batch of reads that takes longer is slow, in seconds.
SLOW_SECONDS = 0.02


class SqliteDatabase(ExecutorDatabase):
    """Runs transactions on one SQLite file. `Database` documents the methods."""

    alone = True

    def __init__(self, path: Path, *, clock: Clock = system_clock) -> None:
        super().__init__(clock)
        self._path = path
        self.files_folder = files_folder(path)
        # Set when a commit could not be synced. The content of the disk is then unknown, and
        # a second sync can succeed although data is lost.
        self._failed = False
        # Set when a page turned out to be damaged. Writes could damage others.
        self._is_damaged = False
        # Safe: the lock on the file excludes other servers.
        self._cache: set[Hashable] = set()
        # The number of long reads (not `is_short`) by reader name and account.
        self._long_reads: defaultdict[str, Counter[str | None]] = defaultdict(Counter)

    async def open(self, accept_key: AcceptKey | None = None) -> None:
        async with AsyncExitStack() as stack:
            stack.enter_context(file_lock(self._path))
            bring_up_to_date = partial(_bring_up_to_date, self._path, accept_key)
            await interruptible(partial(bring_up_to_date, self.report_migration))
            self.migration = ""
            self._writer = self._write_executor()
            await self._writer.open()
            stack.push_async_callback(self._writer.close)
            readers = [self._read_executor(number, stack) for number in range(READERS + 1)]
            *self._readers, self._part_reader = readers
            for executor in readers:
                await executor.open()
                stack.push_async_callback(executor.close)
            self.executors = (self._writer, *readers)
            self._closing = stack.pop_all()

    def _write_executor(self) -> BatchExecutor[Work[Any]]:
        writer = connect(self._path)
        return BatchExecutor(
            "writer",
            start=lambda: prepare(writer),
            run_batch=lambda items: self._write_batch(writer, items),
            stop=writer.close,
        )

    def _read_executor(self, number: int, stack: AsyncExitStack) -> BatchExecutor[Work[Any]]:
        reader = connect(self._path, read_only=True)
        if number < READERS:
            # The connection of the event loop, which must not wait for another program. The third
            # reader has no short reads.
            _connect(reader)
            reader.connection().setbusytimeout(0)
            stack.callback(reader.close)
        return BatchExecutor(
            f"reader-{number}",
            start=lambda: _connect(reader),
            run_batch=lambda items: self._read_batch(reader, items),
            stop=reader.close,
            abandons=True,
            on_loop=self._on_loop,
        )

    def _on_loop(self, items: Sequence[WorkItem[Work[Any]]]) -> Sequence[WorkItem[Work[Any]]]:
        """Returns the reads that run on the event loop: lookups by key, or one short page.

        A switch to a thread and back takes longer than these (`get_by_id` and `page_of_20` in
        `make bench`). Several pages use both cores in threads. While a thread works, only a single
        lookup runs here, as each statement waits for the GIL.
        """
        short = [item for item in items if is_short(item.work)]
        lookups = [item for item in short if isinstance(item.work, SharedWork)]
        if any(each.stats.busy or each.waiting for each in self.executors):
            return lookups if len(lookups) == 1 else ()
        return short if len(short) == 1 else lookups

    async def read(self, work: Work[Result]) -> Result:
        account_id = caller.account_id_or_none()
        if is_short(work):
            return await self._reader_for_short().run(work)  # type: ignore[no-any-return]
        reader = self._reader_for(account_id)
        long_reads = self._long_reads[reader.name]
        long_reads[account_id] += 1
        try:
            return await reader.run(work)  # type: ignore[no-any-return]
        finally:
            long_reads[account_id] -= 1
            if not long_reads[account_id]:
                del long_reads[account_id]

    def _reader_for_short(self) -> BatchExecutor[Work[Any]]:
        """Returns a reader without long reads for a short read, if there is one."""
        first, second = self._readers
        is_behind_long = self._long_reads[first.name] and not self._long_reads[second.name]
        return second if is_behind_long else first

    def _reader_for(self, account_id: str | None) -> BatchExecutor[Work[Any]]:
        """Returns the reader for a long read of an account.

        While the first reader runs a slow batch, an account with long reads there uses only this
        reader, so that one account does not occupy both.
        """
        first, second = self._readers
        if first.seconds_in_batch > SLOW_SECONDS:
            return first if self._long_reads[first.name][account_id] else second
        is_first_busy = first.waiting >= LONG_QUEUE and second.waiting < first.waiting
        return second if is_first_busy else first

    async def read_parts(self, works: Sequence[Work[Result]]) -> list[Result]:
        if self._part_reader.stats.busy or self._part_reader.waiting:
            return await self.read(partial(_run_all, works))
        first, *others = works
        other_results = self._part_reader.run(partial(_run_all, others))
        result, results = await asyncio.gather(self.read(first), other_results)
        return [result, *results]

    async def write(self, work: Work[Result]) -> Result:
        return await self._writer.run(work)  # type: ignore[no-any-return]

    def bytes_on_disk(self) -> Mapping[str, int]:
        return {"database": size_of(self._path), "wal": size_of(Path(f"{self._path}-wal"))}

    def free_bytes(self) -> int:
        return disk_usage(self._path.parent).free

    def _read_batch(self, reader: APSWDatabase, items: Sequence[WorkItem[Work[Any]]]) -> None:
        try:
            reader.execute_sql("BEGIN")
            for group in grouped(items):
                claimed = list(filter(WorkItem.claim, group))
                if claimed:
                    self._read_group(reader, claimed)
            reader.execute_sql("COMMIT")
        except Exception as error:  # noqa: BLE001 - raised to all callers
            self._fail_all(reader, items, error, Unavailable)

    def _read_group(self, reader: APSWDatabase, group: Sequence[WorkItem[Work[Any]]]) -> None:
        try:
            with _interrupts_if(reader, lambda: all(item.is_withdrawn for item in group)):
                run_together(group, Transaction(reader, DIALECT, self._clock, self.ids))
        except Exception as error:  # noqa: BLE001 - raised to its caller
            if len(group) == 1:
                (item,) = group
                item.error = Unavailable() if item.is_withdrawn else self._client_error(error)
                return
            for item in group:
                self._read_group(reader, [item])

    def _write_batch(self, writer: APSWDatabase, items: Sequence[WorkItem[Work[Any]]]) -> None:
        if self._failed or self._is_damaged:
            for item in items:
                item.error = Unavailable()
            return
        notified: set[str] = set()
        try:
            writer.execute_sql("BEGIN IMMEDIATE")
            for group in grouped(items):
                claimed = list(filter(WorkItem.claim, group))
                if claimed:
                    notified |= self._write_group(writer, claimed)
            self._commit(writer)
            self._notifications.notify(notified)
        except Exception as error:  # noqa: BLE001 - raised to all callers
            self._cache.clear()
            # After a failed sync the outcome of the commit is unknown.
            self._fail_all(writer, items, error, Internal if self._failed else Unavailable)

    def _commit(self, writer: APSWDatabase) -> None:
        began = time.perf_counter()
        try:
            writer.execute_sql("COMMIT")
        except OperationalError as error:
            if isinstance(error.__context__, apsw.IOError):
                self._failed = True
                log.critical(
                    "a commit could not be synced to disk; all writes fail until a restart"
                )
            raise
        self._writer.stats.committed(time.perf_counter() - began)

    def _write_group(self, writer: APSWDatabase, group: Sequence[WorkItem[Work[Any]]]) -> set[str]:
        """Runs the work of a group, and returns the accounts to notify."""
        writer.execute_sql("SAVEPOINT request")
        tx = Transaction(writer, DIALECT, self._clock, self.ids, self._cache)
        try:
            run_together(group, tx)
        except Exception as error:
            # After a full disk or a failed read, SQLite itself rolls back the whole
            # transaction: all writes of the batch fail. A damaged file is not written.
            if writer.connection().getautocommit() or is_damage(error):
                raise
            writer.execute_sql("ROLLBACK TO request")
            self._cache.clear()
            tx.accounts_to_notify.clear()
            if len(group) == 1:
                group[0].error = self._client_error(error)
            else:
                for item in group:
                    item.result, item.error = None, None
                    tx.accounts_to_notify |= self._write_group(writer, [item])
        writer.execute_sql("RELEASE request")
        return tx.accounts_to_notify

    def _client_error(self, error: Exception) -> Exception:
        """Returns the error to raise to the caller: Unavailable if SQLite failed."""
        if self._finds_damage(error):
            return Unavailable()
        if not isinstance(error, (OperationalError, apsw.Error)):
            return error
        if isinstance(error, apsw.ConstraintError):
            return error
        log.error("an SQL statement failed", exc_info=error)
        return DatabaseFull() if is_full(error) else Unavailable()

    def _fail_all(
        self,
        database: APSWDatabase,
        items: Sequence[WorkItem[Work[Any]]],
        error: Exception,
        error_type: type[RosterError],
    ) -> None:
        if not self._finds_damage(error):
            log.error("a batch of %d transactions was rolled back", len(items), exc_info=error)
        if not database.connection().getautocommit():
            database.rollback()
        if error_type is Unavailable and is_full(error):
            error_type = DatabaseFull
        for item in items:
            item.result = None
            item.error = error_type()

    def _finds_damage(self, error: Exception) -> bool:
        """Stops all writes if an error means that the file is damaged, which is logged once."""
        if not is_damage(error):
            return False
        if not self._is_damaged:
            self._is_damaged = True
            log.critical("%s All writes fail until a restart.", unusable(str(self._path), error))
        return True


def _run_all(works: Sequence[Work[Result]], tx: Transaction) -> list[Result]:
    return [work(tx) for work in works]


def _bring_up_to_date(
    path: Path, accept_key: AcceptKey | None, report: Report, interrupted_by: InterruptedBy
) -> None:
    database = connect(path)
    prepare(database)
    interrupted_by(database.connection().interrupt)
    try:
        with reports_damage(path):
            migrate(database, accept_key=accept_key, report=report)
    finally:
        database.close()


def _connect(database: APSWDatabase) -> None:
    try:
        database.connect()
    except PeeweeException as error:
        raise unusable(database.database, error) from error


@contextmanager
def _interrupts_if(reader: APSWDatabase, is_abandoned: Callable[[], bool]) -> Iterator[None]:
    """Interrupts the statements of a block when no call waits for them anymore."""
    connection = reader.connection()
    connection.set_progress_handler(is_abandoned, STEPS_BETWEEN_CHECKS)
    try:
        yield
    finally:
        connection.set_progress_handler(None)
