"""Statements are built once, take named arguments, and their number does not depend on the number
of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pytest
from peewee import SQL, SqliteDatabase

from rosterd.server.features.subscribers.counters import store_counting
from rosterd.server.features.subscribers.fields import Status
from rosterd.server.features.subscribers.query.plan import PagePosition
from rosterd.server.features.subscribers.rules import ConsentRecord, Failure
from rosterd.server.features.subscribers.store import Changes, CreateManyResult
from rosterd.server.features.subscribers.store_reading import find
from rosterd.server.features.tags.models import Tag
from rosterd.server.features.tags.rules import distinct
from rosterd.server.storage.dialects import SqliteDialect
from rosterd.server.storage.postgres.transaction import WriteTransaction
from rosterd.server.storage.statements import Statement, cached_by_account
from rosterd.server.storage.transaction import Transaction

from .helpers import (
    OURS,
    SUBSCRIBERS,
    email,
    field,
    list_subscribers,
    new,
    statements_of,
)

TAGS = [f"tag {number}" for number in range(20)]
VALUES = {f"field_{number}": f"value {number}" for number in range(20)}


@pytest.fixture
def fields(tx: Transaction) -> None:
    """The custom fields of `VALUES`."""
    for key in VALUES:
        field(OURS, tx, key)


def bulk(
    tx: Transaction,
    numbers: Sequence[int],
    names: Sequence[str] = TAGS,
    values: Mapping[str, Any] | None = None,
) -> CreateManyResult:
    """Stores numbered subscribers, by default with many tags."""
    rows = {number: new(f"{number}", *names, values=values) for number in numbers}
    return SUBSCRIBERS.create_many(OURS, rows, tx)


def suppress(tx: Transaction, name: str) -> None:
    """Creates and deletes a subscriber who has unsubscribed."""
    row = SUBSCRIBERS.create(OURS, new(name, status=Status.UNSUBSCRIBED), tx)
    SUBSCRIBERS.delete(OURS, row.id, tx)


@pytest.fixture
def one_subscriber(tx: Transaction) -> None:
    """A subscriber, so that the account has a counter bucket."""
    SUBSCRIBERS.create(OURS, new("one_subscriber"), tx)


@pytest.mark.usefixtures("fields")
@pytest.mark.parametrize("limit", [1, 20, 100])
def test_page_of_subscribers_with_tags_and_values_costs_one_statement(
    tx: Transaction, limit: int
) -> None:
    bulk(tx, range(100), values=VALUES)

    assert statements_of(tx, lambda: list_subscribers(OURS, tx, position=PagePosition(limit))) == 1
    found = list_subscribers(OURS, tx, position=PagePosition(limit))
    assert (len(found.rows), found.total) == (limit, 100)
    assert (len(found.rows[-1].tags), found.rows[-1].values) == (len(TAGS), VALUES)


@pytest.mark.usefixtures("fields")
def test_page_by_offset_costs_one_more_statement_except_near_the_end(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_counting, "BUCKET_SIZE", 20)
    bulk(tx, range(100))

    assert statements_of(tx, lambda: list_subscribers(OURS, tx, position=PagePosition(5, 90))) == 2
    for offset in (5, 25, 60):
        position = PagePosition(5, offset)
        assert statements_of(tx, partial(list_subscribers, OURS, tx, position=position)) == 3
    assert statements_of(tx, lambda: list_subscribers(OURS, tx, position=PagePosition(5, 100))) == 1


@pytest.mark.usefixtures("one_subscriber")
@pytest.mark.parametrize("rows", [1, 100])
def test_bulk_cost_is_independent_of_its_rows(tx: Transaction, rows: int) -> None:
    # Suppressions; last revision; subscribers; their count; tags: select, insert, select; links;
    # statistics.
    assert statements_of(tx, lambda: bulk(tx, range(rows))) == 9
    # The tags are cached now.
    assert statements_of(tx, lambda: bulk(tx, range(rows, 2 * rows))) == 7
    many = [f"new {number}" for number in range(100)]
    assert statements_of(tx, lambda: bulk(tx, range(1000, 1000 + rows), many)) == 9


@pytest.mark.parametrize("buckets", [1, 12])
def test_bulk_of_past_times_costs_three_more_statements_for_any_number_of_counter_buckets(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch, buckets: int
) -> None:
    monkeypatch.setattr(store_counting, "BUCKET_SIZE", 20)

    def bulk_at(times: Sequence[int]) -> None:
        records = {time: ConsentRecord(created_at=time) for time in times}
        rows = {time: new(f"{time}")._replace(consent_record=records[time]) for time in times}
        assert len(SUBSCRIBERS.create_many(OURS, rows, tx).ids) == len(rows)

    bulk_at(range(0, 3_000, 10))

    newest = statements_of(tx, lambda: bulk_at([4_000]))
    # The start of the open bucket; the buckets and groups; their new counts.
    past = range(5, 5 + 200 * buckets, 200)
    assert statements_of(tx, lambda: bulk_at(past)) == newest + 3


@pytest.mark.usefixtures("fields")
@pytest.mark.parametrize("rows", [3, 100])
def test_bulk_with_tags_values_and_events_costs_twelve_statements(
    tx: Transaction, rows: int
) -> None:
    suppress(tx, "1")
    SUBSCRIBERS.create(OURS, new("0"), tx)

    # PostgreSQL returns the inserted rows, and SQLite selects them.
    expected = 12 if isinstance(tx, WriteTransaction) else 13
    assert statements_of(tx, lambda: bulk(tx, range(rows), values=VALUES)) == expected
    refused = bulk(tx, range(rows), values=VALUES).row_errors
    assert refused[0].failure == Failure.ALREADY_EXISTS
    assert refused[1].failure == Failure.SUPPRESSED


def test_bulk_of_existing_addresses_costs_three_statements(tx: Transaction) -> None:
    bulk(tx, range(100))

    assert statements_of(tx, lambda: bulk(tx, [5])) == 3
    assert statements_of(tx, lambda: bulk(tx, range(100))) == 3


@pytest.mark.usefixtures("fields", "one_subscriber")
@pytest.mark.parametrize("operation", ["create", "find", "update", "delete"])
def test_cost_of_a_subscriber_is_independent_of_its_tags_and_values(
    tx: Transaction, operation: str
) -> None:
    def costs(names: list[str], values: dict[str, str]) -> int:
        name = f"{len(names)}"
        create = statements_of(
            tx, lambda: SUBSCRIBERS.create(OURS, new(name, *names, values=values), tx)
        )
        row = find(OURS, email(name), tx)
        changes = Changes(
            profile={"first_name": "Eve"}, tags=distinct([*names, f"tag {name}"]), values=values
        )
        return {
            "create": create,
            "find": statements_of(tx, lambda: find(OURS, row.id, tx)),
            "update": statements_of(tx, lambda: SUBSCRIBERS.update(OURS, row.id, changes, tx)),
            "delete": statements_of(tx, lambda: SUBSCRIBERS.delete(OURS, row.id, tx)),
        }[operation]

    one = costs(["a"], {"field_0": "x"})
    assert one == costs([f"b{number}" for number in range(99)], VALUES)


@pytest.mark.parametrize(
    "query",
    [Tag.select(Tag.id).where(Tag.name == "x"), SQL("SELECT ?", [1])],
    ids=["comparison", "text"],
)
def test_statement_with_a_literal_value_is_rejected(query: Any) -> None:
    with pytest.raises(TypeError, match="named parameters"):
        Statement(lambda _: query).prepared(SqliteDialect(), SqliteDatabase(None))


def test_account_with_many_statements_replaces_its_own() -> None:
    made: list[int] = []

    @cached_by_account(4)
    def statement(number: int) -> Statement:
        made.append(number)
        return Statement(lambda _: SQL("SELECT 1"))

    for number in (1, 2):
        statement("ours", number)
    for number in range(10, 20):
        statement("theirs", number)
    for number in (1, 2, 19):
        statement("ours", number)

    assert made == [1, 2, *range(10, 20)]
