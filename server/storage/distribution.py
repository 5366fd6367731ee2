"""Distributes a PostgreSQL database over the nodes of a Citus cluster.

Account tables are distributed by `account_id` and co-located: all rows of an account are on
one node. `account`, `api_key` and `installation` are reference tables, copied to every node,
because authentication reads an API key before the account is known.

Referenced tables come first. Each table is distributed by one statement, in its own
transaction. After a failure, or after a migration that adds tables, run it again: it
continues with the remaining tables. At the end, the local rows that are left on the
coordinator are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from peewee import PeeweeException
from playhouse.postgres_ext import Psycopg3Database

from .database import StorageError
from .postgres.connection import schema_lock
from .postgres.transaction import driver_error
from .tables import in_dependency_order

REFERENCE_TABLES = ("account", "api_key", "installation")
ACCOUNT = "account_id"


class TableKind(StrEnum):
    """The values of `citus_tables.citus_table_type`."""

    DISTRIBUTED = "distributed"
    REFERENCE = "reference"


class DistributedTable(NamedTuple):
    """A distributed table; `before` is true if it was distributed before this run."""

    table: str
    kind: TableKind
    before: bool


class _CitusTable(NamedTuple):
    """A row of `citus_tables`; `group` is the colocation ID."""

    kind: str
    column: str
    group: int


def distribute(database: Psycopg3Database) -> Iterator[DistributedTable]:
    """Distributes the remaining tables, and yields each table when its statement is committed.

    Raises StorageError if the database has no Citus, or if Citus rejects a table.
    """
    if database.execute_sql("SELECT to_regclass('citus_tables')").fetchone() == (None,):
        raise StorageError(
            "The Citus extension is not installed in the database. Run CREATE EXTENSION citus"
            " in it first."
        )
    with schema_lock(database):
        yield from _distribute(database)


def _distribute(database: Psycopg3Database) -> Iterator[DistributedTable]:
    tables = in_dependency_order(database)
    known = _known(database)
    _check(tables, known)
    # Any table of a colocation group identifies it. The first table creates the group.
    colocate_with = next((table for table in tables if _is_spread(table, known)), "none")
    for table in tables:
        kind = TableKind.REFERENCE if table in REFERENCE_TABLES else TableKind.DISTRIBUTED
        if table not in known:
            _spread(database, table, kind, colocate_with)
        if kind is TableKind.DISTRIBUTED and colocate_with == "none":
            colocate_with = table
        yield DistributedTable(table, kind, before=table in known)
    _check(tables, _known(database))
    for table in tables:
        _ask(database, table, "SELECT truncate_local_data_after_distributing_table(%s)", table)


def _spread(database: Psycopg3Database, table: str, kind: TableKind, colocate_with: str) -> None:
    if kind is TableKind.REFERENCE:
        _ask(database, table, "SELECT create_reference_table(%s)", table)
        return
    text = "SELECT create_distributed_table(%s, %s, colocate_with => %s)"
    _ask(database, table, text, table, ACCOUNT, colocate_with)


def _is_spread(table: str, known: dict[str, _CitusTable]) -> bool:
    return table in known and table not in REFERENCE_TABLES


def _ask(database: Psycopg3Database, table: str, text: str, *values: str) -> None:
    try:
        database.execute_sql(text, values)
    except PeeweeException as error:
        reason = " ".join(str(driver_error(error) or error).split())
        raise StorageError(f"Citus rejected the table {table}: {reason}") from error


def _known(database: Psycopg3Database) -> dict[str, _CitusTable]:
    rows = database.execute_sql(
        "SELECT table_name::text, citus_table_type, distribution_column, colocation_id"
        # A local table that Citus manages can be distributed like any other.
        " FROM citus_tables WHERE citus_table_type <> 'local'"
    )
    return {name: _CitusTable(*rest) for name, *rest in rows.fetchall()}


def _check(tables: list[str], known: dict[str, _CitusTable]) -> None:
    """Raises StorageError if a table is distributed in a different layout."""
    groups = set()
    for table in filter(known.__contains__, tables):
        found = known[table]
        if table in REFERENCE_TABLES:
            is_right = found.kind == TableKind.REFERENCE
        else:
            is_right = (found.kind, found.column) == (TableKind.DISTRIBUTED, ACCOUNT)
            groups.add(found.group)
        if not is_right:
            raise StorageError(
                f"The table {table} is already a {found.kind} table that does not match Roster's"
                f" layout. Run SELECT undistribute_table('{table}') first."
            )
    if len(groups) > 1:
        raise StorageError(
            f"Account tables are not co-located: citus_tables shows {len(groups)} colocation"
            " groups. Run undistribute_table on them first."
        )
