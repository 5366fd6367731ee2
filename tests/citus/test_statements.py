"""Every statement in the code runs as one task on one node, as planned by Citus."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from rosterd.server.storage.statements import Statement

from ..storage.helpers import OURS
from ..storage.test_bound_statements import UNBOUND_OF_RESOURCES, every_statement, numbered
from .cluster import Cluster

# A value of each type of a parameter.
VALUES = {
    "text": "'1'",
    "bigint": "1",
    "integer": "1",
    "smallint": "1",
    "double precision": "1",
    "boolean": "true",
    "bytea": "'1'",
    "text[]": "'{1,2}'",
    "jsonb": "'[[]]'",
}
# Statements that search all accounts, and the reason.
ALL_ACCOUNTS = {
    "features.subscribers.store_reading._NEWEST": "once at start",
    "features.operations.store._WITH_RUNNING": "search for operations",
    "features.webhooks.delivery.store_queue._ALL": "once at start",
    "features.webhooks.delivery.store_queue._WITH_WORK": "dispatch of deliveries",
    "features.webhooks.delivery.store_queue._BACKLOG": "metrics",
    "features.webhooks.delivery.store_queue._OLDEST_EVENT": "metrics",
}

pytestmark = pytest.mark.verify


@pytest.fixture(scope="module")
def connection(citus: Cluster) -> Iterator[psycopg.Connection[Any]]:
    """A connection to a distributed database."""
    with psycopg.connect(citus.new_roster(), autocommit=True) as connection:
        yield connection


def plan(statement: Statement, connection: psycopg.Connection[Any]) -> Any:
    """Returns the plan of a statement for one account, as JSON."""
    text, names = numbered(statement)
    connection.execute(f"PREPARE planned AS {text}")
    try:
        types = "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'planned'"
        ((found,),) = connection.execute(types).fetchall()
        values = [
            f"'{OURS}'" if name == "account_id" else VALUES[kind]
            for name, kind in zip(names, found, strict=True)
        ]
        arguments = f"({', '.join(values)})" if values else ""
        row = connection.execute(f"EXPLAIN (FORMAT JSON) EXECUTE planned{arguments}").fetchone()
        assert row is not None
        return row[0]
    finally:
        connection.execute("DEALLOCATE planned")


def task_counts(node: Any) -> Iterator[int]:
    """Yields the number of tasks of each distributed query in a plan, and of its subplans."""
    if isinstance(node, list):
        for item in node:
            yield from task_counts(item)
    elif isinstance(node, dict):
        for name, value in node.items():
            if name == "Task Count":
                yield value
            yield from task_counts(value)


def test_every_statement_is_one_task_except_searches_of_all_accounts(
    connection: psycopg.Connection[Any],
) -> None:
    statements = every_statement()
    plans = {name: plan(statement, connection) for name, statement in statements.items()}

    # Rows from JSON are computed on the coordinator and sent to the shard of their account.
    inserts = {name for name, (top,) in plans.items() if provider(top) == "Citus INSERT ... SELECT"}
    assert {
        name for name in inserts if "jsonb_array_elements" not in numbered(statements[name])[0]
    } == set()
    others = {name: list(task_counts(top)) for name, top in plans.items() if name not in inserts}
    assert {
        name
        for name, counts in others.items()
        if counts != [1] and name.rpartition(".")[2] not in UNBOUND_OF_RESOURCES
    } == set(ALL_ACCOUNTS)


def provider(top: Any) -> str:
    return str(top["Plan"].get("Custom Plan Provider", ""))
