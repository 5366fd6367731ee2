"""Creates databases with data for tests, and reads the catalog of Citus."""

from __future__ import annotations

from typing import Any

import psycopg

from rosterd.server.storage.citus.distribution import REFERENCE_TABLES, TableKind
from rosterd.server.storage.databases import bring_up_to_date
from rosterd.server.storage.migrate import OWN_TABLES

from ..cli.commands import json_output
from .cluster import Cluster

LISTED = "SELECT table_name::text, citus_table_type, distribution_column FROM citus_tables"
GROUPS = (
    "SELECT count(DISTINCT colocation_id) FROM citus_tables WHERE citus_table_type = 'distributed'"
)
ACCOUNTS = 20


def rows(url: str, sql: str) -> list[tuple[Any, ...]]:
    """Runs a statement and returns its rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def new_schema(cluster: Cluster) -> str:
    """Creates a database with the current schema that is not distributed."""
    url = cluster.new_database()
    bring_up_to_date(url)
    return url


def create_accounts(url: str) -> None:
    """Creates accounts with a subscriber and a tag each, so that all nodes have rows."""
    json_output(url, "accounts", "create", "--email", "owner@example.com")
    rows(
        url,
        "INSERT INTO tag (account_id, id, name, name_key, description, created_at)"
        f" SELECT 'account-' || i, '1', 'vip', 'vip', '', 1 FROM generate_series(1, {ACCOUNTS}) i",
    )
    rows(
        url,
        "INSERT INTO subscriber (account_id, id, email, email_key, first_name, last_name, status,"
        " created_at) SELECT account_id, '1', 'a@example.com', 'a@example.com', '', '', 1, 1"
        " FROM tag",
    )
    rows(url, "INSERT INTO subscriber_tag SELECT account_id, '1', '1' FROM subscriber")


def row_counts(url: str) -> list[tuple[Any, ...]]:
    return rows(
        url,
        "SELECT (SELECT count(*) FROM account), (SELECT count(*) FROM subscriber),"
        " (SELECT count(*) FROM tag), (SELECT count(*) FROM subscriber_tag)",
    )


def undistributed(url: str) -> set[str]:
    """Returns the tables that are not distributed as they should be."""
    kinds = {table: (kind, column) for table, kind, column in rows(url, LISTED)}
    tables = {
        name
        for (name,) in rows(
            url,
            "SELECT relname FROM pg_class WHERE relkind = 'r'"
            " AND relnamespace = 'public'::regnamespace",
        )
    }
    assert rows(url, GROUPS) == [(1,)]
    tables -= set(OWN_TABLES)
    return {table for table in tables if kinds.get(table) != _expected(table)}


def _expected(table: str) -> tuple[str, str]:
    if table in REFERENCE_TABLES:
        return TableKind.REFERENCE, "<none>"
    return TableKind.DISTRIBUTED, "account_id"
