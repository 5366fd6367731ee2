"""The schema by the rules of Citus, and databases that cannot be distributed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from playhouse.postgres_ext import Psycopg3Database

from rosterd.server.serving.console import ExitCode
from rosterd.server.storage.citus.distribution import REFERENCE_TABLES
from rosterd.server.storage.database import StorageError
from rosterd.server.storage.databases import distributed
from rosterd.server.storage.migrate import HISTORY, OWN_TABLES
from rosterd.server.storage.postgres.connection import connect

from ..cli.commands import error_line, roster
from ..postgres import Postgres

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
    url = postgres.new_roster()
    with closing(connect(url)) as database:
        yield database


def account_tables(database: Psycopg3Database) -> set[str]:
    """Returns the tables that contain account data."""
    return set(database.get_tables()) - {*REFERENCE_TABLES, *OWN_TABLES}


def test_reference_tables_have_no_foreign_keys_to_distributed_tables(
    migrated: Psycopg3Database,
) -> None:
    found = migrated.execute_sql(CONSTRAINTS).fetchall()

    assert [
        row for row in found if row[0] in REFERENCE_TABLES and row[2] in account_tables(migrated)
    ] == []


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
