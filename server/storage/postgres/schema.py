"""Migrates a PostgreSQL database while it holds the schema lock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playhouse.postgres_ext import Psycopg3Database

from ..database import AcceptKey, StorageError
from ..migrate import Report, migrate, pending

# How long a process waits for the migrations of another process, and between attempts, in seconds.
MIGRATION_SECONDS = 600
ATTEMPT_SECONDS = 0.2

_SCHEMA_LOCK = 4_820_031_706_515_117_221


def bring_up_to_date(
    database: Psycopg3Database,
    folder: Path | None = None,
    accept_key: AcceptKey | None = None,
    *,
    contract: bool = False,
    report: Report = str,
) -> list[str]:
    """Migrates an open database, as `migrate.migrate`, and returns the applied migrations.

    If several processes start at the same time, one migrates and the others wait. `folder`
    contains the migrations; the default is those of this version.
    """
    if not pending(database, folder, contract=contract):
        return []
    with schema_lock(database):
        return migrate(database, folder, accept_key, contract=contract, report=report)


@contextmanager
def schema_lock(database: Psycopg3Database) -> Iterator[None]:
    """Holds the schema lock during a block, without timeouts for statements and locks.

    Waits until other processes have released the lock. Raises StorageError if that takes too long.
    """
    connection, ends = database.connection(), time.monotonic() + MIGRATION_SECONDS
    try:
        connection.execute("SET statement_timeout = 0")
        connection.execute("SET lock_timeout = 0")
        # One that waited in the database would hold a snapshot, for which the build of an index
        # waits, so that neither ended. The pause is a statement, because that can be interrupted.
        while connection.execute(f"SELECT pg_try_advisory_lock({_SCHEMA_LOCK})").fetchone() != (
            True,
        ):
            if time.monotonic() > ends:
                raise StorageError(
                    f"Another process is still migrating after {MIGRATION_SECONDS} seconds. Wait"
                    " for it to finish, then try again."
                )
            connection.execute(f"SELECT pg_sleep({ATTEMPT_SECONDS})")
        yield
    finally:
        # The end of the session releases the lock and resets the settings.
        database.close()
        database.connect()
