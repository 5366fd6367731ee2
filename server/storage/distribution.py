"""Distributes the tables of a PostgreSQL database over the nodes of a Citus cluster.

Account tables are distributed by `account_id` and co-located: all rows of an account are on
one node. `account`, `api_key` and `installation` are reference tables, copied to every node,
because authentication reads an API key before the account is known.

Referenced tables come first. Each table is distributed by one statement, in its own
transaction. After an interruption the next run continues with the remaining tables. At the
end, the local rows that are left on the coordinator are deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from peewee import Database, PeeweeException

from .database import StorageError
from .postgres.transaction import driver_error
from .tables import in_dependency_order

REFERENCE_TABLES = ("account", "api_key", "installation")
ACCOUNT = "account_id"

# Without local tables that Citus manages, which can be distributed like any other. Unlike this
# catalog, the view citus_tables asks every node for the size of its shards.
_DISTRIBUTED = "FROM pg_dist_partition WHERE (partmethod <> 'n' OR repmodel = 't')"
_KNOWN = (
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
    """A distributed table in Citus' catalog; `group` is the colocation ID."""

    kind: str
    column: str | None
    group: int


def remaining_tables(database: Database) -> list[str]:
    """Returns the tables of a distributed database that are not distributed yet.

    Returns none if no table is distributed.
    """
    return [table for (table,) in database.execute_sql(_REMAINING).fetchall()]


def check_workers(database: Database, *, allow_single_node: bool) -> None:
    """Raises StorageError unless a database can be distributed over all nodes of its cluster."""
    workers = database.execute_sql(_WORKERS).fetchall()
    if not (workers or allow_single_node or _known(database)):
        raise StorageError(
            "The cluster has no worker nodes, so the coordinator would store all shards. Run"
            " SELECT citus_set_coordinator_host(...) and SELECT citus_add_node(...) for each"
            " worker as a superuser first, or pass --allow-single-node."
        )
    for worker, success, result in workers:
        if not success:
            raise StorageError(
                f"The worker {worker} cannot be used: {result}. Check that it is running, and has"
                " the database and the role of the URL."
            )
        if not result:
            raise StorageError(
                f"The worker {worker} does not have the Citus extension. Run CREATE EXTENSION"
                " citus in its database as a superuser."
            )


def distribute_tables(database: Database) -> Iterator[DistributedTable]:
    """Distributes the remaining tables, and yields each table when its statement is committed.

    Raises StorageError if Citus rejects a table. The caller holds the schema lock.
    """
    tables = in_dependency_order(database)
    known = _known(database)
    _check(tables, known)
    # Any table of a colocation group identifies it. The first table creates the group.
    colocate_with = next(
        (table for table in tables if table in known and table not in REFERENCE_TABLES), "none"
    )
    for table in tables:
        kind = TableKind.REFERENCE if table in REFERENCE_TABLES else TableKind.DISTRIBUTED
        if table not in known:
            _distribute(database, table, kind, colocate_with)
        if kind is TableKind.DISTRIBUTED and colocate_with == "none":
            colocate_with = table
        yield DistributedTable(table, kind, before=table in known)
    _check(tables, _known(database))
    for table in tables:
        _ask(database, table, "SELECT truncate_local_data_after_distributing_table(%s)", table)


def _distribute(database: Database, table: str, kind: TableKind, colocate_with: str) -> None:
    if kind is TableKind.REFERENCE:
        _ask(database, table, "SELECT create_reference_table(%s)", table)
        return
    text = "SELECT create_distributed_table(%s, %s, colocate_with => %s)"
    _ask(database, table, text, table, ACCOUNT, colocate_with)


def _ask(database: Database, table: str, text: str, *values: str) -> None:
    try:
        database.execute_sql(text, values)
    except PeeweeException as error:
        reason = " ".join(str(driver_error(error) or error).split())
        raise StorageError(f"Citus rejected the table {table}: {reason}") from error


def _known(database: Database) -> dict[str, _CitusTable]:
    return {name: _CitusTable(*rest) for name, *rest in database.execute_sql(_KNOWN).fetchall()}


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
                f" layout. Run {_undistribute(table)} first."
            )
    if len(groups) > 1:
        raise StorageError(
            f"Account tables are not co-located: they are in {len(groups)} colocation groups (see"
            f" citus_tables). Run {_undistribute('...')} on the tables of all groups but one first."
        )


def _undistribute(table: str) -> str:
    return f"SELECT undistribute_table('{table}', cascade_via_foreign_keys => true)"
