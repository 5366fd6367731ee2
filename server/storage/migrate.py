"""Migrates a database to the current schema.

Migrations are numbered files in `migrations/`, frozen once released, each run in
a transaction that also records it. They either expand or contract the schema:

- An expanding migration adds what the programs of the previous release do not need, so that these
  can run at the same time.
- A contracting one removes what only they need. Its name begins with `contract` after the number,
  which becomes the minimum version (`schema_version.py`). At the end of the folder it is applied
  on request, or to a new database; an expanding migration after it, of a later release, is applied
  together with it.

A file defines one of these or both. None holds a lock for a time in proportion to the rows:

- `up(migrator, db)`: short statements. On PostgreSQL they wait for locks for a fraction of a second
  and are repeated as a whole, so that the calls that wait for them are delayed no longer.
- `indexes(db)`: indexes by name, with what follows CREATE INDEX name, such as
  "ON subscriber (account_id, id)". PostgreSQL builds them while services write, before `up` runs.

It can also define `backfill`, which changes the rows of a TABLE in chunks while services run; see
`backfill.py`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from peewee import Database, PeeweeException, PostgresqlDatabase
from playhouse.migrations import Migration, MigrationError, Runner

from . import schema_version as versions
from .backfill import Backfill, advance, count_rows
from .database import AcceptKey, StorageError
from .installation import IN_TABLE, SECRET_KEY, DataKeys, Installation
from .schema_version import number_of

log = logging.getLogger(__name__)

DIRECTORY = versions.DIRECTORY
# The table of applied migrations.
HISTORY = "schema_migration"
# How long the statements of a migration wait for a lock on PostgreSQL, in milliseconds. Reads and
# writes of the table wait behind them.
LOCK_MILLISECONDS = 200
# The pause after an attempt that got no lock, and the time after which it fails, in seconds.
RETRY_SECONDS = 0.5
MAX_SECONDS = 120.0
_LOCK_NOT_AVAILABLE, _DEADLOCK = "55P03", "40P01"

# Local tables of the coordinator on a Citus cluster, which are not copied to other databases.
OWN_TABLES = (HISTORY, versions.TABLE, Backfill._meta.table_name)

# Tables of files, and of exports, which are nothing without a file. They are neither copied nor in
# a dump: their rows exist for days only, and files are large. Imports are copied: those that have
# ended have their results and failed rows, and the others fail without their file.
FILE_TABLES = ("stored_file", "file_part", "subscriber_export")

# Receives the progress in one line of text.
Report = Callable[[str], object]


class Step(NamedTuple):
    """A migration that is not applied. `rows` is the number of those that it reads or changes."""

    name: str
    contracts: bool
    table: str
    rows: int
    waits: bool


def contracts(name: str) -> bool:
    """Whether a migration contracts the schema."""
    return name[5:].startswith("contract")


def pending(database: Database, folder: Path | None = None, *, contract: bool = False) -> list[str]:
    """Returns the names of the migrations in a folder that are to be applied.

    Those that contract the schema at the end are included if `contract` is true. Raises
    SchemaTooNew if the database requires a later version of the program.
    """
    return [migration.name for migration in _due(_runner(database, folder), contract=contract)]


def plan(database: Database) -> list[Step]:
    """Returns the migrations that are not applied, also those that wait for a request."""
    due, steps = pending(database), []
    for migration in _due(_runner(database), contract=True):
        table = getattr(migration.load(), "TABLE", "")
        rows = count_rows(table, database) if table else 0
        name = migration.name
        steps.append(Step(name, contracts(name), table, rows, waits=name not in due))
    return steps


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


def check_complete(database: Database, name: object) -> None:
    """Raises StorageError unless the schema is that of a new database, without backfills to do."""
    check_current(database, name)
    missing = pending(database, contract=True)
    if missing or Backfill.select().bind(database).exists():
        raise StorageError(
            f"The migrations of {name} are not finished. Run `roster migrate --contract`."
        )


def _outdated(name: object, missing: list[str]) -> StorageError:
    return StorageError(
        f"The schema of {name} is out of date: missing {', '.join(missing)}. Run `roster migrate`."
    )


def migrate(
    database: Database,
    folder: Path | None = None,
    accept_key: AcceptKey | None = None,
    *,
    contract: bool = False,
    report: Report = str,
) -> list[str]:
    """Applies pending migrations and returns their names. The caller holds the migration lock.

    A database that was served is migrated only if `accept_key` accepts its secret key. Otherwise
    neither this version, without the key, nor the previous one could serve it.
    """
    try:
        runner = _runner(database, folder)
        is_new = not runner.applied()
        due = _due(runner, contract=contract)
        names = [migration.name for migration in due]
        if not names:
            return []
        fingerprints = _key_fingerprints(database)
        if fingerprints:
            if accept_key is None:
                raise _outdated("the database", names)
            accept_key(fingerprints)
        if is_new:
            log.info("creating the tables of a new database")
        runner.History.create_table()
        versions.create_table(database)
        with database.bind_ctx([Backfill]):
            database.create_tables([Backfill])
        for number, migration in enumerate(due, start=1):
            if not is_new:
                text = f"applying schema migration {migration.name} ({number} of {len(due)})"
                log.info(text)
                report(text)
            _apply(migration, runner)
    except (PeeweeException, MigrationError) as error:
        reason = " ".join(str(error).split())
        raise StorageError(f"The schema migration failed: {reason}") from error
    return names


def _runner(database: Database, folder: Path | None = None) -> Runner:
    return Runner(database, str(folder or DIRECTORY))


def _due(runner: Runner, *, contract: bool) -> list[Migration]:
    versions.check_version(runner.database, versions.version_of(Path(runner.directory)))
    status = runner.status()
    due = [migration for migration in status if migration.applied is None]
    # No other program uses a new database.
    if not contract and len(due) < len(status):
        while due and contracts(due[-1].name):
            due.pop()
    return due


def _apply(migration: Migration, runner: Runner) -> None:
    """Applies a migration and records it. Tries again while another transaction has a lock."""
    module, database = migration.load(), runner.database
    if contracts(migration.name):
        _finish_backfills(runner)
    if hasattr(module, "indexes"):
        for name, target in module.indexes(database).items():
            _create_index(name, target, database)
    total = count_rows(module.TABLE, database) if hasattr(module, "backfill") else 0
    ends = time.monotonic() + MAX_SECONDS
    while True:
        try:
            with runner.migrator.migration_context():
                _run(migration, module, runner)
                if total:
                    Backfill.insert(name=migration.name, total=total).bind(database).execute()
            return
        except PeeweeException as error:
            if not _can_retry(error) or time.monotonic() > ends:
                raise
        log.warning("%s waits for a lock and is tried again", migration.name)
        # In a statement, because that can be interrupted.
        database.execute_sql(f"SELECT pg_sleep({RETRY_SECONDS})")


def _finish_backfills(runner: Runner) -> None:
    is_left = True
    while is_left:
        with runner.database.atomic():
            is_left = advance(runner.database, Path(runner.directory)) is not None


def _run(migration: Migration, module: ModuleType, runner: Runner) -> None:
    database, number = runner.database, number_of(migration.name)
    change = f"version = {number}"
    if contracts(migration.name):
        change += f", minimum_version = {number}"
    if isinstance(database, PostgresqlDatabase):
        database.execute_sql(f"SET LOCAL lock_timeout = {LOCK_MILLISECONDS}")
        if contracts(migration.name):
            database.execute_sql(f"SELECT {versions.EXCLUDE_WRITES}")
    if hasattr(module, "up"):
        module.up(runner.migrator, database)
    database.execute_sql(f"UPDATE {versions.TABLE} SET {change}")  # noqa: S608 - no values in it
    runner.History.create(name=migration.name)


def _can_retry(error: PeeweeException) -> bool:
    """Whether PostgreSQL reports that another transaction has a lock."""
    state = getattr(error.__context__, "sqlstate", None)
    return state in (_LOCK_NOT_AVAILABLE, _DEADLOCK)


def _create_index(name: str, target: str, database: Database) -> None:
    if not isinstance(database, PostgresqlDatabase):
        database.execute_sql(f'CREATE INDEX IF NOT EXISTS "{name}" {target}')
        return
    # An interrupted build leaves an index that is not valid.
    is_invalid = "SELECT 1 FROM pg_index WHERE indexrelid = to_regclass(%s) AND NOT indisvalid"
    if database.execute_sql(is_invalid, (name,)).fetchone():
        database.execute_sql(f"DROP INDEX CONCURRENTLY {name}")
    database.execute_sql(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} {target}")


def _key_fingerprints(database: Database) -> list[str]:
    if not database.table_exists(Installation._meta.table_name):
        return []
    query = Installation.select(Installation.value).where(Installation.name == SECRET_KEY)
    value: str | None = query.bind(database).scalar()
    if value != IN_TABLE:
        return [value] if value else []
    return [row.fingerprint for row in DataKeys.select(DataKeys.fingerprint).bind(database)]


def tables_in_dependency_order(database: Database) -> list[str]:
    """Returns all tables except those of migrations, referenced tables first."""
    links: dict[str, set[Any]] = {
        table: {link.dest_table for link in database.get_foreign_keys(table)}
        for table in sorted(database.get_tables())
        if table not in OWN_TABLES
    }
    return list(TopologicalSorter(links).static_order())


def applied_at(database: Database, name: str) -> int | None:
    """Returns the time of a migration in milliseconds since 1970, or None if it is pending."""
    applied = Runner(database, str(DIRECTORY)).applied().get(name)
    return None if applied is None else int(applied.timestamp() * 1000)
