"""Migrates a PostgreSQL database, and distributes it over a Citus cluster.

Both hold the schema lock. The tables that migrations add to a distributed database are
distributed after the last migration; after an interruption, the next start distributes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from playhouse.postgres_ext import Psycopg3Database
from psycopg import sql

from ..database import StorageError
from ..distribution import (
    DistributedTable,
    check_workers,
    distribute_tables,
    remaining_tables,
)
from ..migrate import migrate, pending
from .connection import PLANNING, without_services

# How long a process waits for the migrations of another process.
MIGRATION_SECONDS = 120

_SCHEMA_LOCK = 4_820_031_706_515_117_221


def bring_up_to_date(database: Psycopg3Database, folder: Path | None = None) -> list[str]:
    """Migrates an open database, and returns the applied migrations.

    If several processes start at the same time, one migrates and the others wait. `folder`
    contains the migrations; the default is those of this version.
    """
    if not pending(database, folder) and not _remaining(database):
        return []
    with schema_lock(database):
        if database.has_citus:
            # In parallel mode, a transaction that has read several shards cannot alter a table.
            database.execute_sql("SET citus.multi_shard_modify_mode = sequential")
        applied = migrate(database, folder)
        if _remaining(database):
            list(_distribute(database))
        return applied


def distribute(
    database: Psycopg3Database, *, allow_single_node: bool = False
) -> Iterator[DistributedTable]:
    """Distributes the remaining tables, and yields each table when its statement is committed.

    Raises StorageError if the database has no Citus or is in use, if a worker is missing or
    cannot be used, or if Citus rejects a table.
    """
    if not database.has_citus:
        raise StorageError(
            "The Citus extension is not installed in the database. Run CREATE EXTENSION citus"
            " in it as a superuser first, on every node."
        )
    with schema_lock(database), without_services(database):
        check_workers(database, allow_single_node=allow_single_node)
        yield from _distribute(database)


def _distribute(database: Psycopg3Database) -> Iterator[DistributedTable]:
    """Sets the planner of all nodes for this role, then distributes the remaining tables.

    Nodes do not inherit the settings of a connection to the coordinator. Citus sends a setting of
    a role to every node, also to those that are added later.
    """
    connection = database.connection()
    name = sql.Identifier(connection.info.dbname)
    for setting, value in PLANNING.items():
        change = sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} SET {} = {}")
        connection.execute(change.format(name, sql.Identifier(setting), sql.Literal(value)))
    yield from distribute_tables(database)


def _remaining(database: Psycopg3Database) -> list[str]:
    return remaining_tables(database) if database.has_citus else []


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
