"""The schema on PostgreSQL: created by the same migrations, with byte order collation."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from playhouse.postgres_ext import Psycopg3Database

from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.migrate import OWN_TABLES, pending
from rosterd.server.storage.postgres.connection import connect
from rosterd.server.storage.postgres.schema import bring_up_to_date

from ..components import wait_until
from ..postgres import Postgres
from .test_migrate import BROKEN, FIRST, SOUND, WITHOUT_MODEL, add, models

# Columns, indexes and foreign keys without the names of constraints.
COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable, collation_name
FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> ALL (%s)
"""
INDEXES = """
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> ALL (%s)
"""
LINKS = """
SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND conrelid::regclass::text <> ALL (%s)
"""


@pytest.fixture
def url(postgres: Postgres) -> str:
    """An empty database."""
    return postgres.new_database()


@pytest.fixture
def database(url: str) -> Iterator[Psycopg3Database]:
    """A connection to the empty database."""
    with closing(connect(url)) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one valid migration."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "0001_first.py").write_text(SOUND.format(name="first"))
    monkeypatch.setattr(migrations, "DIRECTORY", folder)
    return folder


def schema(database: Psycopg3Database) -> list[set[tuple[str, ...]]]:
    """Returns every column, index and foreign key, without those of migrations."""
    queries = (COLUMNS, INDEXES, LINKS)
    return [set(database.execute_sql(query, (list(OWN_TABLES),)).fetchall()) for query in queries]


def test_models_agree_with_the_frozen_migrations(
    database: Psycopg3Database, postgres: Postgres
) -> None:
    assert bring_up_to_date(database)[0] == FIRST
    order = ["tag", "custom_field", "subscriber"]
    sorted_models = sorted(
        models(),
        key=lambda model: [*order, model._meta.table_name].index(model._meta.table_name),
    )

    with closing(connect(postgres.new_database())) as other:
        with other.bind_ctx(models(), bind_refs=False, bind_backrefs=False):
            other.create_tables(sorted_models)
        columns, indexes, links = schema(database)
        without_model = {item for item in indexes if any(name in item[0] for name in WITHOUT_MODEL)}
        assert len(without_model) == len(WITHOUT_MODEL)
        assert schema(other) == [columns, indexes - without_model, links]


def test_every_text_column_has_byte_order_collation(database: Psycopg3Database) -> None:
    bring_up_to_date(database)

    columns, _, _ = schema(database)

    assert {column[4] for column in columns if column[2] == "text"} == {"C"}
    assert {column[2] for column in columns} == {
        "text",
        "bigint",
        "smallint",
        "integer",
        "boolean",
        "double precision",
        "bytea",
    }


def test_failed_migration_leaves_no_changes_and_is_resumed(
    database: Psycopg3Database, folder: Path
) -> None:
    broken = folder / "0002_second.py"
    broken.write_text(BROKEN)
    with pytest.raises(StorageError, match="The schema migration failed"):
        bring_up_to_date(database)
    assert set(database.get_tables()) - set(OWN_TABLES) == {"first"}
    assert pending(database) == ["0002_second"]

    broken.write_text(SOUND.format(name="second"))

    assert bring_up_to_date(database) == ["0002_second"]
    assert set(database.get_tables()) - set(OWN_TABLES) == {"first", "second"}


INDEX = """
TABLE = "first"

def indexes(db):
    return {"first_by_id": "ON first (id)"}
"""
COLUMN = """
def up(migrator, db):
    db.execute_sql("ALTER TABLE first ADD COLUMN second TEXT")
"""
INVALIDATE = "UPDATE pg_index SET indisvalid = %s WHERE indexrelid = 'first_by_id'::regclass"
IS_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = 'first_by_id'::regclass"


def migrated(url: str) -> list[str]:
    """Migrates over a connection of its own, and returns the applied migrations."""
    with closing(connect(url)) as own:
        return bring_up_to_date(own)


def test_interrupted_build_of_an_index_is_repeated_while_other_processes_wait(
    database: Psycopg3Database, url: str, folder: Path
) -> None:
    bring_up_to_date(database)
    database.execute_sql("CREATE INDEX first_by_id ON first (id)")
    database.execute_sql(INVALIDATE, (False,))
    add(folder, "0002_index", INDEX)

    with ThreadPoolExecutor(3) as pool:
        applied = [name for names in pool.map(migrated, [url] * 3) for name in names]

    assert applied == ["0002_index"]
    assert database.execute_sql(IS_VALID).fetchall() == [(True,)]


def test_migration_that_waits_for_a_lock_does_not_stop_reads_and_is_repeated(
    database: Psycopg3Database, url: str, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bring_up_to_date(database)
    add(folder, "0002_column", COLUMN)

    with psycopg.connect(url) as reader, ThreadPoolExecutor(1) as pool:
        reader.execute("SELECT * FROM first")
        migrating = pool.submit(migrated, url)
        wait_until(lambda: caplog.text.count("is tried again") >= 2, "it does not try again")
        with psycopg.connect(url) as other:
            assert other.execute("SELECT * FROM first").fetchall() == []
        reader.commit()

        assert migrating.result() == ["0002_column"]
