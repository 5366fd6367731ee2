"""The distribution over a Citus cluster, as far as its rules and one server can show it.

Where the server lacks Citus these tests run on a stand-in (citus.py), which checks what is
asked and in which order, and distributes nothing.
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
# Every key, unique index, exclusion and foreign key, with its columns, and where it leads to.
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
# What Citus does not take, or not in every version: nothing of Roster's needs it.
REFUSED = {
    "sequences": "SELECT relname FROM pg_class WHERE relkind = 'S'"
    f" AND relnamespace = 'public'::regnamespace AND relname <> '{HISTORY}_id_seq'",
    "triggers": "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal",
    "exclusion constraints": "SELECT conname FROM pg_constraint WHERE contype = 'x'",
    "rules": "SELECT rulename FROM pg_rules WHERE schemaname = 'public'",
    "inheritance": "SELECT inhrelid::regclass FROM pg_inherits",
    "generated columns": "SELECT attname FROM pg_attribute JOIN pg_class ON oid = attrelid"
    " WHERE relnamespace = 'public'::regnamespace AND attgenerated <> ''",
    # Rows are told apart by what does not depend on a language.
    "collations that are not deterministic": "SELECT attname FROM pg_attribute"
    " JOIN pg_collation c ON c.oid = attcollation WHERE NOT c.collisdeterministic",
    "actions that set a column": "SELECT conname FROM pg_constraint WHERE contype = 'f'"
    " AND (confdeltype NOT IN ('a', 'c') OR confupdtype <> 'a')",
}


@pytest.fixture(scope="module")
def migrated(postgres: Postgres) -> Iterator[Psycopg3Database]:
    """A connection to a database of the current schema, which nothing changes."""
    url = postgres.new_database()
    bring_up_to_date(url)
    with closing(connect(url)) as database:
        yield database


@pytest.fixture
def url(postgres: Postgres) -> str:
    """A database of the current schema with Citus, real or not."""
    url, _ = database_with_citus(postgres)
    bring_up_to_date(url)
    return url


def rows(url: str, sql: str) -> list[tuple[str, ...]]:
    """Returns what a query gives."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def asked(url: str) -> list[str]:
    """Returns what the stand-in was asked, in order; with the real Citus there is no test."""
    if rows(url, "SELECT to_regclass('stand_in.asked')") == [(None,)]:
        pytest.skip("the real Citus notes nothing")
    return [text for (text,) in rows(url, "SELECT text FROM stand_in.asked ORDER BY number")]


def owned(database: Psycopg3Database) -> set[str]:
    """Returns the tables of accounts' data."""
    return set(database.get_tables()) - {*REFERENCE_TABLES, HISTORY}


def test_every_key_and_link_of_an_accounts_data_contains_the_account(
    migrated: Psycopg3Database,
) -> None:
    found = [
        row for row in migrated.execute_sql(CONSTRAINTS).fetchall() if row[0] in owned(migrated)
    ]

    assert {table for table, *_ in found} == owned(migrated)
    assert [
        (name, columns)
        for _, name, to, columns in found
        if to not in REFERENCE_TABLES and "account_id" not in columns
    ] == []


def test_tables_on_every_node_refer_to_none_that_is_distributed(
    migrated: Psycopg3Database,
) -> None:
    found = migrated.execute_sql(CONSTRAINTS).fetchall()

    assert [row for row in found if row[0] in REFERENCE_TABLES and row[2] in owned(migrated)] == []


def test_every_account_is_told_by_the_same_type_everywhere(migrated: Psycopg3Database) -> None:
    types = {
        (column.data_type, column.null)
        for table in owned(migrated)
        for column in migrated.get_columns(table)
        if column.name == "account_id"
    }

    assert types == {("text", False)}


@pytest.mark.parametrize("name", REFUSED)
def test_schema_has_nothing_that_a_cluster_does_not_take(
    migrated: Psycopg3Database, name: str
) -> None:
    assert migrated.execute_sql(REFUSED[name]).fetchall() == []


def test_database_without_citus_is_refused_with_a_hint(postgres: Postgres) -> None:
    url = postgres.new_database()

    with pytest.raises(StorageError, match="CREATE EXTENSION citus"):
        list(distributed(url))


def test_file_cannot_be_distributed(tmp_path: object) -> None:
    done = roster(
        "migrate", "--distribute", "--json", "--database-url", f"sqlite:///{tmp_path}/a.db"
    )

    assert "SQLite" in error_line(done, ExitCode.DATABASE)


def test_every_table_is_distributed_by_account_and_three_are_on_every_node(url: str) -> None:
    told = printed(url, "migrate", "--distribute")["tables"]

    event_types = {table: (kind, column) for table, kind, column in rows(url, LISTED)}
    assert {
        table for table, (kind, _) in event_types.items() if kind == TableKind.REFERENCE
    } == set(REFERENCE_TABLES)
    others = {table: of for table, of in event_types.items() if table not in REFERENCE_TABLES}
    with closing(connect(url)) as database:
        assert set(others) == owned(database)
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
    assert {table["table"]: table["kind"] for table in told} == {
        table: kind for table, (kind, _) in event_types.items()
    }
    assert not any(table["before"] for table in told)


def test_tables_lie_beside_the_first_and_what_stays_behind_goes_last(url: str) -> None:
    list(distributed(url))

    texts = asked(url)
    spread = [text for text in texts if text.startswith("distributed")]
    first = spread[0].split()[1]
    assert [text.split(" with ")[1] for text in spread] == ["none", *[first] * (len(spread) - 1)]
    event_types = [text.split()[0] for text in texts]
    assert event_types == sorted(event_types, key=lambda kind: kind == "truncated")
    assert {text.split()[1] for text in texts if text.startswith("truncated")} == {
        name for (name,) in rows(url, "SELECT name::text FROM stand_in.spread")
    }


def test_second_run_leaves_everything_as_it_is(url: str) -> None:
    list(distributed(url))
    before = rows(url, LISTED)

    told = printed(url, "migrate", "--distribute")

    assert told["applied"] == []
    assert all(table["before"] for table in told["tables"])
    assert rows(url, LISTED) == before


def test_what_broke_off_is_gone_on_with(url: str) -> None:
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


def test_table_that_a_migration_adds_is_laid_beside_the_others(url: str) -> None:
    list(distributed(url))
    before = asked(url)
    first = next(text.split()[1] for text in before if text.startswith("distributed"))
    rows(url, f"DELETE FROM stand_in.spread WHERE name = '{first}'::regclass")

    added = [table for table in distributed(url) if not table.before]

    assert [table.table for table in added] == [first]
    (again,) = [t for t in asked(url)[len(before) :] if t.startswith("distributed")]
    assert not again.endswith(" with none")


@pytest.mark.parametrize(
    ("table", "kind", "column"),
    [
        ("tag", "reference", "<none>"),
        ("api_key", "distributed", "account_id"),
        ("suppression", "distributed", "email_hash"),
    ],
)
def test_table_that_was_distributed_otherwise_is_named(
    url: str, table: str, kind: str, column: str
) -> None:
    asked(url)
    rows(url, f"INSERT INTO stand_in.spread VALUES ('{table}', '{kind}', '{column}', 7)")

    with pytest.raises(StorageError, match=table):
        list(distributed(url))


def test_table_that_citus_only_knows_of_is_distributed_like_any_other(url: str) -> None:
    asked(url)
    rows(url, "INSERT INTO stand_in.spread VALUES ('tag', 'local', NULL, 0)")
    # What Citus does with it when it is distributed.
    rows(url, "DROP FUNCTION stand_in.refuse_distributed CASCADE")
    rows(
        url,
        "CREATE FUNCTION stand_in.refuse_distributed(wanted regclass) RETURNS void AS"
        " 'DELETE FROM stand_in.spread WHERE name = wanted' LANGUAGE sql",
    )

    assert not any(table.before for table in distributed(url))


def test_tables_that_do_not_lie_together_are_refused(url: str) -> None:
    asked(url)
    for group, table in enumerate(("tag", "suppression")):
        spread = f"('{table}', 'distributed', 'account_id', {group})"
        rows(url, f"INSERT INTO stand_in.spread VALUES {spread}")

    with pytest.raises(StorageError, match="not co-located"):
        list(distributed(url))


def test_command_says_what_it_did(url: str) -> None:
    done = roster("migrate", "--distribute", ROSTER_DATABASE_URL=url)

    assert done.returncode == 0
    assert "subscriber is now distributed by account_id" in done.stdout
    assert "api_key is now a reference table" in done.stdout
