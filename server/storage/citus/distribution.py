"""Distributes the tables of a PostgreSQL database over the nodes of a Citus cluster.

Account tables are distributed by `account_id` and co-located: all rows of an account are on
one node. `account`, `api_key`, `data_keys` and `installation` are reference tables, copied to every
node, because authentication reads an API key before the account is known.

The tables that migrations add to a distributed database are distributed after the last migration;
after an interruption, the next start distributes them.

Referenced tables come first. Each table is distributed by one statement, in its own
transaction. After an interruption, the next run continues with the remaining tables. At the
end, the copies of rows that remain on the coordinator are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from peewee import PeeweeException
from playhouse.postgres_ext import Psycopg3Database
from psycopg import sql

from ..database import AcceptKey, StorageError
from ..migrate import Report, migrate, pending, tables_in_dependency_order
from ..postgres import schema
from ..postgres.connection import PLANNER_SETTINGS, without_services

REFERENCE_TABLES = ("account", "api_key", "data_keys", "installation")
ACCOUNT = "account_id"

# Excludes local tables that Citus manages, which are distributed like other local tables. The
# view citus_tables is not used, because it reads the size of the shards from every node.
_DISTRIBUTED = "FROM pg_dist_partition WHERE (partmethod <> 'n' OR repmodel = 't')"
_CITUS_TABLES = (
    "SELECT logicalrelid::text, CASE partmethod WHEN 'n' THEN 'reference' ELSE 'distributed' END,"
    f" column_to_column_name(logicalrelid, partkey), colocationid {_DISTRIBUTED}"
)
_REMAINING = f"""
SELECT relname FROM pg_class c
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND (
    relname IN {REFERENCE_TABLES} OR EXISTS (
        SELECT FROM pg_attribute WHERE attrelid = c.oid AND attname = '{ACCOUNT}'
    )
) AND NOT EXISTS (SELECT {_DISTRIBUTED} AND logicalrelid = c.oid)
AND EXISTS (SELECT {_DISTRIBUTED})
"""  # noqa: S608 - names of this module
_WORKERS = (
    "SELECT nodename || ':' || nodeport, success, result FROM run_command_on_workers("
    "'SELECT extversion FROM pg_extension WHERE extname = ''citus''')"
)


class TableKind(StrEnum):
    """How Citus stores a table."""

    DISTRIBUTED = "distributed"
    REFERENCE = "reference"


class DistributedTable(NamedTuple):
    """A distributed table; `before` is true if it was distributed before this run."""

    table: str
    kind: TableKind
    before: bool


class _CitusTable(NamedTuple):
    """A distributed table in the catalog of Citus."""

    kind: str
    column: str | None
    colocation_id: int


def bring_up_to_date(
    database: Psycopg3Database,
    folder: Path | None = None,
    accept_key: AcceptKey | None = None,
    *,
    contract: bool = False,
    report: Report = str,
) -> list[str]:
    """Migrates an open database, as `schema.bring_up_to_date`, and distributes new tables."""
    if not database.has_citus:
        return schema.bring_up_to_date(
            database, folder, accept_key, contract=contract, report=report
        )
    if not pending(database, folder, contract=contract) and not _remaining_tables(database):
        return []
    with schema.schema_lock(database):
        # In parallel mode, a transaction that has read several shards cannot alter a table.
        database.execute_sql("SET citus.multi_shard_modify_mode = sequential")
        applied = migrate(database, folder, accept_key, contract=contract, report=report)
        if _remaining_tables(database):
            list(_distribute_tables(database))
        return applied


def distribute(
    database: Psycopg3Database, *, allow_single_node: bool = False
) -> Iterator[DistributedTable]:
    """Distributes the remaining tables, and yields each table when its statement is committed.

    Raises StorageError if the database has no Citus or is in use, if a worker is missing or
    cannot be used, or if Citus rejects a table.
    """
    if not database.has_citus:
        raise StorageError(
            "The Citus extension is not installed in the database. Run CREATE EXTENSION citus"
            " in it as a superuser first, on every node."
        )
    with schema.schema_lock(database), without_services(database):
        _check_workers(database, allow_single_node=allow_single_node)
        yield from _distribute_tables(database)


def _set_planner(database: Psycopg3Database) -> None:
    """Sets the planner of all nodes for this role.

    Nodes do not inherit the settings of a connection to the coordinator. Citus sends a setting of
    a role to every node, also to those that are added later.
    """
    connection = database.connection()
    name = sql.Identifier(connection.info.dbname)
    for setting, value in PLANNER_SETTINGS.items():
        change = sql.SQL("ALTER ROLE CURRENT_USER IN DATABASE {} SET {} = {}")
        connection.execute(change.format(name, sql.Identifier(setting), sql.Literal(value)))


def _remaining_tables(database: Psycopg3Database) -> list[str]:
    """Returns the tables of a distributed database that are not distributed yet.

    Returns none if no table is distributed.
    """
    return [table for (table,) in database.execute_sql(_REMAINING).fetchall()]


def _check_workers(database: Psycopg3Database, *, allow_single_node: bool) -> None:
    """Raises StorageError unless a database can be distributed over all nodes of its cluster."""
    workers = database.execute_sql(_WORKERS).fetchall()
    if not (workers or allow_single_node or _citus_tables(database)):
        raise StorageError(
            "The cluster has no worker nodes, so the coordinator would store all shards. Run"
            " SELECT citus_set_coordinator_host(...) and SELECT citus_add_node(...) for each"
            " worker as a superuser first, or pass --allow-single-node."
        )
    for worker, success, result in workers:
        if not success:
            raise StorageError(
                f"The worker node {worker} cannot be used: {result}. Check that it is running and"
                " has the database and the role of the URL."
            )
        if not result:
            raise StorageError(
                f"The worker node {worker} does not have the Citus extension. Run CREATE EXTENSION"
                " citus in its database as a superuser."
            )


def _distribute_tables(database: Psycopg3Database) -> Iterator[DistributedTable]:
    """Distributes the remaining tables, and yields each table when its statement is committed.

    Raises StorageError if Citus rejects a table. The caller holds the schema lock.
    """
    _set_planner(database)
    tables = tables_in_dependency_order(database)
    existing = _citus_tables(database)
    _check(tables, existing)
    # Any table of a colocation group identifies it. The first table creates the group.
    colocate_with = next(
        (table for table in tables if table in existing and table not in REFERENCE_TABLES), "none"
    )
    for table in tables:
        kind = TableKind.REFERENCE if table in REFERENCE_TABLES else TableKind.DISTRIBUTED
        if table not in existing:
            _distribute(database, table, kind, colocate_with)
        if kind is TableKind.DISTRIBUTED and colocate_with == "none":
            colocate_with = table
        yield DistributedTable(table, kind, before=table in existing)
    _check(tables, _citus_tables(database))
    for table in tables:
        _execute(database, table, "SELECT truncate_local_data_after_distributing_table(%s)", table)


def _distribute(
    database: Psycopg3Database, table: str, kind: TableKind, colocate_with: str
) -> None:
    if kind is TableKind.REFERENCE:
        _execute(database, table, "SELECT create_reference_table(%s)", table)
        return
    text = "SELECT create_distributed_table(%s, %s, colocate_with => %s)"
    _execute(database, table, text, table, ACCOUNT, colocate_with)


def _execute(database: Psycopg3Database, table: str, text: str, *values: str) -> None:
    """Runs a statement that distributes a table. Raises StorageError."""
    try:
        database.execute_sql(text, values)
    except PeeweeException as error:
        # Peewee wraps the error of the driver.
        reason = " ".join(str(error.__context__ or error).split())
        raise StorageError(f"Citus rejected the table {table}: {reason}") from error


def _citus_tables(database: Psycopg3Database) -> dict[str, _CitusTable]:
    rows = database.execute_sql(_CITUS_TABLES).fetchall()
    return {name: _CitusTable(*columns) for name, *columns in rows}


def _check(tables: list[str], existing: dict[str, _CitusTable]) -> None:
    """Raises StorageError if a table is distributed in a different layout."""
    groups = set()
    for table in filter(existing.__contains__, tables):
        kind, column, colocation_id = existing[table]
        if table in REFERENCE_TABLES:
            matches = kind == TableKind.REFERENCE
        else:
            matches = (kind, column) == (TableKind.DISTRIBUTED, ACCOUNT)
            groups.add(colocation_id)
        if not matches:
            raise StorageError(
                f"The table {table} is already a {kind} table that does not match Roster's"
                f" layout. Run {_undistribute(table)} first."
            )
    if len(groups) > 1:
        raise StorageError(
            f"Account tables are not co-located: they are in {len(groups)} colocation groups (see"
            f" citus_tables). Run {_undistribute('...')} on the tables of all groups but one first."
        )


def _undistribute(table: str) -> str:
    return f"SELECT undistribute_table('{table}', cascade_via_foreign_keys => true)"
