"""Spreads a PostgreSQL database over the nodes of a Citus cluster.

Each table of an account's data is distributed by `account_id`, and all of them alike, so
that what an account has lies on one node and what refers to each other lies together.
Accounts, their keys and the facts of the installation are reference tables, which every
node has a copy of: whose a key is has to be found before any account is known.

Tables that others refer to come first. Each is a statement of its own, which stands as
soon as it is done: what breaks off is gone on with by doing it again, and so is what a
later migration adds. The rows that stay behind on the coordinator, where nobody sees them
any more, are removed when all tables are where they belong.
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
    """What Citus calls the two kinds of tables."""

    DISTRIBUTED = "distributed"
    REFERENCE = "reference"


class DistributedTable(NamedTuple):
    """How a table lies on the cluster, and whether it did so before."""

    table: str
    kind: TableKind
    before: bool


class _CitusTable(NamedTuple):
    """What Citus says of a table; tables of one group lie together."""

    kind: str
    column: str
    group: int


def distribute(database: Psycopg3Database) -> Iterator[DistributedTable]:
    """Distributes what is not distributed yet, and yields each table once that stands.

    Raises StorageError if the database has no Citus, and if Citus refuses.
    """
    if database.execute_sql("SELECT to_regclass('citus_tables')").fetchone() == (None,):
        raise StorageError(
            "The database has no Citus, so there are no nodes to distribute it over. Where the"
            " server has it, CREATE EXTENSION citus makes it part of the database."
        )
    with schema_lock(database):
        yield from _distribute(database)


def _distribute(database: Psycopg3Database) -> Iterator[DistributedTable]:
    tables = in_dependency_order(database)
    known = _known(database)
    _check(tables, known)
    # Any table of the group tells Citus which one is meant; the first begins it.
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
        raise StorageError(f"Citus does not take the table {table}: {reason}") from error


def _known(database: Psycopg3Database) -> dict[str, _CitusTable]:
    rows = database.execute_sql(
        "SELECT table_name::text, citus_table_type, distribution_column, colocation_id"
        # A table that Citus knows of and keeps where it is may be distributed like any other.
        " FROM citus_tables WHERE citus_table_type <> 'local'"
    )
    return {name: _CitusTable(*rest) for name, *rest in rows.fetchall()}


def _check(tables: list[str], known: dict[str, _CitusTable]) -> None:
    """Raises StorageError if a table was distributed otherwise than it has to be."""
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
                f"The table {table} is a {found.kind} table already, in another way than Roster"
                f" needs it. undistribute_table('{table}') takes that back."
            )
    if len(groups) > 1:
        raise StorageError(
            "Tables of one account's data do not lie together: citus_tables shows them in"
            f" {len(groups)} groups. undistribute_table takes that back."
        )
