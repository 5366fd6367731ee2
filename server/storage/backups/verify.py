"""Identifies and verifies SQLite files without changing them.

Verification reads the whole file: quick_check reads every row of every table and index, and
foreign_key_check finds missing rows. It does not compare indexes with tables, which takes
much longer; SQLite writes both in one transaction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
from peewee import PeeweeException
from playhouse.apsw_ext import APSWDatabase

from ...values.clock import system_clock
from ...values.ids import Ids
from ..database import StorageError
from ..installation import stored_keys, unfinished_copy_of
from ..migrate import HISTORY, pending
from ..sqlite.file import DIALECT, check_exists, connect
from ..transaction import Transaction

# Virtual machine steps between two calls of the progress handler: some milliseconds.
STEPS = 100_000

# Called regularly while SQLite works. An exception cancels the work.
Watch = Callable[[], None]


@contextmanager
def open_for_reading(path: Path, watch: Watch) -> Iterator[APSWDatabase]:
    """Opens a file read-only, with a progress handler. Raises StorageError if reading fails."""

    def keep_running() -> bool:
        watch()
        return False

    check_exists(path)
    with closing(connect(path, read_only=True)) as database:
        try:
            database.connect()
            database.connection().set_progress_handler(keep_running, STEPS)
            yield database
        except (PeeweeException, apsw.Error) as error:
            raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> StorageError:
    cause = error if isinstance(error, apsw.Error) else error.__cause__ or error.__context__
    if isinstance(cause, (apsw.NotADBError, apsw.CorruptError)):
        return StorageError(f"{path} is damaged or not a SQLite database.")
    return StorageError(f"{path} cannot be read: {cause or error}.")


def identify(database: APSWDatabase, name: Path) -> list[str]:
    """Returns the fingerprints of the secret keys that open a database, the newest first.

    Raises StorageError, with `name` in its message, if it is not a Roster database, its
    schema is newer than this version, or it is an unfinished copy.
    """
    tables = database.get_tables()
    if HISTORY not in tables:
        raise StorageError(f"{name} is not a Roster database.")
    pending(database)
    if "installation" not in tables:
        return []
    tx = Transaction(database, DIALECT, system_clock, Ids(system_clock))
    original = unfinished_copy_of(tx)
    if original is not None:
        raise StorageError(f"{name} is an unfinished copy of {original}.")
    return [keys.fingerprint for keys in stored_keys(tx)]


def file_errors(path: Path) -> list[str]:
    """Compares a file with its indexes, and returns its errors.

    Raises StorageError if it cannot be read. Takes longer than `check`.
    """
    with open_for_reading(path, lambda: None) as database:
        connection = database.connection()
        errors = [line for (line,) in connection.execute("PRAGMA integrity_check") if line != "ok"]
        missing = Counter(table for table, *_ in connection.execute("PRAGMA foreign_key_check"))
    return errors + [
        f"{count} rows of {table} reference missing rows" for table, count in missing.items()
    ]


def count_rows(path: Path) -> int:
    """Returns the number of rows in all tables. Raises StorageError if a file cannot be read."""
    with open_for_reading(path, lambda: None) as database:
        queries = [f'SELECT COUNT(*) FROM "{name}"' for name in database.get_tables()]  # noqa: S608
        return sum(database.execute_sql(query).fetchone()[0] for query in queries)


def check(database: APSWDatabase, name: Path) -> None:
    """Reads an open database completely. Raises StorageError if it is damaged."""
    connection = database.connection()
    (first, *_) = connection.execute("PRAGMA quick_check").fetchall()
    if first != ("ok",):
        raise StorageError(f"{name} is damaged: {first[0]}.")
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        raise StorageError(f"{name} is damaged: a row of {table} references a missing row.")
