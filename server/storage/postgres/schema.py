"""Migrates a PostgreSQL database while it holds the schema lock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from playhouse.postgres_ext import Psycopg3Database

from ..database import AcceptKey, StorageError
from ..migrate import migrate, pending

# How long a process waits for the migrations of another process.
MIGRATION_SECONDS = 120

_SCHEMA_LOCK = 4_820_031_706_515_117_221


def bring_up_to_date(
    database: Psycopg3Database, folder: Path | None = None, accept_key: AcceptKey | None = None
) -> list[str]:
    """Migrates an open database, as `migrate.migrate`, and returns the applied migrations.

    If several processes start at the same time, one migrates and the others wait. `folder`
    contains the migrations; the default is those of this version.
    """
    if not pending(database, folder):
        return []
    with schema_lock(database):
        return migrate(database, folder, accept_key)


@contextmanager
def schema_lock(database: Psycopg3Database) -> Iterator[None]:
    """Holds the schema lock during a block, without statement timeout.

    Waits until other processes have released the lock.
    """
    connection = database.connection()
    try:
        connection.execute("SET statement_timeout = 0")
        connection.execute(f"SET lock_timeout = '{MIGRATION_SECONDS}s'")
        connection.execute(f"SELECT pg_advisory_lock({_SCHEMA_LOCK})")
        yield
    except psycopg.errors.LockNotAvailable as error:
        raise StorageError(
            f"Another process is still migrating after {MIGRATION_SECONDS} seconds. Wait for it to"
            " finish, then try again."
        ) from error
    finally:
        # The end of the session releases the lock and resets the settings.
        database.close()
        database.connect()
