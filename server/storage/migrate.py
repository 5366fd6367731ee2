"""Migrates a database to the current schema.

Migrations are numbered files in `migrations/`, frozen once released, each run in
a transaction that also records it. A database with an unknown migration was written
by a newer version and is rejected.
"""

from __future__ import annotations

import logging
from graphlib import TopologicalSorter
from pathlib import Path

from peewee import Database, PeeweeException
from playhouse.migrations import MigrationError, Runner

from .database import AcceptKey, StorageError
from .installation import SECRET_KEY, Installation

log = logging.getLogger(__name__)

DIRECTORY = Path(__file__).parent / "migrations"
# The table of applied migrations.
HISTORY = "schema_migration"


def newest() -> int:
    """Returns the number of the newest migration."""
    return max(int(file.name[:4]) for file in DIRECTORY.glob("[0-9]*.py"))


def pending(database: Database, folder: Path | None = None) -> list[str]:
    """Returns the names of the migrations in a folder that are not applied yet.

    Raises StorageError if the schema is newer than this version.
    """
    status = Runner(database, str(folder or DIRECTORY)).status()
    unknown = [migration.name for migration in status if migration.path is None]
    if unknown:
        raise StorageError(
            f"The database schema is newer than this version of Roster: unknown migrations"
            f" {', '.join(unknown)}. Run the version that applied them, or a later one."
        )
    return [migration.name for migration in status if migration.applied is None]


def check_created(database: Database, name: object) -> None:
    """Raises StorageError, with `name` in its message, if the database has no Roster tables."""
    if not database.table_exists(HISTORY):
        raise StorageError(f"{name} has no Roster database. Run `roster migrate` to create it.")


def check_current(database: Database, name: object) -> None:
    """Raises StorageError, with `name` in its message, unless the schema is current."""
    check_created(database, name)
    missing = pending(database)
    if missing:
        raise _outdated(name, missing)


def _outdated(name: object, missing: list[str]) -> StorageError:
    return StorageError(
        f"The schema of {name} is out of date: missing {', '.join(missing)}. Run `roster migrate`."
    )


def migrate(
    database: Database, folder: Path | None = None, accept_key: AcceptKey | None = None
) -> list[str]:
    """Applies pending migrations and returns their names. The caller holds the migration lock.

    A database that was served is migrated only if `accept_key` accepts its secret key. Otherwise
    neither this version, without the key, nor the previous one could serve it.
    """
    try:
        is_new = not database.table_exists(HISTORY)
        names = pending(database, folder)
        if not names:
            return []
        fingerprint = _key_fingerprint(database)
        if fingerprint is not None:
            if accept_key is None:
                raise _outdated("the database", names)
            accept_key(fingerprint)
        if is_new:
            log.info("creating the tables of a new database")
        else:
            log.info("applying schema migrations %s", ", ".join(names))
        applied: list[str] = Runner(database, str(folder or DIRECTORY)).up()
    except (PeeweeException, MigrationError) as error:
        reason = " ".join(str(error).split())
        raise StorageError(f"The schema migration failed: {reason}") from error
    return applied


def _key_fingerprint(database: Database) -> str | None:
    if not database.table_exists(Installation._meta.table_name):
        return None
    query = Installation.select(Installation.value).where(Installation.name == SECRET_KEY)
    value: str | None = query.bind(database).scalar()
    return value


def tables_in_dependency_order(database: Database) -> list[str]:
    """Returns all tables except the migration history, referenced tables first."""
    links = {
        table: {link.dest_table for link in database.get_foreign_keys(table)}
        for table in sorted(database.get_tables())
        if table != HISTORY
    }
    return list(TopologicalSorter(links).static_order())


def applied_at(database: Database, name: str) -> int | None:
    """Returns the time of a migration in milliseconds since 1970, or None if it is pending."""
    applied = Runner(database, str(DIRECTORY)).applied().get(name)
    return None if applied is None else int(applied.timestamp() * 1000)
