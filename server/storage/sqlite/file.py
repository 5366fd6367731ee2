"""Opens and locks SQLite files, and explains why a file cannot be used.

Every connection uses a write-ahead log with synchronous=FULL. One server process owns a
file by a lock on `<file>.lock`. Short writes of the command line need no such lock; they
wait for other writers up to the busy timeout. Only apsw is used: a second SQLite library
in the process would break the file's locks.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw
from peewee import PeeweeException
from playhouse.apsw_ext import APSWDatabase

from ...values.clock import Clock, system_clock
from ...values.ids import Ids
from ..database import StorageError
from ..dialects import SqliteDialect
from ..schema_version import PROGRAM_VERSION, check_version
from ..transaction import Transaction

# The busy timeout: how long a writer waits for another process's transaction.
BUSY_SECONDS = 5.0
# The settings of every connection.
PRAGMAS = {
    "synchronous": "full",
    "foreign_keys": 1,
    "temp_store": "memory",
    # Overwrites deleted rows, so that a deleted address is not left in the file.
    "secure_delete": 1,
}
# Maximum prepared statements per connection. The code has fewer, so that none is evicted.
CACHED_STATEMENTS = 300

DIALECT = SqliteDialect()

# The memory statistics of SQLite use one mutex, for which threads wait at each allocation. With
# them, two threads that count a total take up to three times as long (`make bench-scale`). SQLite
# accepts the setting only while no connection is open.
apsw.shutdown()
apsw.config(apsw.SQLITE_CONFIG_MEMSTATUS, 0)
apsw.initialize()


def connect(path: Path, *, read_only: bool = False) -> APSWDatabase:
    """Returns a Peewee database on the file. Each thread that uses it gets its own connection."""
    flags = apsw.SQLITE_OPEN_READONLY if read_only else 0
    if not read_only:
        _create(path)
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
    return _Connections(
        str(path),
        timeout=BUSY_SECONDS,
        flags=flags,
        statementcachesize=CACHED_STATEMENTS,
        pragmas=PRAGMAS,
    )


def files_folder(path: Path) -> Path:
    """Returns the folder for the large files of a database, next to its file."""
    return path.absolute().parent / "files" / path.name


def _create(path: Path) -> None:
    """Creates an empty file with mode 0600. Errors are reported when it is opened."""
    with suppress(OSError):
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))


class _Connections(APSWDatabase):  # type: ignore[misc]
    """Binds what SQLite has no type for, such as the migration history's datetime, as text."""

    def _add_conn_hooks(self, conn: apsw.Connection) -> None:
        # Otherwise SQLite plans some statements, such as joins, again for each execution, because
        # the values could change the plan. That takes most of their time (`make bench`).
        conn.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        conn.convert_binding = lambda _cursor, _number, value: str(value)
        super()._add_conn_hooks(conn)


def make_folder(path: Path) -> None:
    """Creates the directory of a database file with mode 0700. Raises StorageError on failure.

    An existing directory keeps its mode, because other programs can use it too.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"The directory {path.parent} cannot be created: {error.strerror}."
        ) from error


def prepare(database: APSWDatabase) -> None:
    """Enables the write-ahead log. Raises StorageError if the file is no writable database."""
    try:
        database.connect()
        (mode,) = database.execute_sql("PRAGMA journal_mode = wal").fetchone()
        # If the log is already enabled, this detects a lock and a read-only file, which
        # SQLite opens without an error.
        database.execute_sql("BEGIN IMMEDIATE")
        database.rollback()
        if database.connection().readonly("main"):
            raise StorageError(_read_only(database.database))
    except PeeweeException as error:
        database.close()
        raise unusable(database.database, error) from error
    except StorageError:
        database.close()
        raise
    if mode != "wal":
        raise StorageError(
            f"{database.database} does not support a write-ahead log. Use a local file system."
        )


def _read_only(path: str) -> str:
    return f"{path} is read-only. The file and its directory must be writable."


def unusable(path: str, error: Exception) -> StorageError:
    cause = error if isinstance(error, apsw.Error) else error.__cause__ or error.__context__
    if isinstance(cause, apsw.ReadOnlyError) or not os.access(Path(path).parent, os.W_OK):
        return StorageError(_read_only(path))
    if is_damage(error):
        return StorageError(
            f"{path} is damaged or not a SQLite database. Restore it from a backup: stop the"
            " service, then run `roster restore BACKUP`."
        )
    if isinstance(cause, (apsw.BusyError, apsw.LockedError)):
        return StorageError(f"{path} is locked by another program.")
    return StorageError(f"{path} cannot be used: {error}")


def is_damage(error: BaseException) -> bool:
    """Whether an error of SQLite or Peewee means that the content of the file is damaged."""
    return _is_any(error, apsw.NotADBError, apsw.CorruptError)


def is_full(error: BaseException) -> bool:
    """Whether an error of SQLite or Peewee means that the disk is full."""
    return _is_any(error, apsw.FullError)


def _is_any(error: BaseException, *types: type[apsw.Error]) -> bool:
    return any(isinstance(each, types) for each in (error, error.__cause__, error.__context__))


@contextmanager
def reports_damage(path: Path) -> Iterator[None]:
    """Raises StorageError if a statement in the block finds that the file is damaged."""
    try:
        yield
    except (PeeweeException, apsw.Error) as error:
        if is_damage(error):
            raise unusable(str(path), error) from error
        raise


def check_exists(path: Path) -> None:
    """Raises StorageError if there is no file at the path of a database."""
    if not path.is_file():
        raise StorageError(f"There is no database {path.absolute()}.")


@contextmanager
def open_existing(path: Path, *, read_only: bool = False) -> Iterator[APSWDatabase]:
    """Opens a database file for the length of a block. Raises StorageError if there is none."""
    check_exists(path)
    with closing(connect(path, read_only=read_only)) as database:
        try:
            database.connect()
            yield database
        except (PeeweeException, apsw.Error) as error:
            raise unusable(database.database, error) from error


def size_of(path: Path) -> int:
    """Returns the size of a file in bytes, or 0 if it does not exist."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


@contextmanager
def file_lock(path: Path) -> Iterator[None]:
    """Marks a database file as owned by this process for the length of a block.

    Raises StorageError, naming the owner, if another process has the lock.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(f"{lock} cannot be written: {error.strerror}.") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            raise StorageError(
                f"{path} is already served by process {owner}. Only one process can serve it."
            ) from None
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)


@contextmanager
def transaction(
    path: Path, clock: Clock = system_clock, *, read_only: bool = False
) -> Iterator[Transaction]:
    """Runs a block as one transaction on a new connection, for the command line.

    Raises SchemaTooNew if the file requires a later version of the program to write.
    """
    with closing(connect(path, read_only=read_only)) as database:
        database.execute_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")
        try:
            if not read_only:
                check_version(database, PROGRAM_VERSION)
            yield Transaction(database, DIALECT, clock, Ids(clock))
        except BaseException:
            database.rollback()
            raise
        database.execute_sql("COMMIT")
