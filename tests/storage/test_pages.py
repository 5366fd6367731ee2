"""Pages of subscribers for each filter and order, compared with a filter in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from random import Random
from typing import Any

import pytest

from rosterd.server.features.subscribers.fields import Status, SubscriberRow
from rosterd.server.features.subscribers.query import store_search
from rosterd.server.features.subscribers.query.plan import PagePosition
from rosterd.server.features.subscribers.query.store_pages import page_without_total
from rosterd.server.features.subscribers.rules import NewSubscriber, search_text
from rosterd.server.features.tags.rules import distinct
from rosterd.server.storage.transaction import Transaction
from rosterd.server.values.emails import Email
from rosterd.server.values.texts import caseless_key

from ..cases import each
from .conftest import STORES, fresh
from .helpers import (
    EVERYONE,
    OURS,
    SUBSCRIBERS,
    THEIRS,
    field,
    list_subscribers,
    page,
    profile,
    tree_of,
)

ROWS = 40
NAMES = [
    "Ada",
    "ada",
    "Ada王",
    "Adam",
    "Bob",
    "É",
    "E\u0301mile",
    "Lovelace",
    "King Love",
    "",
    " ",
    "\U0010ffff",
]
TAGS = ["Vip", "new", "50% _off_", "ÉTÉ"]
TAG_SETS = [names for size in range(4) for names in combinations(TAGS, size)]


@pytest.fixture(scope="module", params=STORES)
def tx(request: pytest.FixtureRequest) -> Iterator[Transaction]:
    """A read-only transaction with many subscribers of two accounts."""
    with fresh(request) as transaction:
        for account in (OURS, THEIRS):
            field(account, transaction)
            SUBSCRIBERS.create_many(account, random_subscribers(Random(account)), transaction)
        yield transaction


def random_subscribers(random: Random) -> dict[int, NewSubscriber]:
    """Returns subscribers with few distinct values."""
    return {
        number: NewSubscriber(
            Email(f"{address}@x.de", f"{address}@x.de".lower()),
            profile(random.choice(NAMES), random.choice(NAMES)),
            random.choice(list(Status)),
            distinct(list(random.choice(TAG_SETS))),
            random.choice([{}, {"city": "Paris"}]),
        )
        for number in range(ROWS)
        for address in [f"{random.choice(['ada', 'b_b', 'Love', '%'])}{number}"]
    }


@each(
    ("factor", "cost"), {"scan": (1_000, 0), "scan that finds too few": (0, 0), "sort": (4, 1_000)}
)
@pytest.mark.parametrize("descending", [False, True], ids=["asc", "desc"])
def test_search_has_the_same_pages_in_both_ways(
    tx: Transaction,
    rows: list[SubscriberRow],
    monkeypatch: pytest.MonkeyPatch,
    factor: int,
    cost: int,
    descending: bool,
) -> None:
    monkeypatch.setattr(store_search, "SCAN_FACTOR", factor)
    monkeypatch.setattr(store_search, "SCAN_COST", cost)
    for text in ("ad", "love", "a@x", "ada1@"):
        filters = tree_of(q=text)
        expected = matching(rows, {"q": text})[:: -1 if descending else 1]
        found: list[str] = []
        position = PagePosition(3, descending=descending)
        while True:
            result = page(OURS, filters, position, tx)
            assert result.total == len(expected)
            found += [row.id for row in result.rows]
            if not result.more:
                break
            position = position._replace(after=found[-1])
        assert found == [row.id for row in expected]
        by_offset = page(OURS, filters, PagePosition(3, 2, descending=descending), tx)
        assert [row.id for row in by_offset.rows] == found[2:5]


@pytest.fixture(scope="module")
def rows(tx: Transaction) -> list[SubscriberRow]:
    """All subscribers of the account, oldest first."""
    return page(OURS, EVERYONE, PagePosition(ROWS + 1), tx).rows


# The arguments of each filter, computed from all subscribers of the account.
FILTERS: dict[str, Callable[[list[SubscriberRow]], dict[str, Any]]] = {
    "status": lambda rows: {"status": Status.BOUNCED},
    "tag": lambda rows: {"tag": caseless_key("VIP")},
    "search": lambda rows: {"q": "AD"},
    "first id": lambda rows: {"first_id": rows[10].id},
    "end id": lambda rows: {"end_id": rows[-10].id},
    # The address of a subscriber that matches all other filters.
    "email": lambda rows: {"email": matching(rows, given(OTHERS, rows))[0].email_key},
}
OTHERS: tuple[str, ...] = tuple(name for name in FILTERS if name != "email")
PAIRS = [(), *combinations(FILTERS, 1), *combinations(FILTERS, 2), tuple(FILTERS)]


def given(names: tuple[str, ...], rows: list[SubscriberRow]) -> dict[str, Any]:
    """Returns the parameters of the named filters."""
    return {key: value for name in names for key, value in FILTERS[name](rows).items()}


def matching(rows: list[SubscriberRow], parameters: dict[str, Any]) -> list[SubscriberRow]:
    """Returns the matching subscribers, oldest first."""
    return [row for row in rows if matches(row, **parameters)]


def matches(
    row: SubscriberRow,
    *,
    status: int | None = None,
    tag: str | None = None,
    email: str | None = None,
    q: str = "",
    first_id: str = "",
    end_id: str = "~",
) -> bool:
    """Returns whether a subscriber matches the parameters, computed in Python."""
    first, last = search_text(row.first_name), search_text(row.last_name)
    names = [" ".join(filter(None, [first, last])), last]
    return all(
        [
            status in (None, row.status),
            tag is None or tag in map(caseless_key, row.tags),
            email in (None, row.email_key),
            row.email_key.startswith(q.lower())
            or any(name and name.startswith(search_text(q)) for name in names),
            first_id <= row.id < end_id,
        ]
    )


@pytest.mark.parametrize("descending", [False, True], ids=["oldest first", "newest first"])
@each("names", PAIRS)
def test_pages_contain_the_matches_in_order_by_offset_and_by_cursor(
    tx: Transaction, rows: list[SubscriberRow], names: tuple[str, ...], descending: bool
) -> None:
    filters = tree_of(**given(names, rows))
    expected = matching(rows, given(names, rows))[:: -1 if descending else 1]
    assert expected

    for limit in (2, 7, ROWS):
        by_offset, by_id, after = [], [], None
        for offset in range(0, len(expected) or 1, limit):
            found = page(OURS, filters, PagePosition(limit, offset, descending=descending), tx)
            by_offset += found.rows
            position = PagePosition(limit, after=after, descending=descending)
            cursor_rows = page(OURS, filters, position, tx)
            assert page_without_total(OURS, filters, position, tx) == cursor_rows.rows
            by_id += cursor_rows.rows
            after = cursor_rows.rows[-1].id if cursor_rows.rows else None
            assert found == cursor_rows
            assert (found.total, found.more) == (len(expected), offset + limit < len(expected))
        assert by_offset == by_id == expected


@pytest.mark.parametrize("descending", [False, True], ids=["oldest first", "newest first"])
def test_cursor_outside_the_bounds_starts_at_the_bound(
    tx: Transaction, rows: list[SubscriberRow], descending: bool
) -> None:
    filters = tree_of(first_id=rows[10].id, end_id=rows[20].id)
    before, behind = (rows[-1].id, rows[0].id) if descending else (rows[0].id, rows[-1].id)
    expected = rows[19:9:-1] if descending else rows[10:20]

    def ids(after: str) -> list[SubscriberRow]:
        return page(OURS, filters, PagePosition(100, after=after, descending=descending), tx).rows

    assert ids(before) == expected
    assert ids(behind) == []


def test_account_without_subscribers_has_no_matches(
    tx: Transaction, rows: list[SubscriberRow]
) -> None:
    for names in PAIRS:
        assert list_subscribers("2" * 26, tx, tree_of(**given(names, rows))) == ([], 0, False)
