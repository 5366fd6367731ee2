"""What a SQLite file is, told without changing it: whether it is whole, and what it says of itself.

A backup has been read once from end to end when it is called one: SQLite's quick_check
sees that every table and index is a tree whose rows can be read, and foreign keys that
what belongs together is there. That index and table agree is not looked through, which
would take ten times as long; what writes an index writes its table in one transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw
from peewee import PeeweeException
from playhouse.apsw_ext import APSWDatabase

from ...clock import system_clock
from ...ids import Ids
from ..database import StorageError
from ..installation import key_fingerprint, unfinished_copy_of
from ..migrate import HISTORY, pending
from ..sqlite.file import DIALECT, check_exists, connect
from ..transaction import Transaction

# Steps of SQLite's between two looks at whether to go on: some milliseconds of its work.
STEPS = 100_000

# Called again and again while SQLite works; what it raises ends that.
Watch = Callable[[], None]


@contextmanager
def open_for_reading(path: Path, watch: Watch) -> Iterator[APSWDatabase]:
    """Opens a file to read it, watched. Raises StorageError if it cannot be, or not to its end."""

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
        return StorageError(f"{path} is damaged or is no SQLite database.")
    return StorageError(f"{path} cannot be read: {cause or error}.")


def identify(database: APSWDatabase, name: Path) -> str | None:
    """Returns the fingerprint of the secret key that an open database was written with, if any.

    Raises StorageError, which calls it by `name`, if it is none of Roster's, is of a newer
    schema than this program knows, or lacks a part of what it is to be a copy of.
    """
    tables = database.get_tables()
    if HISTORY not in tables:
        raise StorageError(f"{name} is no database of Roster's.")
    pending(database)
    if "installation" not in tables:
        return None
    tx = Transaction(database, DIALECT, system_clock, Ids(system_clock))
    original = unfinished_copy_of(tx)
    if original is not None:
        raise StorageError(f"{name} is an unfinished copy of {original}.")
    return key_fingerprint(tx)


def check(database: APSWDatabase, name: Path) -> None:
    """Reads an open database from end to end. Raises StorageError if something is wrong in it."""
    connection = database.connection()
    (first, *_) = connection.execute("PRAGMA quick_check").fetchall()
    if first != ("ok",):
        raise StorageError(f"{name} is damaged: {first[0]}.")
    for table, *_ in connection.execute("PRAGMA foreign_key_check"):
        raise StorageError(f"{name} is damaged: a row of {table} belongs to one that is missing.")
