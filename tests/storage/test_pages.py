"""Pages of subscribers for each filter and order, compared with a filter in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product
from random import Random
from typing import Any

import pytest

from rosterd.server.features.subscribers.fields import Status, SubscriberRow
from rosterd.server.features.subscribers.query import store_pages, store_search
from rosterd.server.features.subscribers.query.plan import COUNT_ALL, Counting, Order, PagePosition
from rosterd.server.features.subscribers.query.store_pages import SubscriberPage, page_without_total
from rosterd.server.features.subscribers.rules import NO_CONSENT_RECORD, NewSubscriber, search_text
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
    after_page,
    field,
    in_order,
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
            NO_CONSENT_RECORD._replace(status_changed_at=random.choice([None, -5, 0, 7, 7])),
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


def traversed(
    tree: Any, position: PagePosition, tx: Transaction, counting: Counting = COUNT_ALL
) -> Iterator[SubscriberPage]:
    """Yields the pages after each other, each after the last subscriber of the previous one."""
    while True:
        found = page(OURS, tree, position, tx, counting)
        yield found
        if not found.more:
            return
        position = after_page(position, found)
        counting = counting._replace(known=found.total)


@pytest.mark.parametrize("descending", [False, True], ids=["ascending", "descending"])
@each("order_by", list(Order))
@each("names", PAIRS)
def test_pages_contain_the_matches_in_order_by_offset_and_by_cursor(
    tx: Transaction,
    rows: list[SubscriberRow],
    names: tuple[str, ...],
    order_by: Order,
    descending: bool,
) -> None:
    filters = tree_of(**given(names, rows))
    expected = in_order(matching(rows, given(names, rows)), order_by, descending)
    assert expected

    for limit in (7, ROWS):
        first = PagePosition(limit, descending=descending, order_by=order_by)
        by_number = [
            page(OURS, filters, first._replace(offset=offset), tx)
            for offset in range(0, len(expected), limit)
        ]
        by_cursor = [*traversed(filters, first, tx)]
        assert by_number == by_cursor
        assert [row for found in by_cursor for row in found.rows] == expected
        assert {found.total for found in by_cursor} == {len(expected)}
        if order_by is Order.CREATED:
            assert page_without_total(OURS, filters, first, tx) == by_cursor[0].rows


@each("scans", {"scan": (1_000, 0), "scan that finds too few": (0, 0), "sort": (4, 1_000)})
@each("order_by", [order for order in Order if order is not Order.CREATED])
@each("counting", {"exact": COUNT_ALL, "none": Counting(0), "at most": Counting(3)})
def test_filtered_list_has_the_same_order_in_both_ways(
    tx: Transaction,
    rows: list[SubscriberRow],
    monkeypatch: pytest.MonkeyPatch,
    order_by: Order,
    scans: tuple[int, int],
    counting: Counting,
) -> None:
    factor, cost = scans
    monkeypatch.setattr(store_search, "SCAN_FACTOR", factor)
    monkeypatch.setattr(store_search, "SCAN_COST", cost)
    monkeypatch.setattr(store_search, "UNKNOWN_FACTORS", (factor,) if factor else ())
    filters = tree_of('NOT firstName="Bob" AND NOT (tags:vip AND status=BOUNCED)')
    expected = in_order([row for row in rows if is_kept(row)], order_by, False)

    found = [*traversed(filters, PagePosition(3, order_by=order_by), tx, counting)]

    assert [row for each in found for row in each.rows] == expected
    total = min(len(expected), counting.up_to) if counting.up_to else None
    assert {each.total for each in found} == {total}


def is_kept(row: SubscriberRow) -> bool:
    is_bounced_vip = "Vip" in row.tags and row.status == Status.BOUNCED
    return row.first_name != "Bob" and not is_bounced_vip


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


@each("most", (0, 1, 5, ROWS))
def test_total_of_changes_is_the_same_however_it_is_counted(
    tx: Transaction, rows: list[SubscriberRow], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(store_pages, "MAX_OTHERS", most)
    revisions = [0, *(row.revision for row in rows[::5]), rows[-1].revision + 1]
    for after, before in product([None, *revisions], repeat=2):
        bounds = {"updated_after": after, "updated_before": before}
        expected = [
            row
            for row in rows
            if (after is None or row.revision > after) and (before is None or row.revision < before)
        ]
        found = page(OURS, tree_of(**bounds), PagePosition(3, order_by=Order.UPDATED), tx)

        assert (found.rows, found.total) == (expected[:3], len(expected)), bounds


def test_account_without_subscribers_has_no_matches(
    tx: Transaction, rows: list[SubscriberRow]
) -> None:
    for names in PAIRS:
        assert list_subscribers("2" * 26, tx, tree_of(**given(names, rows)))[:3] == ([], 0, False)
