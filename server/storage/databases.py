"""Opens databases by URL: for the server, and for short transactions of the command line.

The driver of PostgreSQL is an optional dependency, so its modules are imported when they are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from peewee import Database, PeeweeException

from ..config import Settings
from ..values.database_url import DatabaseLocation, PostgresUrl
from . import migrate
from .backfill import Progress, advance
from .database import AcceptKey, StorageError
from .sqlite.database import SqliteDatabase
from .sqlite.file import (
    connect,
    file_lock,
    make_folder,
    open_existing,
    prepare,
    reports_damage,
    transaction,
)
from .transaction import Transaction

if TYPE_CHECKING:
    from .citus.distribution import DistributedTable
    from .postgres.database import PostgresDatabase


def database_at(location: DatabaseLocation, connections: int) -> PostgresDatabase | SqliteDatabase:
    """Returns the database for a server to open."""
    if isinstance(location, PostgresUrl):
        from .citus.database import CitusDatabase

        return CitusDatabase(location.url, connections)
    make_folder(location)
    return SqliteDatabase(location)


def bring_up_to_date(
    database_url: str,
    accept_key: AcceptKey | None = None,
    *,
    contract: bool = False,
    report: migrate.Report = str,
) -> list[str]:
    """Migrates the database, as `migrate.migrate`, and returns what was applied.

    Locks the database only if migrations are pending. Raises StorageError if another
    process serves a SQLite file that needs them.
    """
    location = Settings.database_url.parse(database_url)
    if isinstance(location, PostgresUrl):
        from .citus import distribution

        with _server(location) as server:
            return distribution.bring_up_to_date(
                server, accept_key=accept_key, contract=contract, report=report
            )
    make_folder(location)
    with reports_damage(location), closing(connect(location)) as database:
        prepare(database)
        if not migrate.pending(database, contract=contract):
            return []
        with file_lock(location):
            return migrate.migrate(
                database, accept_key=accept_key, contract=contract, report=report
            )


def plan(database_url: str) -> list[migrate.Step]:
    """Returns the migrations that are not applied. Changes nothing.

    Raises StorageError if the database does not exist.
    """
    location = Settings.database_url.parse(database_url)
    with _existing(location) as database:
        migrate.check_created(database, location)
        return migrate.plan(database)


def finish_backfills(database_url: str) -> Iterator[Progress]:
    """Runs the backfills that are not finished, and yields the progress after each chunk."""
    location = Settings.database_url.parse(database_url)
    while True:
        with _transaction(location) as tx:
            progress = advance(tx.raw(), migrate.DIRECTORY)
        if progress is None:
            return
        yield progress


def distributed(
    database_url: str, *, allow_single_node: bool = False
) -> Iterator[DistributedTable]:
    """Distributes a database over a Citus cluster, and yields each finished table.

    Raises StorageError on failure.
    """
    location = Settings.database_url.parse(database_url)
    if not isinstance(location, PostgresUrl):
        raise StorageError(
            "A SQLite file cannot be distributed. Use a PostgreSQL database with Citus."
        )
    from .citus import distribution

    with _server(location) as server:
        yield from distribution.distribute(server, allow_single_node=allow_single_node)


@contextmanager
def unit_of_work(database_url: str, *, must_exist: bool = False) -> Iterator[Transaction]:
    """Runs a block as one transaction on a database.

    Creates a database that does not exist, unless `must_exist` is true. Raises StorageError, also
    if the database was served and its schema is not current.
    """
    location = Settings.database_url.parse(database_url)
    if must_exist:
        with _existing(location) as database:
            migrate.check_created(database, location)
    bring_up_to_date(database_url)
    with _transaction(location) as tx:
        yield tx


@contextmanager
def reading(database_url: str) -> Iterator[Transaction]:
    """Runs a block as one read-only transaction. Creates and migrates nothing.

    Raises StorageError if the database does not exist or its schema is not current.
    """
    with transactions(database_url) as begin, begin(read_only=True) as tx:
        yield tx


class Begin(Protocol):
    """Runs a block as a transaction of an open database."""

    def __call__(self, *, read_only: bool = False) -> AbstractContextManager[Transaction]: ...


@contextmanager
def transactions(database_url: str) -> Iterator[Begin]:
    """Opens a database for a block, which runs several transactions, also long ones.

    Creates and migrates nothing. Raises StorageError if the database does not exist or its schema
    is not current, and the errors of transactions.
    """
    location = Settings.database_url.parse(database_url)
    with _existing(location) as database:
        migrate.check_current(database, location)
        if isinstance(location, PostgresUrl):
            from .postgres import connection

            connection.remove_time_limits(database)
            yield partial(connection.transaction, database)
            return
    yield partial(_transaction, location)


def _existing(location: DatabaseLocation) -> AbstractContextManager[Database]:
    if isinstance(location, PostgresUrl):
        return _server(location)
    return open_existing(location)


def _server(location: PostgresUrl) -> AbstractContextManager[Database]:
    from .postgres.connection import open_database

    return open_database(location.url)


@contextmanager
def _transaction(location: DatabaseLocation, *, read_only: bool = False) -> Iterator[Transaction]:
    if isinstance(location, PostgresUrl):
        from .postgres import connection

        with _server(location) as server, connection.transaction(server) as tx:
            yield tx
        return
    try:
        with reports_damage(location), transaction(location, read_only=read_only) as tx:
            yield tx
    except PeeweeException as error:
        raise StorageError(f"The database operation failed: {error}") from error
