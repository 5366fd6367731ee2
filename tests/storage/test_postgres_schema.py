"""The schema on PostgreSQL: created by the same migrations, with byte order collation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playhouse.postgres_ext import Psycopg3Database

from rosterd.server.storage import migrate as migrations
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.migrate import pending
from rosterd.server.storage.postgres.connection import connect
from rosterd.server.storage.postgres.schema import bring_up_to_date

from ..postgres import Postgres
from .test_migrate import BROKEN, FIRST, HISTORY, SOUND, WITHOUT_MODEL, models

# Columns, indexes and foreign keys without the names of constraints.
COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable, collation_name
FROM information_schema.columns WHERE table_schema = 'public' AND table_name <> %s
"""
INDEXES = """
SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename <> %s
"""
LINKS = """
SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint
WHERE contype = 'f' AND conrelid::regclass::text <> %s
"""


@pytest.fixture
def database(postgres: Postgres) -> Iterator[Psycopg3Database]:
    """A connection to an empty database."""
    with closing(connect(postgres.new_database())) as opened:
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
    """Returns every column, index and foreign key, without the migration history."""
    queries = (COLUMNS, INDEXES, LINKS)
    return [set(database.execute_sql(query, (HISTORY,)).fetchall()) for query in queries]


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
    assert set(database.get_tables()) - {HISTORY} == {"first"}
    assert pending(database) == ["0002_second"]

    broken.write_text(SOUND.format(name="second"))

    assert bring_up_to_date(database) == ["0002_second"]
    assert set(database.get_tables()) - {HISTORY} == {"first", "second"}
