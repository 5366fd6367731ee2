"""Query plans of subscriber pages on PostgreSQL: every page uses an index of the account.

The plans are those of the statements that a page runs, after ANALYZE, on tables with the
subscribers of many accounts. Costs that a plan does not show are measured in blocks read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

import pytest
from playhouse.postgres_ext import Psycopg3Database

from rosterd.server.features.signups import store as signups
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.query import plan, store_orders
from rosterd.server.features.subscribers.query.plan import Order, PagePosition
from rosterd.server.features.tags import store as tags
from rosterd.server.rpc.paging import Page
from rosterd.server.storage.databases import unit_of_work
from rosterd.server.storage.postgres.connection import connect
from rosterd.server.storage.postgres.transaction import DIALECT, begin_reading, undo
from rosterd.server.storage.statements import Statement
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.clock import system_clock
from rosterd.server.values.emails import Email
from rosterd.server.values.ids import Ids

from ..cases import each
from ..postgres import Postgres
from .helpers import EVERYONE, OURS, SUBSCRIBERS, SUPPRESSIONS, field, page, tree_of
from .test_bound_statements import every_statement, numbered
from .test_plans import (
    BY_REVISION,
    FILTERS,
    LIMIT,
    LIMITED_SCAN,
    RARE,
    ROWS,
    TOTAL_OF_STATISTICS,
    each_filter,
    each_order,
    each_ordered_filter,
    each_pagination,
    filter_of,
    many_subscribers,
    middle,
    revise,
    small_buckets,
)

OTHER_ACCOUNTS = 6
BIG = {"subscriber", "subscriber_bucket", "subscriber_tag", "custom_value"}
COPIES = {
    "tag": "id, name, name_key, description, created_at",
    "custom_field": "id, key, label, label_key, data_type, fallback, created_at, updated_at",
    "subscriber": "id, email, email_key, first_name, last_name, status, created_at, name_key,"
    " last_name_key, email_unicode_key, revision",
    "subscriber_tag": "subscriber_id, tag_id",
    "custom_value": "subscriber_id, key, value",
    "subscriber_bucket": "level, first_id, total",
}


# Tables with many rows of one account.
LISTER = "8" * 26
FILLED = {
    "tag": "INSERT INTO tag (account_id, id, name, name_key, description, created_at)"
    f" SELECT '{LISTER}', lpad(n::text, 26, '0'), n, 'tag ' || lpad(n::text, 5, '0'), '', 0",
    "suppression": "INSERT INTO suppression (account_id, email_hash, reason, created_at)"
    f" SELECT '{LISTER}', lpad(n::text, 64, '0'), 3, n / 100",
}


class Step(NamedTuple):
    """A completed statement: its text, plan nodes and blocks read."""

    sql: str
    nodes: list[Mapping[str, Any]]
    blocks: int


class RecordingTransaction(Transaction):
    def __init__(self, database: Psycopg3Database) -> None:
        super().__init__(database, DIALECT, system_clock, Ids(system_clock))
        self.recorded: list[Step] = []

    def _execute(self, statement: Statement, values: Mapping[str, Any]) -> Any:
        prepared = statement.prepared(self._dialect, self._database)
        arguments = prepared.arguments(values)
        explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {prepared.sql}"
        ((output,),) = self._database.execute_sql(explain, arguments).fetchall()
        top = output[0]["Plan"]
        blocks = top["Shared Hit Blocks"] + top["Shared Read Blocks"]
        self.recorded.append(Step(prepared.sql, list(nodes_of(top)), blocks))
        return super()._execute(statement, values)


def nodes_of(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yields a plan node and all its descendants."""
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes_of(below)


@pytest.fixture(scope="module")
def database(postgres: Postgres) -> Iterator[Psycopg3Database]:
    """An analyzed database with the subscribers of many accounts."""
    url = postgres.new_roster()
    with unit_of_work(url) as tx, small_buckets():
        field(OURS, tx)
        SUBSCRIBERS.create_many(OURS, many_subscribers(), tx)
        revise(OURS, tx)
    with closing(connect(url)) as opened:
        # Statements that fill the tables are not statements of the service.
        opened.execute_sql("SET statement_timeout = 0")
        for filling in FILLED.values():
            opened.execute_sql(f"{filling} FROM generate_series(1, {ROWS}) AS n")
        for table, columns in COPIES.items():
            opened.execute_sql(
                f"INSERT INTO {table} (account_id, {columns}) SELECT lpad(n::text, 26, '9'),"
                f" {columns} FROM {table}, generate_series(1, {OTHER_ACCOUNTS}) AS n"
            )
        opened.execute_sql("VACUUM ANALYZE")
        yield opened


@pytest.fixture
def tx(database: Psycopg3Database) -> Iterator[RecordingTransaction]:
    """A read-only transaction that records its statements."""
    begin_reading(database)
    yield RecordingTransaction(database)
    undo(database)


@pytest.fixture(scope="module")
def ids(database: Psycopg3Database) -> list[str]:
    """The IDs of the account, oldest first."""
    query = "SELECT id FROM subscriber WHERE account_id = %s ORDER BY id"
    return [row[0] for row in database.execute_sql(query, (OURS,)).fetchall()]


def steps(tx: RecordingTransaction, filters: Any, position: PagePosition) -> list[Step]:
    """Returns the statements of a page. The first one reads it, unless it is found by counters.

    It also counts the matches, unless the page begins after an ID that is among the filters.
    """
    tx.recorded.clear()
    page(OURS, filters, position, tx)
    assert len(tx.recorded) <= 3
    return tx.recorded


def conditions(step: Step) -> list[str]:
    """Returns the search conditions of each large table. Asserts that no table is scanned."""
    found = [node for node in step.nodes if node.get("Relation Name") in BIG]
    assert [node for node in found if node["Node Type"] == "Seq Scan"] == [], step
    heaps = [node for node in found if node["Node Type"] == "Bitmap Heap Scan"]
    indexes = [node for node in step.nodes if "Index Name" in node and node not in heaps]
    # The indexes of deleted and of converted fields contain only these.
    indexes = [node for node in indexes if not node["Index Name"].startswith("custom_field_")]
    return [node.get("Index Cond", "") for node in indexes]


@each_filter
@each_order
@each_pagination
def test_every_large_table_is_searched_by_account_and_filter(
    tx: RecordingTransaction, ids: list[str], names: tuple[str, ...], descending: bool, seeks: bool
) -> None:
    position = middle(ids, seeks=seeks, descending=descending)

    for step in steps(tx, filter_of(names, ids), position):
        for condition in conditions(step):
            assert "account_id =" in condition, step
            # Only an unfiltered list scans all subscribers of the account.
            assert names == () or condition != f"(account_id = '{OURS}'::text)", step


def test_tags_and_values_of_a_row_are_found_by_its_subscriber(tx: RecordingTransaction) -> None:
    (step,) = steps(tx, EVERYONE, PagePosition(LIMIT))

    of_one = [condition for condition in conditions(step) if "subscriber_id = t1.id" in condition]
    assert len(of_one) == 2, conditions(step)


INDEXES = {
    "status": {"subscriber_account_id_status_id"},
    "tag": {"subscribertag_account_id_tag_id_subscriber_id"},
    "email": {"subscriber_account_id_email_key"},
    # Addresses with a prefix that many have are read from an index that contains their IDs.
    "prefix": {"subscriber_by_name", "subscriber_by_last_name"},
}


@each("name", INDEXES.keys())
@each_order
@each_pagination
def test_each_filter_uses_its_index(
    tx: RecordingTransaction, ids: list[str], name: str, descending: bool, seeks: bool
) -> None:
    position = middle(ids, seeks=seeks, descending=descending)

    for step in steps(tx, filter_of((name,), ids), position):
        if step.sql.startswith(TOTAL_OF_STATISTICS) or LIMITED_SCAN in step.sql:
            continue
        assert INDEXES[name] <= {node.get("Index Name") for node in step.nodes}, step


@each_ordered_filter
@each_order
def test_blocks_read_for_a_page_by_cursor_are_independent_of_its_position(
    tx: RecordingTransaction, ids: list[str], names: tuple[str, ...], descending: bool
) -> None:
    filters = filter_of(names, ids)
    places = [ids[300], ids[ROWS // 2], ids[-300]]

    costs = [
        steps(tx, filters, PagePosition(LIMIT, after=after, descending=descending))[0].blocks
        for after in places
    ]

    assert max(costs) < min(costs) * 1.5, costs


@each("bounds", BY_REVISION)
@each_order
def test_page_in_order_of_changes_reads_few_blocks_at_every_position(
    tx: RecordingTransaction, bounds: dict[str, int], descending: bool
) -> None:
    filters = tree_of(**bounds)
    first = PagePosition(ROWS, descending=descending, order_by=Order.UPDATED)
    rows = page(OURS, EVERYONE, first, tx).rows

    pages = [
        steps(tx, filters, first._replace(limit=LIMIT, after=row.id, after_key=row.revision))
        for row in (rows[300], rows[ROWS // 2], rows[-300])
    ]

    for of_page, *_ in pages:
        names_of = {node.get("Index Name") for node in of_page.nodes}
        assert "subscriber_account_id_revision_id" in names_of, of_page
        assert not [node for node in of_page.nodes if node["Node Type"] == "Sort"], of_page
    costs = [of_page.blocks for of_page, *_ in pages]
    assert max(costs) < min(costs) * 1.5, costs


@each(
    ("page", "keys"),
    {
        "tags": (tags.page, [("tag 00300", 0), ("tag 02200", 0)]),
        "suppressions": (SUPPRESSIONS.page, [("0" * 64, 3), ("0" * 64, 22)]),
    },
)
def test_page_after_an_item_reads_few_blocks_at_every_position(
    tx: RecordingTransaction, page: Any, keys: list[tuple[str, int]]
) -> None:
    tx.recorded.clear()
    for key in keys:
        rows, _, _ = page(LISTER, Page(1, LIMIT).following(*key), tx)
        assert len(rows) == LIMIT

    pages = tx.recorded[::2]
    for of_page in pages:
        kinds = {node["Node Type"] for node in of_page.nodes}
        assert kinds <= {"Limit", "Index Scan"}, of_page
    assert max(of_page.blocks for of_page in pages) < 2 * LIMIT, pages


@each_order
def test_unfiltered_page_by_offset_reads_few_blocks_at_every_offset(
    tx: RecordingTransaction, descending: bool
) -> None:
    def cost(offset: int) -> int:
        found = steps(tx, EVERYONE, PagePosition(LIMIT, offset, descending=descending))
        return sum(step.blocks for step in found)

    costs = [cost(offset) for offset in range(0, ROWS, 7 * LIMIT)]

    # Skipped subscribers would be read with their tags and values.
    assert max(costs) < costs[0] + 40, costs


@each_order
def test_page_by_offset_in_order_of_addresses_reads_their_index_only(
    tx: RecordingTransaction, descending: bool
) -> None:
    position = PagePosition(LIMIT, ROWS // 2, descending=descending, order_by=Order.EMAIL)

    (step,) = steps(tx, EVERYONE, position)

    of_keys = [node for node in step.nodes if node.get("Alias") == "keyed"]
    assert [node["Node Type"] for node in of_keys] == ["Index Only Scan"], step
    assert of_keys[0]["Index Name"] == "subscriber_account_id_email_key"


@each("order_by", [order for order in Order if order is not Order.CREATED])
def test_keys_of_many_matches_are_joined_by_hash(
    tx: RecordingTransaction, monkeypatch: pytest.MonkeyPatch, order_by: Order
) -> None:
    monkeypatch.setattr(store_orders, "MAX_LOOKED_UP", 0)
    filters = tree_of(tag="t3", status=Status.CONFIRMED)
    tx.recorded.clear()
    page(OURS, filters, PagePosition(LIMIT, LIMIT, order_by=order_by), tx)

    # The number of matches of a tag is unknown to PostgreSQL, which would look up each key.
    in_order = [step for step in tx.recorded if '"ordered"' in step.sql]
    assert in_order
    for step in in_order:
        (of_keys,) = [node for node in step.nodes if node.get("Alias") == "keyed"]
        assert "Index Only Scan" in of_keys["Node Type"], step
        assert "id =" not in of_keys.get("Index Cond", "").replace("account_id =", ""), step


@each_order
def test_page_of_a_rare_status_reads_few_blocks(
    tx: RecordingTransaction, ids: list[str], descending: bool
) -> None:
    filters = tree_of(status=Status.COMPLAINED)

    (step,) = steps(tx, filters, PagePosition(LIMIT, descending=descending))

    # Every subscriber of the rare status is read with its tags and values.
    assert step.blocks < 20 * LIMIT + 2 * ROWS // RARE


def test_lookup_by_address_reads_few_blocks(tx: RecordingTransaction) -> None:
    for step in steps(tx, tree_of(**FILTERS["email"]), PagePosition(LIMIT)):
        assert step.blocks < 30, step


@each(
    ("text", "index"),
    (
        ("email.domain=z.de", "subscriber_by_domain"),
        ('email.domain="z*"', "subscriber_by_domain"),
        ('email.domain="ü*"', "subscriber_by_email_unicode"),
    ),
)
def test_few_addresses_with_a_domain_are_found_by_their_index(
    tx: RecordingTransaction, text: str, index: str
) -> None:
    filters = tree_of(text)
    tx.recorded.clear()
    page(OURS, filters, PagePosition(LIMIT), tx)

    of_domains = [step for step in tx.recorded if "split_part" in step.sql.lower()]
    assert of_domains
    for step in of_domains:
        assert index in {node.get("Index Name") for node in step.nodes}, step


@each_order
def test_page_and_total_of_a_common_domain_read_the_index_of_domains(
    postgres: Postgres, descending: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "MAX_CANDIDATES", 20)
    url, common = postgres.new_roster(), range(0, ROWS, 10)
    people = many_subscribers()
    for number in common:
        text = f"u{number}@y.de"
        people[number] = people[number]._replace(email=Email(text, text))
    with unit_of_work(url) as own, small_buckets():
        field(OURS, own)
        SUBSCRIBERS.create_many(OURS, people, own)
    with closing(connect(url)) as opened:
        opened.execute_sql("VACUUM ANALYZE")
        begin_reading(opened)
        tx = RecordingTransaction(opened)
        filters = tree_of("email.domain=y.de")
        found = page(OURS, filters, PagePosition(LIMIT, descending=descending), tx)
        undo(opened)

    assert found.total == len(common)
    of_domains = [step for step in tx.recorded if "split_part" in step.sql.lower()]
    assert len(of_domains) == 3
    for step in of_domains:
        assert "subscriber_by_domain" in {node.get("Index Name") for node in step.nodes}, step
        assert not [node for node in step.nodes if node["Node Type"] == "Sort"], step


def test_spellings_of_a_gmail_address_are_found_by_their_index(tx: RecordingTransaction) -> None:
    tx.recorded.clear()
    tx.all(signups._SPELLINGS, account_id=OURS, user="u3")

    (step,) = tx.recorded
    assert [node.get("Index Name") for node in step.nodes][-1] == "subscriber_by_mailbox"


def test_statements_with_one_plan_search_their_tables_by_account(
    database: Psycopg3Database, postgres: Postgres
) -> None:
    url = postgres.new_roster()
    statements = {name: it for name, it in every_statement().items() if it.has_one_plan}
    scans = {}

    with closing(connect(url)) as empty:
        for opened in (empty, database):
            for name, statement in statements.items():
                text = f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {numbered(statement)[0]}"
                ((output,),) = opened.connection().execute(text, prepare=False).fetchall()
                nodes = list(nodes_of(output[0]["Plan"]))
                tables = {node.get("Relation Name") for node in nodes if "Seq" in node["Node Type"]}
                if tables:
                    scans[name] = tables

    assert len(statements) > 30
    assert scans == {}
