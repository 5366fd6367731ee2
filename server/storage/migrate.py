"""Brings a database to the schema of this program.

Migrations are numbered files in `migrations/`, frozen once released, each run in
a transaction that also records it. A database that has a migration which this
program does not know was written by a newer one, and is refused.
"""

from __future__ import annotations

from pathlib import Path

from peewee import Database, PeeweeException
from playhouse.migrations import MigrationError, Runner

from .database import StorageError

DIRECTORY = Path(__file__).parent / "migrations"
# Where it is recorded what was applied.
HISTORY = "schema_migration"


def pending(database: Database) -> list[str]:
    """Returns the names of the migrations that the database lacks.

    Raises StorageError if its schema is newer than this program.
    """
    status = Runner(database, str(DIRECTORY)).status()
    unknown = [migration.name for migration in status if migration.path is None]
    if unknown:
        raise StorageError(
            f"The database has a newer schema ({', '.join(unknown)}) than this version of"
            " Roster knows. Run the version that wrote it, or a later one."
        )
    return [migration.name for migration in status if migration.applied is None]


def check_created(database: Database, name: object) -> None:
    """Raises StorageError, which names the database, if it has none of Roster's tables."""
    if not database.table_exists(HISTORY):
        raise StorageError(f"There is no Roster database at {name}.")


def check_current(database: Database, name: object) -> None:
    """Raises StorageError, which names the database, unless it has the schema of this program."""
    check_created(database, name)
    missing = pending(database)
    if missing:
        raise StorageError(
            f"The schema of {name} lacks {', '.join(missing)}. `roster migrate` brings it up to"
            " date."
        )


def migrate(database: Database) -> list[str]:
    """Applies what is pending and returns the names of it. Whoever calls holds the lock."""
    try:
        if not pending(database):
            return []
        applied: list[str] = Runner(database, str(DIRECTORY)).up()
    except (PeeweeException, MigrationError) as error:
        reason = " ".join(str(error).split())
        raise StorageError(f"The schema could not be brought up to date: {reason}") from error
    return applied
