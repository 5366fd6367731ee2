"""The embedded database: one SQLite file, one writer, group commit.

A commit is on the disk before anyone is told of it. Writes go through one lane. Whatever
queued while the last commit was being synced is the next transaction: BEGIN
IMMEDIATE, a savepoint around each caller's work, one COMMIT, then all answers. A
caller whose work fails is rolled back to its savepoint and the others stand; if
the commit fails nobody is acknowledged.

Reads go to reader lanes with connections of their own; a batch of reads shares
one snapshot, taken after the youngest of them was asked for. A crowd of look-ups by key
is read on the event loop (`glances.py`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

import apsw
from peewee import OperationalError, PeeweeException
from playhouse.apsw_ext import APSWDatabase

from ...clock import Clock, system_clock
from ...errors import Internal, RosterError, Unavailable
from ...ids import Ids
from ..database import Result, Work
from ..executor.batch_executor import BatchExecutor
from ..executor.key_lookups import KeyLookups
from ..executor.work_item import WorkItem
from ..interruptible import InterruptedBy, interruptible
from ..migrate import migrate
from ..notifications import Listener, Notifications
from ..transaction import Transaction
from .file import DIALECT, FileLock, connect, prepare, size_of, unusable

log = logging.getLogger(__name__)

# Reads go to the first lane while its queue is short: two threads that vie for the
# interpreter do a quarter less than one. The second takes over what piles up.
READERS = 2
SHORT_QUEUE = 64


class SqliteDatabase:
    """Serves one SQLite file. See `Database` for what the methods promise."""

    alone = True

    def __init__(self, path: Path, *, clock: Clock = system_clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = FileLock(path)
        # Set once a commit could not be synced. What the disk holds then is not
        # known, and a second sync may say that all is well when it is not.
        self._failed = False
        # Nobody else writes to what is remembered: the lock on the file says so.
        self._cache: set[Hashable] = set()
        self._notifications = Notifications()
        self.ids = Ids(clock)

    async def open(self) -> None:
        async with AsyncExitStack() as stack:
            self._lock.acquire()
            stack.callback(self._lock.release)
            await interruptible(partial(_bring_up_to_date, self._path))
            self._writer = self._write_executor()
            await self._writer.open()
            stack.push_async_callback(self._writer.close)
            self._readers = [self._read_executor(number) for number in range(READERS)]
            for executor in self._readers:
                await executor.open()
                stack.push_async_callback(executor.close)
            reader = connect(self._path, read_only=True)
            _connect(reader)
            stack.callback(reader.close)
            self._key_lookups = KeyLookups(
                self._readers[0], lambda items: self._read_batch(reader, items)
            )
            stack.callback(self._key_lookups.close)
            self._closing = stack.pop_all()

    def _write_executor(self) -> BatchExecutor[Work[Any]]:
        writer = connect(self._path)
        return BatchExecutor(
            "writer",
            start=lambda: prepare(writer),
            run_batch=lambda items: self._write_batch(writer, items),
            stop=writer.close,
        )

    def _read_executor(self, number: int) -> BatchExecutor[Work[Any]]:
        reader = connect(self._path, read_only=True)
        return BatchExecutor(
            f"reader-{number}",
            start=lambda: _connect(reader),
            run_batch=lambda items: self._read_batch(reader, items),
            stop=reader.close,
            abandons=True,
        )

    async def read(self, work: Work[Result]) -> Result:
        first, *others = self._readers
        executor = first
        if first.waiting >= SHORT_QUEUE:
            executor = min(others, key=lambda executor: executor.waiting)
        return await executor.run(work)  # type: ignore[no-any-return]

    async def lookup(self, work: Work[Result]) -> Result:
        return await self._key_lookups.run(work)  # type: ignore[no-any-return]

    async def write(self, work: Work[Result]) -> Result:
        return await self._writer.run(work)  # type: ignore[no-any-return]

    def listen(self, listener: Listener) -> None:
        self._notifications.listen(listener)

    async def close(self) -> None:
        await self._closing.aclose()

    @property
    def executors(self) -> Sequence[BatchExecutor[Work[Any]]]:
        return self._writer, *self._readers

    def bytes_on_disk(self) -> Mapping[str, int]:
        return {"database": size_of(self._path), "wal": size_of(Path(f"{self._path}-wal"))}

    def _read_batch(self, reader: APSWDatabase, items: Sequence[WorkItem[Work[Any]]]) -> None:
        try:
            reader.execute_sql("BEGIN")
            for item in filter(WorkItem.claim, items):
                try:
                    item.result = item.work(Transaction(reader, DIALECT, self._clock, self.ids))
                except Exception as error:  # noqa: BLE001 - each caller gets its own
                    item.error = client_error(error)
            reader.execute_sql("COMMIT")
        except Exception as error:  # noqa: BLE001 - nobody was answered
            _fail_all(reader, items, error, Unavailable)

    def _write_batch(self, writer: APSWDatabase, items: Sequence[WorkItem[Work[Any]]]) -> None:
        if self._failed:
            for item in items:
                item.error = Unavailable()
            return
        notified: set[str] = set()
        try:
            writer.execute_sql("BEGIN IMMEDIATE")
            for item in filter(WorkItem.claim, items):
                notified |= self._write_one(writer, item)
            self._commit(writer)
            self._notifications.notify(notified)
        except Exception as error:  # noqa: BLE001 - nobody was acknowledged
            self._cache.clear()
            # Of a commit that could not be synced nobody knows whether it stands.
            _fail_all(writer, items, error, Internal if self._failed else Unavailable)

    def _commit(self, writer: APSWDatabase) -> None:
        began = time.perf_counter()
        try:
            writer.execute_sql("COMMIT")
        except OperationalError as error:
            if isinstance(error.__context__, apsw.IOError):
                self._failed = True
                log.critical(
                    "a commit could not be synced; nothing more is written until a restart"
                )
            raise
        self._writer.stats.committed(time.perf_counter() - began)

    def _write_one(self, writer: APSWDatabase, item: WorkItem[Work[Any]]) -> set[str]:
        """Does one caller's work, and returns the accounts of which there is news."""
        writer.execute_sql("SAVEPOINT request")
        tx = Transaction(writer, DIALECT, self._clock, self.ids, self._cache)
        try:
            item.result = item.work(tx)
        except Exception as error:
            # A full disk or a failed read makes SQLite roll back the whole
            # transaction by itself; then nothing of the batch stands.
            if writer.connection().getautocommit():
                raise
            writer.execute_sql("ROLLBACK TO request")
            self._cache.clear()
            tx.accounts_to_notify.clear()
            item.error = client_error(error)
        writer.execute_sql("RELEASE request")
        return tx.accounts_to_notify


def _bring_up_to_date(path: Path, interrupted_by: InterruptedBy) -> None:
    database = connect(path)
    prepare(database)
    interrupted_by(database.connection().interrupt)
    try:
        migrate(database)
    finally:
        database.close()


def _connect(database: APSWDatabase) -> None:
    try:
        database.connect()
    except PeeweeException as error:
        raise unusable(database.database, error) from error


def client_error(error: Exception) -> Exception:
    """Returns what a caller is told of an error: its own words, or that the store failed."""
    if not isinstance(error, (OperationalError, apsw.Error)):
        return error
    if isinstance(error, apsw.ConstraintError):
        return error
    log.error("a statement failed", exc_info=error)
    return Unavailable()


def _fail_all(
    database: APSWDatabase,
    items: Sequence[WorkItem[Work[Any]]],
    error: Exception,
    notified: type[RosterError],
) -> None:
    log.error("a batch of %d was rolled back", len(items), exc_info=error)
    if not database.connection().getautocommit():
        database.rollback()
    for item in items:
        item.result = None
        item.error = notified()
