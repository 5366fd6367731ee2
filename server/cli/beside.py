"""Short transactions of the command line, beside a service that may be running."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from peewee import PeeweeException

from ..config import parse_database_url
from ..storage import migrate
from ..storage.database import StorageError
from ..storage.sqlite_file import FileLock, connect, make_folder, prepare, transaction
from ..storage.transaction import Transaction


def bring_up_to_date(database_url: str) -> list[str]:
    """Migrates the database, and returns what was applied.

    Only a database that lacks something is locked; while an older service is
    running on it, this raises StorageError.
    """
    path = parse_database_url(database_url)
    make_folder(path)
    database = connect(path)
    prepare(database)
    try:
        if not migrate.pending(database):
            return []
        lock = FileLock(path)
        lock.acquire()
        try:
            return migrate.migrate(database)
        finally:
            lock.release()
    finally:
        database.close()


@contextmanager
def unit_of_work(database_url: str, *, read_only: bool = False) -> Iterator[Transaction]:
    """Runs a block as one transaction on a database of the current schema."""
    bring_up_to_date(database_url)
    database = connect(parse_database_url(database_url))
    try:
        with transaction(database, read_only=read_only) as tx:
            yield tx
    except PeeweeException as error:
        raise StorageError(f"The database did not take it: {error}") from error
    finally:
        database.close()
