"""Filter expressions on both databases, compared with an evaluator."""

from __future__ import annotations

from random import Random, randrange
from typing import Any

import pytest

from rosterd.server.features.custom_fields.store import types
from rosterd.server.features.subscribers.fields import SubscriberRow
from rosterd.server.features.subscribers.query import evaluation, plan, store_pages
from rosterd.server.features.subscribers.query.conditions import conditions_of
from rosterd.server.features.subscribers.query.plan import COUNT_ALL, Counting, Order, PagePosition
from rosterd.server.features.subscribers.query.store_pages import find_matches, ids_after
from rosterd.server.features.subscribers.query.syntax import parse
from rosterd.server.storage.transaction import Transaction

from .filters import NOW, create_people, matches, random_filter, random_people, store_people
from .helpers import OURS, after_page, in_order, list_subscribers, tree_of

PEOPLE = 100


@pytest.mark.parametrize("filters", [5, pytest.param(50, marks=pytest.mark.verify)])
@pytest.mark.parametrize("most", [0, PEOPLE], ids=["set operations", "lookups"])
def test_filters_select_the_same_subscribers_as_the_evaluator(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch, most: int, filters: int
) -> None:
    monkeypatch.setattr(plan, "MAX_LOOKED_UP", most)
    monkeypatch.setattr(plan, "MAX_CANDIDATES", most)
    monkeypatch.setattr(store_pages, "MIN_DIVIDED", PEOPLE)
    seed = randrange(1 << 32)
    rng = Random(seed)
    people = create_people(PEOPLE, rng, tx)
    field_types = types(OURS, tx)

    for _ in range(filters):
        text = random_filter(rng)
        tree = parse(text)
        conditions = conditions_of(tree, field_types, NOW)
        matching = [row for row in people if matches(tree, row)]
        expected = [row.email for row in matching]
        stored = [row.email for row in people if evaluation.matches_stored(conditions, row)]
        assert stored == expected, (seed, text)
        for order_by in Order:
            position = PagePosition(PEOPLE, order_by=order_by)
            found = list_subscribers(OURS, tx, conditions, position)
            assert found.rows == in_order(matching, order_by, False), (seed, text)
            assert found.total == len(expected)
            # Counted, because it is not the last page.
            first = list_subscribers(OURS, tx, conditions, position._replace(limit=1))
            assert first.total == len(expected), (seed, text)
            # Located by numbers of parts in the order of IDs.
            for descending in (False, True):
                second = position._replace(limit=3, offset=4, descending=descending)
                counting = rng.choice([COUNT_ALL, Counting(0), Counting(5)])
                found = list_subscribers(OURS, tx, conditions, second, counting)
                ordered = in_order(matching, order_by, descending)
                assert found.rows == ordered[4:7], (seed, text)
                assert found.more == (len(ordered) > 7), (seed, text)
                total = min(len(expected), counting.up_to) if counting.up_to else None
                assert found.total == total, (seed, text, counting)
        ids = [row.id for row in people]
        half = find_matches(OURS, ids[: PEOPLE // 2], conditions, tx)
        assert [row.email for row in half] == [
            row.email for row in people[: PEOPLE // 2] if row.email in expected
        ], (seed, text)
        following = ids_after(OURS, conditions, ids[9], PEOPLE, tx)
        assert following == [row.id for row in people[10:] if row.email in expected]


def test_rows_of_an_import_match_the_filters_that_select_them_when_stored(tx: Transaction) -> None:
    seed = randrange(1 << 32)
    rng = Random(seed)
    people = random_people(PEOPLE, rng)
    store_people(people, tx)
    field_types = types(OURS, tx)

    for _ in range(50):
        text = random_filter(rng)
        if "updatedAt" in text:
            continue
        conditions = conditions_of(parse(text), field_types, NOW)
        found = list_subscribers(OURS, tx, conditions, PagePosition(PEOPLE))
        expected = {row.email for row in found.rows}
        matching = {
            new.email.address for new in people if evaluation.matches(conditions, new, tx.now)
        }
        assert matching == expected, (seed, text)


def test_filters_are_combined_with_other_filters_orders_and_pages(tx: Transaction) -> None:
    people = create_people(PEOPLE, Random(1), tx)
    text = 'NOT tags:"vip"'
    tree = parse(text)
    given: dict[str, Any]
    for given in ({}, {"status": 2}, {"tag": "news"}, {"updated_after": 0}):
        expected = [
            row
            for row in people
            if matches(tree, row)
            and given.get("status", row.status) == row.status
            and ("tag" not in given or given["tag"] in row.tags)
        ]
        for order_by in Order:
            position = PagePosition(7, order_by=order_by)
            found: list[SubscriberRow] = []
            while True:
                page = list_subscribers(OURS, tx, tree_of(text, **given), position)
                assert page.total == len(expected)
                found += page.rows
                if not page.more:
                    break
                position = after_page(position, page)
            assert found == in_order(expected, order_by, False)


@pytest.mark.parametrize("text", ["confirmedAt:*", "NOT firstName:*", "tags:*", 'tags:"vip"'])
@pytest.mark.parametrize("most", [0, PEOPLE], ids=["scan", "lookups"])
def test_a_filter_applies_to_the_matches_of_a_search(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch, most: int, text: str
) -> None:
    monkeypatch.setattr(plan, "MAX_LOOKED_UP", most)
    people = create_people(PEOPLE, Random(3), tx)
    search = tree_of(q="a")
    tree, everyone = parse(text), PagePosition(PEOPLE)
    in_search = {row.id for row in list_subscribers(OURS, tx, search, everyone).rows}
    expected = [row for row in people if row.id in in_search and matches(tree, row)]
    assert 0 < len(expected) < len(in_search)

    filters = tree_of(text, q="a")
    for order_by in Order:
        page = list_subscribers(OURS, tx, filters, everyone._replace(order_by=order_by))
        assert page.rows == in_order(expected, order_by, False)
        assert page.total == len(expected)


def test_bounds_of_a_filter_at_1970_are_bounds(tx: Transaction) -> None:
    create_people(3, Random(2), tx)
    for text, total in (
        ("updatedAt >= 1970-01-01", 3),
        ("updatedAt > 1960-01-01", 3),
        ("updatedAt < 1970-01-01", 0),
        ("updatedAt < 1970-01-01 AND updatedAt < 2100-01-01", 0),
        ("createdAt = 1970-01-01 AND createdAt < 2100-01-01", 0),
        ("updatedAt > 1960-01-01 AND updatedAt > 2100-01-01", 0),
    ):
        filters = tree_of(text)
        assert list_subscribers(OURS, tx, filters).total == total, text


@pytest.mark.parametrize("most", [0, PEOPLE], ids=["many", "few"])
@pytest.mark.parametrize("descending", [False, True])
def test_pages_by_number_of_an_address_prefix(
    tx: Transaction, monkeypatch: pytest.MonkeyPatch, most: int, descending: bool
) -> None:
    monkeypatch.setattr(plan, "MAX_CANDIDATES", most)
    people = create_people(PEOPLE, Random(4), tx)
    if descending:
        people.reverse()
    in_unicode = next(row.email for row in people if "@bü" in row.email)
    position = PagePosition(3, offset=2, descending=descending)
    for text in ('email="a*"', f'email="a*" OR email="{in_unicode[:-4]}*"'):
        tree = parse(text)
        expected = [row.id for row in people if matches(tree, row)]
        filters = conditions_of(tree, {}, NOW)

        page = list_subscribers(OURS, tx, filters, position)

        assert [row.id for row in page.rows] == expected[2:5]
        assert page.total == len(expected)

    tree = parse(f'email="{in_unicode[:-4]}*"')
    page = list_subscribers(OURS, tx, conditions_of(tree, {}, NOW))
    assert in_unicode in [row.email for row in page.rows]
