"""How PostgreSQL finds pages of subscribers: by an index of the account's own, always.

The plans are those of the very statements that a page runs, on tables with the
subscribers of many accounts, as the server plans them once it has looked at the tables.
Where a plan does not tell what it costs, the blocks do that it reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

import pytest
from peewee import SQL
from playhouse.postgres_ext import Psycopg3Database

from server.clock import system_clock
from server.ids import Ids
from server.storage.databases import bring_up_to_date, unit_of_work
from server.storage.postgres.connection import connect
from server.storage.postgres.transaction import DIALECT, begin_reading, undo
from server.storage.statements import Statement
from server.storage.transaction import Transaction
from server.subscribers.fields import Status
from server.subscribers.store_paging import Filter, PagePosition, page

from ..postgres import Postgres
from .helpers import OURS, SUBSCRIBERS, field
from .test_plans import (
    FILTERS,
    LIMIT,
    RARE,
    ROWS,
    each_filter,
    each_in_order,
    each_order,
    each_way,
    made,
    many_blocks,
    middle,
    wanted_of,
)

OTHER_ACCOUNTS = 20
BIG = {"subscriber", "subscriber_block", "subscriber_tag", "custom_value"}
COPIES = {
    "tag": "id, name, name_key, description, created_at",
    "custom_field": "id, key, label, label_key, data_type, fallback, created_at, updated_at",
    "subscriber": "id, email, email_key, first_name, last_name, status, created_at, name_key,"
    " last_name_key, email_unicode_key",
    "subscriber_tag": "subscriber_id, tag_id",
    "custom_value": "subscriber_id, key, value",
    "subscriber_block": "level, first_id, total",
}


class Step(NamedTuple):
    """A statement that was run: its text, the nodes of its plan, and the blocks that it read."""

    sql: str
    nodes: list[Mapping[str, Any]]
    blocks: int


class Watched(Transaction):
    """A transaction that keeps the plan and the cost of each statement."""

    def __init__(self, database: Psycopg3Database) -> None:
        super().__init__(database, DIALECT, system_clock, Ids(system_clock))
        self.seen: list[Step] = []

    def _execute(self, statement: Statement, values: Mapping[str, Any]) -> Any:
        prepared = statement.prepared(self._dialect, self._database)
        arguments = prepared.arguments(values)
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {prepared.sql}"
        ((told,),) = self._database.execute_sql(explain, arguments).fetchall()
        top = told[0]["Plan"]
        blocks = top["Shared Hit Blocks"] + top["Shared Read Blocks"]
        self.seen.append(Step(prepared.sql, list(nodes_of(top)), blocks))
        return super()._execute(statement, values)


def nodes_of(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields a node of a plan and all below it."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes_of(below)


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> Iterator[Psycopg3Database]:
    """A database with the subscribers of many accounts, looked at by the server."""
    url = postgres.new_database()
    bring_up_to_date(url)
    with unit_of_work(url) as tx, many_blocks():
        field(OURS, tx)
        SUBSCRIBERS.create_many(OURS, made(), tx)
    with closing(connect(url)) as opened:
        # What fills the tables is none of the statements that a service makes.
        opened.execute_sql("SET statement_timeout = 0")
        for table, columns in COPIES.items():
            opened.execute_sql(
                f"INSERT INTO {table} (account_id, {columns}) SELECT lpad(n::text, 26, '9'),"
                f" {columns} FROM {table}, generate_series(1, {OTHER_ACCOUNTS}) AS n"
            )
        opened.execute_sql("VACUUM ANALYZE")
        yield opened


@pytest.fixture
def tx(database: Psycopg3Database) -> Iterator[Watched]:
    """A transaction that watches, and only reads."""
    begin_reading(database)
    yield Watched(database)
    undo(database)


@pytest.fixture(scope="module")
def ids(database: Psycopg3Database) -> list[str]:
    """The ids of the account, oldest first."""
    query = "SELECT id FROM subscriber WHERE account_id = %s ORDER BY id"
    return [row[0] for row in database.execute_sql(query, (OURS,)).fetchall()]


def steps(tx: Watched, wanted: Filter, place: PagePosition) -> list[Step]:
    """Returns the statements of a page: the page itself, the count, and what else there is.

    By its number a page of everyone is found after the counts, by one statement more.
    """
    tx.seen.clear()
    page(OURS, wanted, place, tx)
    assert 2 <= len(tx.seen) <= 3 + (wanted == Filter() and place.offset > 0)
    return tx.seen


def conditions(step: Step) -> list[str]:
    """Returns by what each big table is searched, after a look that none is walked as a whole."""
    found = [node for node in step.nodes if node.get("Relation Name") in BIG]
    assert [node for node in found if node["Node Type"] == "Seq Scan"] == [], step
    heaps = [node for node in found if node["Node Type"] == "Bitmap Heap Scan"]
    indexes = [node for node in step.nodes if "Index Name" in node and node not in heaps]
    return [node.get("Index Cond", "") for node in indexes]


@each_filter
@each_order
@each_way
def test_every_big_table_is_searched_by_the_account_and_what_is_asked_for(
    tx: Watched, ids: list[str], names: tuple[str, ...], descending: bool, seeks: bool
) -> None:
    place = middle(ids, seeks=seeks, descending=descending)

    for step in steps(tx, wanted_of(names, ids), place):
        for condition in conditions(step):
            assert "account_id =" in condition, step
            # Only a list of everyone walks through all that an account has.
            assert names == () or condition != f"(account_id = '{OURS}'::text)", step


INDEXES = {
    "status": {"subscriber_account_id_status_id"},
    "tag": {"subscribertag_account_id_tag_id_subscriber_id"},
    "email": {"subscriber_account_id_email_key"},
    "prefix": {
        "subscriber_account_id_email_key",
        "subscriber_by_email_unicode",
        "subscriber_by_name",
        "subscriber_by_last_name",
    },
}


@pytest.mark.parametrize("name", INDEXES)
@each_order
@each_way
def test_each_filter_has_its_index(
    tx: Watched, ids: list[str], name: str, descending: bool, seeks: bool
) -> None:
    place = middle(ids, seeks=seeks, descending=descending)

    of_page, of_count, *_ = steps(tx, wanted_of((name,), ids), place)

    for step in (of_page, of_count):
        assert INDEXES[name] <= {node.get("Index Name") for node in step.nodes}, step


@each_in_order
@each_order
def test_page_that_is_sought_reads_as_much_wherever_it_is(
    tx: Watched, ids: list[str], names: tuple[str, ...], descending: bool
) -> None:
    wanted = wanted_of(names, ids)
    places = [ids[300], ids[ROWS // 2], ids[-300]]

    costs = [
        steps(tx, wanted, PagePosition(LIMIT, after=after, descending=descending))[0].blocks
        for after in places
    ]

    assert max(costs) < min(costs) * 1.5, costs


@each_order
def test_page_of_everyone_reads_little_whatever_its_number_is(
    tx: Watched, descending: bool
) -> None:
    def cost(offset: int) -> int:
        found = steps(tx, Filter(), PagePosition(LIMIT, offset, descending=descending))
        return sum(step.blocks for step in found)

    costs = [cost(offset) for offset in range(0, ROWS, 7 * LIMIT)]

    # Those who are passed over would be read with their tags and values.
    assert max(costs) < costs[0] + 40, costs


@each_order
def test_few_of_a_rare_status_cost_little(tx: Watched, ids: list[str], descending: bool) -> None:
    wanted = Filter(status=Status.COMPLAINED)

    of_page, of_count, *_ = steps(tx, wanted, PagePosition(LIMIT, descending=descending))

    # There are that many of them, and each is looked at with its tags and values.
    assert of_page.blocks < 20 * LIMIT
    assert of_count.blocks < 2 * ROWS // RARE


def test_address_that_is_looked_up_costs_a_few_blocks(tx: Watched) -> None:
    for step in steps(tx, Filter(**FILTERS["email"]), PagePosition(LIMIT)):
        assert step.blocks < 30, step


def test_plan_that_walks_a_table_would_be_seen(tx: Watched) -> None:
    tx.seen.clear()
    tx.all(Statement(lambda _: SQL("SELECT id FROM subscriber WHERE first_name = 'First 3'")))

    with pytest.raises(AssertionError):
        conditions(tx.seen[0])
