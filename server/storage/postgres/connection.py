"""A PostgreSQL database: connecting to it, saying why it cannot be used, its schema.

Every connection asks for the same: UTF-8, waits that end, and commits that are on the
disk before they are told. What it finds otherwise it refuses. Texts are compared byte
by byte, as SQLite does, whatever language the database was made for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from peewee import Model, PeeweeException
from playhouse.postgres_ext import Psycopg3Database
from psycopg.conninfo import conninfo_to_dict

from ...clock import Clock, system_clock
from ...ids import Ids
from ..database import StorageError
from ..migrate import migrate, pending
from ..transaction import Transaction
from .transaction import (
    OutcomeUnknown,
    WriteTransaction,
    begin_reading,
    driver_error,
    reading,
    undo,
)

log = logging.getLogger(__name__)

OLDEST_VERSION = 14
CONNECT_SECONDS = 3
# How long a statement may take, and how much of that it may wait for a lock.
STATEMENT_SECONDS = 15
LOCK_SECONDS = 5
# How long the migrations of another process are waited for.
MIGRATION_SECONDS = 120
# Prepared statements kept by each connection; there are fewer in the code.
PREPARED_STATEMENTS = 500

_MIGRATIONS = 4_820_031_706_515_117_221
_FACTS = """
SELECT current_setting('server_version_num')::int / 10000, current_setting('server_encoding'),
    current_setting('synchronous_commit'), pg_is_in_recovery()
"""


def connect(url: str) -> Psycopg3Database:
    """Returns a Peewee database. Each thread that uses it gets its own connection."""
    return _Connections(url)


class _Connections(Psycopg3Database):  # type: ignore[misc]
    field_types = Psycopg3Database.field_types | {"TEXT": 'TEXT COLLATE "C"'}

    def __init__(self, url: str) -> None:
        super().__init__("roster")
        self._url = url

    def create_tables(self, models: Sequence[type[Model]], **options: Any) -> None:
        """Creates tables in the order given: what a table refers to has to be there before it."""
        for model in models:
            # SQLite alone has tables without a row id.
            on_sqlite, model._meta.without_rowid = model._meta.without_rowid, False
            try:
                super().create_tables([model], **options)
            finally:
                model._meta.without_rowid = on_sqlite

    def _connect(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(**parameters(self._url), autocommit=True, prepare_threshold=0)
        try:
            connection.prepared_max = PREPARED_STATEMENTS
            _check(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def parameters(url: str) -> dict[str, Any]:
    """Returns what to connect with: what Roster asks for, and over that what the URL says."""
    given = conninfo_to_dict(url)
    options = (
        f"-c statement_timeout={STATEMENT_SECONDS}s -c lock_timeout={LOCK_SECONDS}s"
        f" -c idle_in_transaction_session_timeout={STATEMENT_SECONDS}s"
        # A plan that suits an account of usual size may take for ever on a large one.
        " -c plan_cache_mode=force_custom_plan"
    )
    return {
        "application_name": "roster",
        "connect_timeout": CONNECT_SECONDS,
        # A server that is gone without a word is noticed within half a minute.
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": STATEMENT_SECONDS * 1000,
        **given,
        "client_encoding": "UTF8",
        "options": f"{options} {given.get('options', '')}".rstrip(),
    }


def _check(connection: psycopg.Connection[Any]) -> None:
    """Raises StorageError if what is written here would not be safe."""
    row = connection.execute(_FACTS, prepare=False).fetchone()
    assert row is not None
    version, encoding, synchronous_commit, is_standby = row
    if version < OLDEST_VERSION:
        raise StorageError(
            f"The database is PostgreSQL {version}; version {OLDEST_VERSION} or later is needed."
        )
    if encoding != "UTF8":
        raise StorageError(
            f"The database has the encoding {encoding}. Make one with ENCODING 'UTF8'."
        )
    if synchronous_commit == "off":
        raise StorageError(
            "The database has synchronous_commit = off: what it acknowledges may be lost. Set it"
            " to on, for instance by ALTER DATABASE ... SET synchronous_commit = on."
        )
    if is_standby:
        raise StorageError("The database is a standby, which cannot be written; name the primary.")


def unusable(error: BaseException) -> StorageError:
    """Returns why a database cannot be used, in one line."""
    cause = driver_error(error) or error
    return StorageError(f"The database cannot be used: {' '.join(str(cause).split())}")


@contextmanager
def opened(url: str) -> Iterator[Psycopg3Database]:
    """Connects for the length of a block. Raises StorageError if the database cannot be used."""
    database = connect(url)
    try:
        database.connect()
        yield database
    except (psycopg.Error, PeeweeException) as error:
        raise unusable(error) from error
    finally:
        database.close()


def warn_of_danger(database: Psycopg3Database) -> None:
    """Says in the log if a crash of the server's machine would do harm."""
    if database.execute_sql("SHOW fsync").fetchone() == ("off",):
        log.warning("the database has fsync = off: a crash of its machine may damage it")


def bring_up_to_date(database: Psycopg3Database) -> list[str]:
    """Migrates a database that is open, and returns what was applied.

    Of processes that start at the same time one migrates and the others wait.
    """
    if not pending(database):
        return []
    with schema_lock(database):
        return migrate(database)


@contextmanager
def schema_lock(database: Psycopg3Database) -> Iterator[None]:
    """Keeps other processes from changing the schema for the length of a block.

    What they began is waited for. A statement of the block may take as long as it needs.
    """
    connection = database.connection()
    try:
        connection.execute("SET statement_timeout = 0")
        connection.execute(f"SET lock_timeout = '{MIGRATION_SECONDS}s'")
        connection.execute(f"SELECT pg_advisory_lock({_MIGRATIONS})")
        yield
    except psycopg.errors.LockNotAvailable as error:
        raise StorageError("Another process has been migrating for too long.") from error
    finally:
        # With it end the lock and the settings.
        database.close()
        database.connect()


@contextmanager
def transaction(
    database: Psycopg3Database, clock: Clock = system_clock, *, read_only: bool = False
) -> Iterator[Transaction]:
    """Runs a block as one transaction, as the command line does. Raises StorageError."""
    ids = Ids(clock)
    try:
        if read_only:
            begin_reading(database)
            yield reading(database, clock, ids)
        else:
            tx = WriteTransaction(database, clock, ids)
            yield tx
            tx.commit()
    except OutcomeUnknown as error:
        raise StorageError(f"Nobody knows whether that was stored: {error}") from error
    except (psycopg.Error, PeeweeException) as error:
        raise unusable(error) from error
    finally:
        undo(database)
