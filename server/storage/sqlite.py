"""The embedded database: one SQLite file, one writer, group commit.

Every connection uses write-ahead logging with synchronous=FULL, so a commit is
on the disk before anyone is told of it. Writes go through one lane. Whatever
queued while the last commit was being synced is the next transaction: BEGIN
IMMEDIATE, a savepoint around each caller's work, one COMMIT, then all answers. A
caller whose work fails is rolled back to its savepoint and the others stand; if
the commit fails nobody is acknowledged.

Reads go to reader lanes with connections of their own; a batch of reads shares
one snapshot, taken after the youngest of them was asked for.

One serving process owns a file, which a lock on `<file>.lock` shows. The short
writes of the command line go beside it and wait for each other by the busy
time-out. SQLite comes with apsw: a second SQLite library in the same process
would break the file's locks.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import apsw
from peewee import OperationalError, PeeweeException
from playhouse.apsw_ext import APSWDatabase

from ..clock import Clock, system_clock
from ..errors import Unavailable
from ..ids import Ids
from .database import Result, StorageError, Work
from .lane import Job, Lane
from .migrate import migrate
from .statements import SqliteDialect
from .transaction import Transaction

log = logging.getLogger(__name__)

# How long a writer waits for another process's transaction.
BUSY_SECONDS = 5.0
# Reads go to the first lane whose queue is short: two threads that vie for the
# interpreter do a quarter less than one, and the second is there for when the
# first is held up by something long.
READERS = 2
SHORT_QUEUE = 64
# Prepared statements kept by each connection; there are fewer in the code.
CACHED_STATEMENTS = 300

_DIALECT = SqliteDialect()


def connect(path: Path, *, read_only: bool = False) -> APSWDatabase:
    """Returns a Peewee database on the file. Each thread that uses it gets its own connection."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else 0
    if not read_only:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    return _Connections(
        str(path),
        timeout=BUSY_SECONDS,
        flags=flags,
        statementcachesize=CACHED_STATEMENTS,
        pragmas={"synchronous": "full", "foreign_keys": 1, "temp_store": "memory"},
    )


class _Connections(APSWDatabase):  # type: ignore[misc]
    """Binds what SQLite has no type for, such as the migration history's datetime, as text."""

    def _add_conn_hooks(self, conn: apsw.Connection) -> None:
        conn.convert_binding = lambda _cursor, _number, value: str(value)
        super()._add_conn_hooks(conn)


def make_folder(path: Path) -> None:
    """Makes the folder of a database file. Raises StorageError if it cannot be made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{path.parent} cannot be made: {error.strerror}.") from error


def prepare(database: APSWDatabase) -> None:
    """Puts the file into write-ahead logging. Raises StorageError if it is no writable database."""
    try:
        database.connect()
        (mode,) = database.execute_sql("PRAGMA journal_mode = wal").fetchone()
        # A file that is in that mode already may be locked, and is opened for
        # reading only, without a word, where it may not be written.
        database.execute_sql("BEGIN IMMEDIATE")
        database.rollback()
        if database.connection().readonly("main"):
            raise StorageError(_read_only(database.database))
    except PeeweeException as error:
        database.close()
        raise _unusable(database.database, error) from error
    except StorageError:
        database.close()
        raise
    if mode != "wal":
        raise StorageError(f"{database.database} cannot be written with a write-ahead log.")


def _read_only(path: str) -> str:
    return f"{path} is read-only; the file and its folder have to be writable."


def _unusable(path: str, error: Exception) -> StorageError:
    cause = error.__cause__ or error.__context__
    if isinstance(cause, apsw.ReadOnlyError) or not os.access(Path(path).parent, os.W_OK):
        return StorageError(_read_only(path))
    if isinstance(cause, (apsw.NotADBError, apsw.CorruptError)):
        return StorageError(
            f"{path} is damaged or is no SQLite database; restore it from a backup."
        )
    if isinstance(cause, (apsw.BusyError, apsw.LockedError)):
        return StorageError(f"{path} is locked by another program.")
    return StorageError(f"{path} cannot be opened: {error}")


class FileLock:
    """Shows that a process owns a database file. The lock ends with the process."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._file: int | None = None

    def acquire(self) -> None:
        """Takes the lock. Raises StorageError, naming the owner, if another process has it."""
        try:
            handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(f"{self._path} cannot be written: {error.strerror}.") from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            os.close(handle)
            database = self._path.with_suffix("")
            raise StorageError(
                f"{database} is already served by process {owner}. One process serves a file."
            ) from None
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        self._file = handle

    def release(self) -> None:
        """Lets go of the lock, if it is held."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


@contextmanager
def transaction(
    database: APSWDatabase, clock: Clock = system_clock, *, read_only: bool = False
) -> Iterator[Transaction]:
    """Runs a block as one transaction of its own, as the command line does."""
    database.execute_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")
    try:
        yield Transaction(database, _DIALECT, clock, Ids(clock))
    except BaseException:
        database.rollback()
        raise
    database.execute_sql("COMMIT")


class SqliteDatabase:
    """Serves one SQLite file. See `Database` for what the methods promise."""

    def __init__(self, path: Path, *, clock: Clock = system_clock) -> None:
        self._path = path
        self._clock = clock
        self._lock = FileLock(path)
        # Set once a commit could not be synced. What the disk holds then is not
        # known, and a second sync may say that all is well when it is not.
        self._failed = False
        self.ids = Ids(clock)

    async def open(self) -> None:
        async with AsyncExitStack() as stack:
            self._lock.acquire()
            stack.callback(self._lock.release)
            self._writer = self._writing_lane()
            await self._writer.open()
            stack.push_async_callback(self._writer.close)
            self._readers = [self._reading_lane(number) for number in range(READERS)]
            for lane in self._readers:
                await lane.open()
                stack.push_async_callback(lane.close)
            self._closing = stack.pop_all()

    def _writing_lane(self) -> Lane[Work[Any]]:
        writer = connect(self._path)
        return Lane(
            "writer",
            start=lambda: _bring_up_to_date(writer),
            run_batch=lambda jobs: self._write_batch(writer, jobs),
            stop=writer.close,
        )

    def _reading_lane(self, number: int) -> Lane[Work[Any]]:
        reader = connect(self._path, read_only=True)
        return Lane(
            f"reader-{number}",
            start=lambda: _connect(reader),
            run_batch=lambda jobs: self._read_batch(reader, jobs),
            stop=reader.close,
        )

    async def read(self, work: Work[Result]) -> Result:
        first, *others = self._readers
        lane = first
        if first.waiting >= SHORT_QUEUE:
            lane = min(others, key=lambda lane: lane.waiting)
        return await lane.run(work)  # type: ignore[no-any-return]

    async def write(self, work: Work[Result]) -> Result:
        if self._failed:
            raise Unavailable
        return await self._writer.run(work)  # type: ignore[no-any-return]

    async def close(self) -> None:
        await self._closing.aclose()

    def _read_batch(self, reader: APSWDatabase, jobs: Sequence[Job[Work[Any]]]) -> None:
        try:
            reader.execute_sql("BEGIN")
            for job in filter(Job.claim, jobs):
                try:
                    job.result = job.work(self._transaction(reader))
                except Exception as error:  # noqa: BLE001 - each caller gets its own
                    job.error = _told(error)
            reader.execute_sql("COMMIT")
        except Exception as error:  # noqa: BLE001 - nobody was answered
            _fail_all(reader, jobs, error)

    def _write_batch(self, writer: APSWDatabase, jobs: Sequence[Job[Work[Any]]]) -> None:
        try:
            writer.execute_sql("BEGIN IMMEDIATE")
            for job in filter(Job.claim, jobs):
                self._write_one(writer, job)
            self._commit(writer)
        except Exception as error:  # noqa: BLE001 - nobody was acknowledged
            _fail_all(writer, jobs, error)

    def _commit(self, writer: APSWDatabase) -> None:
        try:
            writer.execute_sql("COMMIT")
        except OperationalError as error:
            if isinstance(error.__context__, apsw.IOError):
                self._failed = True
                log.critical(
                    "a commit could not be synced; nothing more is written until a restart"
                )
            raise

    def _write_one(self, writer: APSWDatabase, job: Job[Work[Any]]) -> None:
        writer.execute_sql("SAVEPOINT request")
        try:
            job.result = job.work(self._transaction(writer))
        except Exception as error:
            # A full disk or a failed read makes SQLite roll back the whole
            # transaction by itself; then nothing of the batch stands.
            if writer.connection().getautocommit():
                raise
            writer.execute_sql("ROLLBACK TO request")
            job.error = _told(error)
        writer.execute_sql("RELEASE request")

    def _transaction(self, database: APSWDatabase) -> Transaction:
        return Transaction(database, _DIALECT, self._clock, self.ids)


def _bring_up_to_date(writer: APSWDatabase) -> None:
    prepare(writer)
    try:
        migrate(writer)
    except StorageError:
        writer.close()
        raise


def _connect(database: APSWDatabase) -> None:
    database.connect()


def _told(error: Exception) -> Exception:
    """Returns what a caller is told of an error: its own words, or that the store failed."""
    if not isinstance(error, (OperationalError, apsw.Error)):
        return error
    if isinstance(error, apsw.ConstraintError):
        return error
    log.error("a statement failed", exc_info=error)
    return Unavailable()


def _fail_all(database: APSWDatabase, jobs: Sequence[Job[Work[Any]]], error: Exception) -> None:
    log.error("a batch of %d was rolled back", len(jobs), exc_info=error)
    if not database.connection().getautocommit():
        database.rollback()
    for job in jobs:
        job.result = None
        job.error = Unavailable()
