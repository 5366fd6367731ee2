"""Migrations on SQLite: their schema, repetition, failure and interruption."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from peewee import Model
from playhouse.apsw_ext import APSWDatabase
from playhouse.migrations import Runner

from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.migrate import migrate, pending
from rosterd.server.storage.sqlite.file import connect, prepare

from .helpers import modules_named

# Reference tables on Citus, which need no account.
REFERENCE_TABLES = {"account", "api_key", "installation"}
HISTORY = "schema_migration"
# Indexes whose expressions depend on the database.
WITHOUT_MODEL = {"subscriber_by_domain", "subscriber_by_mailbox"}
FIRST = "0001_accounts_subscribers_tags_custom_fields"

SOUND = """
def up(migrator, db):
    db.execute_sql("CREATE TABLE {name} (id TEXT)")
"""
BROKEN = """
def up(migrator, db):
    db.execute_sql("CREATE TABLE half (id TEXT)")
    db.execute_sql("CREATE TABLE first (id TEXT)")
"""


@pytest.fixture
def database(tmp_path: Path) -> Iterator[APSWDatabase]:
    """A connection to a new file."""
    opened = connect(tmp_path / "roster.db")
    prepare(opened)
    yield opened
    opened.close()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one valid migration."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "0001_first.py").write_text(SOUND.format(name="first"))
    monkeypatch.setattr(migrations, "DIRECTORY", folder)
    return folder


def tables(database: APSWDatabase) -> set[str]:
    """Returns the tables without the migration history."""
    return set(database.get_tables()) - {HISTORY}


def schema(database: APSWDatabase) -> set[tuple[str, ...]]:
    """Returns every table and index in SQLite's schema, without the migration history."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE tbl_name <> ?"
    return set(database.execute_sql(query, (HISTORY,)).fetchall())


def models() -> list[type[Model]]:
    """Returns the models of all tables."""
    modules = [*modules_named("models.py"), import_module("rosterd.server.storage.installation")]
    return [
        item
        for module in modules
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, Model) and item.__module__ == module.__name__
    ]


def unique_indexes(database: APSWDatabase, table: str) -> list[list[str]]:
    query = "SELECT name FROM pragma_index_list(?) WHERE [unique]"
    names = [name for (name,) in database.execute_sql(query, (table,)).fetchall()]
    columns = "SELECT name FROM pragma_index_info(?) ORDER BY seqno"
    return [[c for (c,) in database.execute_sql(columns, (name,)).fetchall()] for name in names]


def test_fresh_database_gets_every_table(database: APSWDatabase) -> None:
    assert migrate(database)[0] == FIRST
    assert tables(database) == {model._meta.table_name for model in models()}


def test_start_logs_the_migrations_of_an_existing_database_only(
    database: APSWDatabase, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "rosterd")
    for name in ("0002_second", "0003_third"):
        migrate(database)
        (folder / f"{name}.py").write_text(SOUND.format(name=name[5:]))

    migrate(database)

    assert caplog.messages == [
        "creating the tables of a new database",
        "applying schema migrations 0002_second",
        "applying schema migrations 0003_third",
    ]


def test_second_run_applies_nothing_and_changes_nothing(database: APSWDatabase) -> None:
    migrate(database)
    before = schema(database)

    assert pending(database) == []
    assert migrate(database) == []
    assert schema(database) == before


def test_models_agree_with_the_frozen_migrations(database: APSWDatabase, tmp_path: Path) -> None:
    migrate(database)
    other = connect(tmp_path / "models.db")
    with other, other.bind_ctx(models(), bind_refs=False, bind_backrefs=False):
        other.create_tables(models())
        of_models, migrated = schema(other), schema(database)
        assert of_models < migrated
        assert {item[1] for item in migrated - of_models} == WITHOUT_MODEL
    other.close()


def test_every_key_and_unique_index_begins_with_the_account(
    database: APSWDatabase,
) -> None:
    migrate(database)

    indexes = {
        table: unique_indexes(database, table) for table in tables(database) - REFERENCE_TABLES
    }

    assert all(indexes.values())
    assert {columns[0] for index in indexes.values() for columns in index} == {"account_id"}


def test_every_foreign_key_contains_the_account(database: APSWDatabase) -> None:
    migrate(database)
    query = 'SELECT id, "from", "to" FROM pragma_foreign_key_list(?)'

    for table in tables(database) - REFERENCE_TABLES:
        links = database.execute_sql(query, (table,)).fetchall()
        for number in {link[0] for link in links}:
            assert (number, "account_id", "account_id") in links


def test_newer_schema_is_rejected_and_named(database: APSWDatabase, folder: Path) -> None:
    newer = folder / "0002_newer.py"
    newer.write_text(SOUND.format(name="newer"))
    migrate(database)
    newer.unlink()

    with pytest.raises(StorageError, match="0002_newer"):
        pending(database)
    with pytest.raises(StorageError, match="0002_newer"):
        migrate(database)


def test_failed_migration_leaves_no_changes_and_is_resumed(
    database: APSWDatabase, folder: Path
) -> None:
    broken = folder / "0002_second.py"
    broken.write_text(BROKEN)
    with pytest.raises(StorageError, match="The schema migration failed"):
        migrate(database)
    assert tables(database) == {"first"}

    broken.write_text(SOUND.format(name="second"))

    assert migrate(database) == ["0002_second"]
    assert tables(database) == {"first", "second"}


@pytest.mark.parametrize(
    "left", ["history", "tables"], ids=["history without entries", "tables without an entry"]
)
def test_interrupted_migration_is_resumed(
    database: APSWDatabase, tmp_path: Path, left: str
) -> None:
    Runner(database, str(migrations.DIRECTORY)).up(FIRST)
    database.execute_sql(f"DELETE FROM {HISTORY}")
    if left == "history":
        for table in ("subscriber_tag", "subscriber", "tag"):
            database.execute_sql(f"DROP TABLE {table}")

    assert migrate(database)[0] == FIRST
    assert pending(database) == []
    with connect(tmp_path / "uninterrupted.db") as other:
        migrate(other)
        assert schema(database) == schema(other)
    other.close()
