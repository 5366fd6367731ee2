"""Reads the nodes of accounts from the catalog of Citus, and runs statements on one node.

Citus divides the range of `text_hash` among shards. Shards of co-located tables with the same
range are on the same node. The catalog is on the coordinator, so reading it needs no other node.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import orjson
import psycopg
from peewee import Database

from ...values.clock import Clock
from ...values.ids import Ids
from ..postgres.transaction import PostgresTransaction
from ..statements import Statement
from .text_hash import text_hash

_HAS_CITUS = "SELECT to_regclass('pg_catalog.pg_dist_shard') IS NOT NULL"
_SHARDS = """
SELECT shard.logicalrelid::regclass::text, shard_name(shard.logicalrelid, shard.shardid),
    shard.shardminvalue::bigint, node.nodeid, node.nodename, node.nodeport
FROM pg_dist_shard AS shard
JOIN pg_dist_placement AS placement USING (shardid)
JOIN pg_dist_node AS node ON node.groupid = placement.groupid AND node.noderole = 'primary'
WHERE shard.shardminvalue IS NOT NULL
ORDER BY 1, 3
"""
# Returns the error of a failed statement instead of raising it.
_RUN_ON_NODE = """
SELECT success, result FROM master_run_on_worker(%s::text[], %s::int[], %s::text[], false)
"""


class Node(NamedTuple):
    """A node of the cluster that stores accounts."""

    id: int
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.id} ({self.host}:{self.port})"


class Placement:
    """The nodes of all shards. `tables` has the shards of each table in the order of hashes."""

    def __init__(self, rows: Sequence[tuple[str, str, int, int, str, int]]) -> None:
        self.tables: dict[str, list[str]] = {}
        # The same for all tables, which are co-located.
        shards: dict[int, Node] = {}
        for table, shard, first_hash, *node in rows:
            self.tables.setdefault(table, []).append(shard)
            shards[first_hash] = Node._make(node)
        self._first_hashes = sorted(shards)
        self._nodes = [shards[first] for first in self._first_hashes]
        self.nodes = sorted(set(self._nodes))

    def shard_of(self, account_id: str) -> int:
        """Returns the index of the shard of an account."""
        return bisect_right(self._first_hashes, text_hash(account_id)) - 1

    def node_of(self, account_id: str) -> Node:
        """Returns the node that stores an account."""
        return self._nodes[self.shard_of(account_id)]

    def probe(self, node: Node) -> tuple[str, list[str]]:
        """Returns a minimal statement that Citus runs on a node, and its values."""
        account_id = next(text for text in map(str, count()) if self.node_of(text) == node)
        table = next(iter(self.tables))
        return f"SELECT 1 FROM {table} WHERE account_id = %s LIMIT 1", [account_id]  # noqa: S608 - a table of the catalog

    def on_shards(self, sql: str, node: Node) -> str | None:
        """Returns a statement for all shards of a node; None if it reads no distributed table."""
        tables = [table for table in self.tables if f'"{table}"' in sql]
        if not tables:
            return None
        pattern = re.compile("|".join(f'"{table}"' for table in tables))
        parts = [
            pattern.sub(partial(self._shard_in_statement, index), sql)
            for index, shard_node in enumerate(self._nodes)
            if shard_node == node
        ]
        return " UNION ALL ".join(f"({part})" for part in parts)

    def _shard_in_statement(self, index: int, table: re.Match[str]) -> str:
        return self.tables[table[0].strip('"')][index]


def read_placement(database: Database) -> Placement | None:
    """Returns the placement of a distributed database; None if it is not distributed."""
    if database.execute_sql(_HAS_CITUS).fetchone() != (True,):
        return None
    rows = database.execute_sql(_SHARDS).fetchall()
    return Placement(rows) if rows else None


async def current_placement(connection: psycopg.AsyncConnection[Any]) -> Placement | None:
    """Returns the placement, or None if the database is no longer distributed."""
    rows = await (await connection.execute(_SHARDS)).fetchall()
    return Placement(rows) if rows else None


class NodeFailed(psycopg.OperationalError):
    """A node did not run a statement."""


class NodeTransaction(PostgresTransaction):
    """Runs statements without an account on the shards of one node.

    A statement returns the rows of each shard, for example one minimum per shard. Statements for
    one account, or on reference tables only, run as in other transactions.
    """

    __slots__ = ("_node", "_placement")

    def __init__(
        self, database: Database, clock: Clock, ids: Ids, placement: Placement, node: Node
    ) -> None:
        super().__init__(database, clock, ids)
        self._placement, self._node = placement, node

    def _execute(self, statement: Statement, values: Mapping[str, Any]) -> Any:
        prepared = statement.prepared(self._dialect, self._database)
        union = self._placement.on_shards(prepared.sql, self._node)
        if union is None or "account_id" in values:
            return super()._execute(statement, values)
        self.statements += 1
        shards = union.count(" UNION ALL ") + 1
        text = psycopg.ClientCursor(self._database.connection()).mogrify(
            f"SELECT json_agg(row_to_json(part)) FROM ({union}) AS part",  # noqa: S608 - no values in it
            prepared.arguments(values) * shards,
        )
        node = self._node
        ((success, result),) = self._database.execute_sql(
            _RUN_ON_NODE, [[node.host], [node.port], [text]]
        ).fetchall()
        if not success:
            raise NodeFailed(f"node {node}: {result}")
        return _Rows([tuple(row.values()) for row in orjson.loads(result or "[]")])


class _Rows:
    """Rows with the interface of a cursor."""

    def __init__(self, rows: list[tuple[Any, ...]]) -> None:
        self._rows = rows

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._rows[0] if self._rows else None
