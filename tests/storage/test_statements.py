"""Statements: built once, by name, and as many for a hundred rows as for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from peewee import SQL, SqliteDatabase

from server.cli.beside import unit_of_work
from server.custom_fields import store as custom_fields
from server.emails import Email
from server.paging import Page
from server.storage.statements import SqliteDialect, Statement, param
from server.storage.transaction import Transaction
from server.subscribers import store as subscribers
from server.subscribers.rules import NewSubscriber, Status
from server.tags import store as tags
from server.tags.models import Tag
from server.tags.rules import distinct

ACCOUNT = "0" * 26
TAGS = [f"tag {number}" for number in range(20)]


@pytest.fixture
def tx(tmp_path: Path) -> Iterator[Transaction]:
    """A transaction on a fresh file."""
    with unit_of_work(f"sqlite:///{tmp_path}/roster.db") as transaction:
        yield transaction


def new(number: int, names: list[str] | None = None) -> NewSubscriber:
    """A subscriber of its own address, with many tags unless told otherwise."""
    address = f"{number}@example.com"
    own = distinct(TAGS if names is None else names)
    return NewSubscriber(Email(address, address), "", "", Status.CONFIRMED, own)


def cost(tx: Transaction, work: Callable[[], Any]) -> int:
    """Returns how many statements the work takes."""
    before = tx.statements
    work()
    return tx.statements - before


def bulk(tx: Transaction, *numbers: int, names: list[str] | None = None) -> set[int]:
    """Stores subscribers by number and returns the indexes of those that were taken."""
    return subscribers.create_many(ACCOUNT, {n: new(n, names) for n in numbers}, tx)


def test_page_of_subscribers_with_tags_costs_the_same_whatever_it_holds(tx: Transaction) -> None:
    bulk(tx, *range(100))

    one, hundred = (
        cost(tx, lambda limit=limit: subscribers.page(ACCOUNT, Page(1, limit), tx))  # type: ignore[misc]
        for limit in (1, 100)
    )

    assert one == hundred <= 4
    rows, total = subscribers.page(ACCOUNT, Page(1, 100), tx)
    assert (len(rows), total, len(rows[99].tags)) == (100, 100, len(TAGS))


def test_bulk_costs_the_same_whatever_it_holds(tx: Transaction) -> None:
    many = [f"new {number}" for number in range(100)]

    one = cost(tx, lambda: bulk(tx, 0))
    hundred = cost(tx, lambda: bulk(tx, *range(1, 101), names=many))

    assert one == hundred <= 7


def test_bulk_of_taken_addresses_costs_two_statements(tx: Transaction) -> None:
    bulk(tx, *range(100))

    assert cost(tx, lambda: bulk(tx, 5)) == 2
    assert cost(tx, lambda: bulk(tx, *range(100))) == 2


def test_empty_bulk_costs_nothing(tx: Transaction) -> None:
    assert cost(tx, lambda: bulk(tx)) == 0


@pytest.mark.parametrize("operation", ["create", "find", "update", "delete"])
def test_one_subscriber_costs_the_same_with_one_tag_and_with_many(
    tx: Transaction, operation: str
) -> None:
    def costs(names: list[str]) -> int:
        number = len(names)
        create = cost(tx, lambda: subscribers.create(ACCOUNT, new(number, names), tx))
        row = subscribers.find_by_email(ACCOUNT, new(number).email, tx)
        changes = subscribers.Changes(first_name="Ada", tags=distinct([*names, f"{number}"]))
        return {
            "create": create,
            "find": cost(tx, lambda: subscribers.find(ACCOUNT, row.id, tx)),
            "update": cost(tx, lambda: subscribers.update(ACCOUNT, row.id, changes, tx)),
            "delete": cost(tx, lambda: subscribers.delete(ACCOUNT, row.id, tx)),
        }[operation]

    assert costs(["a"]) == costs([f"b{number}" for number in range(99)])


@pytest.mark.parametrize("count", [1, 100])
def test_tags_are_found_by_one_statement_and_made_by_three(tx: Transaction, count: int) -> None:
    names = distinct([str(number) for number in range(count)])

    assert cost(tx, lambda: tags.ensure(ACCOUNT, names, tx)) == 3
    assert cost(tx, lambda: tags.ensure(ACCOUNT, names, tx)) == 1


@pytest.mark.parametrize("store", [tags, custom_fields], ids=lambda store: store.__name__)
def test_page_of_other_resources_costs_two_statements(tx: Transaction, store: Any) -> None:
    assert cost(tx, lambda: store.page(ACCOUNT, Page(1, 100), tx)) == 2


STATEMENTS = {
    f"{store.__name__.split('.')[1]}.{name}": statement
    for store in (tags, custom_fields, subscribers)
    for name, statement in vars(store).items()
    if isinstance(statement, Statement) and name != "_NEWEST"
}


class Asked(dict[str, list[Any]]):
    """Values that are made up and kept as they are asked for."""

    def __missing__(self, name: str) -> list[Any]:
        return self.setdefault(name, [])


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_query_of_an_accounts_data_names_the_account(name: str) -> None:
    prepared, asked = STATEMENTS[name].prepared(SqliteDialect(), SqliteDatabase(None)), Asked()

    prepared.arguments(asked, SqliteDialect())

    assert "account_id" in asked
    if not prepared.sql.startswith("INSERT"):
        assert '"account_id" = ?' in prepared.sql


def test_statement_is_built_once() -> None:
    built = []
    statement = Statement(lambda dialect: built.append(dialect) or Tag.select(Tag.id))  # type: ignore[func-returns-value]

    first = statement.prepared(SqliteDialect(), SqliteDatabase(None))

    assert statement.prepared(SqliteDialect(), SqliteDatabase(None)) is first
    assert len(built) == 1


def test_values_are_put_in_the_order_of_the_text() -> None:
    query = Tag.select(Tag.id).where((Tag.name == param("b")) & (Tag.id == param("a")))
    prepared = Statement(lambda _: query).prepared(SqliteDialect(), SqliteDatabase(None))

    assert prepared.arguments({"a": 1, "b": 2}, SqliteDialect()) == [2, 1]


def test_text_does_not_depend_on_the_length_of_a_list(tx: Transaction) -> None:
    statement = Statement(lambda dialect: Tag.select(Tag.id).where(dialect.any_of(Tag.id, "ids")))
    prepared = statement.prepared(SqliteDialect(), SqliteDatabase(None))

    assert prepared.sql.count("?") == 1
    for ids in ([], ["a"], ["a'\"\\%_", "ü"] * 1_000):
        assert tx.all(statement, ids=ids) == []


@pytest.mark.parametrize(
    "query",
    [Tag.select(Tag.id).where(Tag.name == "x"), SQL("SELECT ?", [1])],
    ids=["comparison", "text"],
)
def test_statement_with_a_value_of_its_own_is_refused(query: Any) -> None:
    with pytest.raises(TypeError, match="named parameters"):
        Statement(lambda _: query).prepared(SqliteDialect(), SqliteDatabase(None))


def test_missing_value_is_an_error_and_not_null(tx: Transaction) -> None:
    with pytest.raises(KeyError):
        tx.all(Statement(lambda _: Tag.select(Tag.id).where(Tag.id == param("id"))))
