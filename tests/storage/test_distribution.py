"""The distribution of tables over Citus, tested on one server.
If the server has no Citus, a stand-in (citus.py) records the calls and their order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest
from playhouse.postgres_ext import Psycopg3Database

from server.console import ExitCode
from server.storage.database import StorageError
from server.storage.databases import bring_up_to_date, distributed
from server.storage.distribution import REFERENCE_TABLES, TableKind
from server.storage.migrate import HISTORY
from server.storage.postgres.connection import connect

from ..cli.commands import error_line, printed, roster
from ..postgres import Postgres
from .citus import database_with_citus

LISTED = "SELECT table_name::text, citus_table_type, distribution_column FROM citus_tables"
# Every key, unique index, exclusion and foreign key with its columns and target.
CONSTRAINTS = """
SELECT indrelid::regclass::text, indexrelid::regclass::text, NULL, ARRAY(
    SELECT attname::text FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY (indkey)
) FROM pg_index WHERE (indisunique OR indisexclusion)
    AND indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace)
UNION ALL
SELECT conrelid::regclass::text, conname, confrelid::regclass::text, ARRAY(
    SELECT attname::text FROM pg_attribute WHERE attrelid = conrelid AND attnum = ANY (conkey)
) FROM pg_constraint WHERE contype = 'f'
"""
# Features that Citus rejects in some or all versions.
REFUSED = {
    "sequences": "SELECT relname FROM pg_class WHERE relkind = 'S'"
    f" AND relnamespace = 'public'::regnamespace AND relname <> '{HISTORY}_id_seq'",
    "triggers": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    "exclusion constraints": "SELECT conname FROM pg_constraint WHERE contype = 'x'",
    "rules": "SELECT rulename FROM pg_rules WHERE schemaname = 'public'",
    "inheritance": "SELECT inhrelid::regclass FROM pg_inherits",
    "generated columns": "SELECT attname FROM pg_attribute JOIN pg_class ON oid = attrelid"
    " WHERE relnamespace = 'public'::regnamespace AND attgenerated <> ''",
    # Row identity must not depend on a collation.
    "collations that are not deterministic": "SELECT attname FROM pg_attribute"
    " JOIN pg_collation c ON c.oid = attcollation WHERE NOT c.collisdeterministic",
    "actions that set a column": "SELECT conname FROM pg_constraint WHERE contype = 'f'"
    " AND (confdeltype NOT IN ('a', 'c') OR confupdtype <> 'a')",
}


@pytest.fixture(scope="module")
def migrated(postgres: Postgres) -> Iterator[Psycopg3Database]:
    """A connection to a database with the current schema, for reading."""
    url = postgres.new_database()
    bring_up_to_date(url)
    with closing(connect(url)) as database:
        yield database


@pytest.fixture
def url(postgres: Postgres) -> str:
    """A database with the current schema and Citus, real or a stand-in."""
    url, _ = database_with_citus(postgres)
    bring_up_to_date(url)
    return url


def rows(url: str, sql: str) -> list[tuple[str, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def stand_in_calls(url: str) -> list[str]:
    """Returns the recorded calls of the stand-in, in order. Skips the test with the real Citus."""
    if rows(url, "SELECT to_regclass('stand_in.calls')") == [(None,)]:
        pytest.skip("the real Citus does not record calls")
    return [text for (text,) in rows(url, "SELECT text FROM stand_in.calls ORDER BY number")]


def account_tables(database: Psycopg3Database) -> set[str]:
    """Returns the tables that contain account data."""
    return set(database.get_tables()) - {*REFERENCE_TABLES, HISTORY}


def test_every_key_and_foreign_key_contains_the_account(
    migrated: Psycopg3Database,
) -> None:
    found = [
        row
        for row in migrated.execute_sql(CONSTRAINTS).fetchall()
        if row[0] in account_tables(migrated)
    ]

    assert {table for table, *_ in found} == account_tables(migrated)
    assert [
        (name, columns)
        for _, name, to, columns in found
        if to not in REFERENCE_TABLES and "account_id" not in columns
    ] == []


def test_reference_tables_have_no_foreign_keys_to_distributed_tables(
    migrated: Psycopg3Database,
) -> None:
    found = migrated.execute_sql(CONSTRAINTS).fetchall()

    assert [
        row for row in found if row[0] in REFERENCE_TABLES and row[2] in account_tables(migrated)
    ] == []


def test_every_account_id_column_has_the_same_type(migrated: Psycopg3Database) -> None:
    types = {
        (column.data_type, column.null)
        for table in account_tables(migrated)
        for column in migrated.get_columns(table)
        if column.name == "account_id"
    }

    assert types == {("text", False)}


@pytest.mark.parametrize("name", REFUSED)
def test_schema_avoids_features_that_citus_rejects(migrated: Psycopg3Database, name: str) -> None:
    assert migrated.execute_sql(REFUSED[name]).fetchall() == []


def test_database_without_citus_is_rejected_with_a_remedy(postgres: Postgres) -> None:
    url = postgres.new_database()

    with pytest.raises(StorageError, match="CREATE EXTENSION citus"):
        list(distributed(url))


def test_sqlite_database_cannot_be_distributed(tmp_path: object) -> None:
    done = roster(
        "migrate", "--distribute", "--json", "--database-url", f"sqlite:///{tmp_path}/a.db"
    )

    assert "SQLite" in error_line(done, ExitCode.DATABASE)


def test_tables_are_distributed_by_account_except_three_reference_tables(url: str) -> None:
    report = printed(url, "migrate", "--distribute")["tables"]

    table_types = {table: (kind, column) for table, kind, column in rows(url, LISTED)}
    assert {
        table for table, (kind, _) in table_types.items() if kind == TableKind.REFERENCE
    } == set(REFERENCE_TABLES)
    others = {table: of for table, of in table_types.items() if table not in REFERENCE_TABLES}
    with closing(connect(url)) as database:
        assert set(others) == account_tables(database)
    assert set(others.values()) == {(TableKind.DISTRIBUTED, "account_id")}
    assert (
        len(
            rows(
                url,
                "SELECT DISTINCT colocation_id FROM citus_tables"
                " WHERE citus_table_type = 'distributed'",
            )
        )
        == 1
    )
    assert {table["table"]: table["kind"] for table in report} == {
        table: kind for table, (kind, _) in table_types.items()
    }
    assert not any(table["before"] for table in report)


def test_tables_are_colocated_and_local_data_is_truncated_last(url: str) -> None:
    list(distributed(url))

    texts = stand_in_calls(url)
    spread = [text for text in texts if text.startswith("distributed")]
    first = spread[0].split()[1]
    assert [text.split(" with ")[1] for text in spread] == ["none", *[first] * (len(spread) - 1)]
    table_types = [text.split()[0] for text in texts]
    assert table_types == sorted(table_types, key=lambda kind: kind == "truncated")
    assert {text.split()[1] for text in texts if text.startswith("truncated")} == {
        name for (name,) in rows(url, "SELECT name::text FROM stand_in.distribution")
    }


def test_second_run_changes_nothing(url: str) -> None:
    list(distributed(url))
    before = rows(url, LISTED)

    report = printed(url, "migrate", "--distribute")

    assert report["applied"] == []
    assert all(table["before"] for table in report["tables"])
    assert rows(url, LISTED) == before


def test_interrupted_distribution_is_resumed(url: str) -> None:
    half: Any = distributed(url)
    some = [next(half) for _ in range(5)]
    half.close()

    rest = list(distributed(url))

    assert [table.table for table in rest if table.before] == [table.table for table in some]
    assert (
        len(
            rows(
                url,
                "SELECT DISTINCT colocation_id FROM citus_tables"
                " WHERE citus_table_type = 'distributed'",
            )
        )
        == 1
    )


def test_table_of_a_new_migration_is_colocated_with_the_others(url: str) -> None:
    list(distributed(url))
    before = stand_in_calls(url)
    first = next(text.split()[1] for text in before if text.startswith("distributed"))
    rows(url, f"DELETE FROM stand_in.distribution WHERE name = '{first}'::regclass")

    added = [table for table in distributed(url) if not table.before]

    assert [table.table for table in added] == [first]
    (again,) = [t for t in stand_in_calls(url)[len(before) :] if t.startswith("distributed")]
    assert not again.endswith(" with none")


@pytest.mark.parametrize(
    ("table", "kind", "column"),
    [
        ("tag", "reference", "<none>"),
        ("api_key", "distributed", "account_id"),
        ("suppression", "distributed", "email_hash"),
    ],
)
def test_table_with_another_distribution_is_named(
    url: str, table: str, kind: str, column: str
) -> None:
    stand_in_calls(url)
    rows(url, f"INSERT INTO stand_in.distribution VALUES ('{table}', '{kind}', '{column}', 7)")

    with pytest.raises(StorageError, match=table):
        list(distributed(url))


def test_citus_local_table_is_distributed(url: str) -> None:
    stand_in_calls(url)
    rows(url, "INSERT INTO stand_in.distribution VALUES ('tag', 'local', NULL, 0)")
    # The state after Citus has distributed the table.
    rows(url, "DROP FUNCTION stand_in.reject_distributed CASCADE")
    rows(
        url,
        "CREATE FUNCTION stand_in.reject_distributed(checked regclass) RETURNS void AS"
        " 'DELETE FROM stand_in.distribution WHERE name = checked' LANGUAGE sql",
    )

    assert not any(table.before for table in distributed(url))


def test_tables_that_are_not_colocated_are_rejected(url: str) -> None:
    stand_in_calls(url)
    for group, table in enumerate(("tag", "suppression")):
        spread = f"('{table}', 'distributed', 'account_id', {group})"
        rows(url, f"INSERT INTO stand_in.distribution VALUES {spread}")

    with pytest.raises(StorageError, match="not co-located"):
        list(distributed(url))


def test_command_prints_its_changes(url: str) -> None:
    done = roster("migrate", "--distribute", ROSTER_DATABASE_URL=url)

    assert done.returncode == 0
    assert "subscriber is now distributed by account_id" in done.stdout
    assert "api_key is now a reference table" in done.stdout
