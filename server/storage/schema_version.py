"""Decides which versions of the program can use a database.

The version of a program is the number of its last migration. A database stores the number of the
last migration that was applied, and its minimum version, which is that of the last contracting
one (see `migrate.py`). A program uses a newer schema if it has the minimum version.

The minimum version also holds for programs that are running when it is raised. On PostgreSQL, a
transaction that writes takes the write lock in shared mode and then reads the minimum version,
both in the text that sends BEGIN. A contracting migration holds the lock in exclusive mode, so
that no older program commits afterwards. On a Citus cluster the lock and the table are on the
coordinator. On SQLite, one process serves a file, and short writes of the command line read the
minimum version in their transaction.
"""

from __future__ import annotations

from pathlib import Path

from peewee import Database

from .database import SchemaTooNew

DIRECTORY = Path(__file__).parent / "migrations"
TABLE = "schema_version"
READ_MINIMUM = f"SELECT minimum_version FROM {TABLE}"  # noqa: S608 - a name of this module
# The key of the write lock: arbitrary, but the same in all versions.
_WRITE_LOCK = 5_902_118_374_460_913_275
SHARE_WRITES = f"pg_advisory_xact_lock_shared({_WRITE_LOCK})"
EXCLUDE_WRITES = f"pg_advisory_xact_lock({_WRITE_LOCK})"


def number_of(migration: str) -> int:
    """Returns the number that the name of a migration begins with."""
    return int(migration[:4])


def version_of(folder: Path) -> int:
    """Returns the version of a program with the migrations in a folder."""
    return max(number_of(file.name) for file in folder.glob("[0-9]*.py"))


PROGRAM_VERSION = version_of(DIRECTORY)


def create_table(database: Database) -> None:
    """Creates the table, with its row, unless it exists."""
    columns = "version INTEGER NOT NULL, minimum_version INTEGER NOT NULL"
    database.execute_sql(f"CREATE TABLE IF NOT EXISTS {TABLE} ({columns})")
    row = f"INSERT INTO {TABLE} SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM {TABLE})"  # noqa: S608 - likewise
    database.execute_sql(row)


def check_version(database: Database, version: int) -> None:
    """Raises SchemaTooNew if a program of this version must not use the database."""
    if database.table_exists(TABLE):
        check_minimum(database.execute_sql(READ_MINIMUM).fetchone()[0], version)


def check_minimum(minimum: int, version: int) -> None:
    """Raises SchemaTooNew if a program of this version is below a minimum version."""
    if version < minimum:
        raise SchemaTooNew(
            f"The database requires a program of schema version {minimum} or later, and this one"
            f" has {version}. Run the release of Roster that migrated it, or a later one."
        )
