"""How lists are read, as planned from their conditions and from numbers of subscribers."""

from __future__ import annotations

from typing import Any

from rosterd.server.features.subscribers.query.plan import (
    MAX_CANDIDATES,
    MAX_LOOKED_UP,
    Order,
    PagePosition,
    Reading,
    Strategy,
    plan_of,
    reading_of,
    with_numbers,
)
from rosterd.server.features.subscribers.query.tree import Condition

from ..cases import each
from ..storage.helpers import EVERYONE, tree_of

FIRST, ID = PagePosition(20), "0" * 26
SECOND, AFTER = FIRST._replace(offset=20), FIRST._replace(after=ID)
UPDATED, BY_NAME = (FIRST._replace(order_by=each) for each in (Order.UPDATED, Order.LAST_NAME))
FEW, MANY = min(MAX_CANDIDATES, MAX_LOOKED_UP), max(MAX_CANDIDATES, MAX_LOOKED_UP) + 1
NAMED, TAGGED = tree_of("firstName=Ada"), tree_of("tags:a AND NOT tags:b")


@each(
    ("tree", "number", "position", "expected"),
    {
        "all": (EVERYONE, MANY, FIRST, (Strategy.ALL, Reading.AT_ONCE)),
        "all by number": (EVERYONE, MANY, SECOND, (Strategy.ALL, Reading.OFFSET)),
        "all after an ID": (EVERYONE, MANY, AFTER, (Strategy.ALL, Reading.AT_ONCE)),
        "one tag": (tree_of(tag="a"), MANY, SECOND, (Strategy.CHECK, Reading.AT_ONCE)),
        "one tag after an ID": (tree_of(tag="a"), MANY, AFTER, (Strategy.CHECK, Reading.APART)),
        "search": (tree_of(q="a"), MANY, SECOND, (Strategy.SEARCH, Reading.SEARCH)),
        "search of changes": (tree_of(q="a"), MANY, UPDATED, (Strategy.SEARCH, Reading.ORDER)),
        "all by change": (EVERYONE, MANY, UPDATED, (Strategy.ALL, Reading.AT_ONCE)),
        "all by last name": (EVERYONE, MANY, BY_NAME, (Strategy.ALL, Reading.ORDER)),
        "rare name": (NAMED, FEW, SECOND, (Strategy.FEW, Reading.IDS)),
        "rare name after an ID": (NAMED, FEW, AFTER, (Strategy.FEW, Reading.APART)),
        "common name": (NAMED, MANY, FIRST, (Strategy.SETS, Reading.APART)),
        "rare tag": (TAGGED, FEW, FIRST, (Strategy.CHECK, Reading.AT_ONCE)),
        "common tag": (TAGGED, MANY, FIRST, (Strategy.SETS, Reading.APART)),
    },
)
def test_strategy_and_reading_follow_from_conditions_numbers_and_position(
    tree: Any, number: int, position: PagePosition, expected: tuple[Strategy, Reading]
) -> None:
    def count(_: Condition, limit: int) -> int:
        return min(number, limit + 1)

    plan = with_numbers(plan_of(tree), count).plan

    assert (plan.strategy, reading_of(plan, position)) == expected


@each("number", {"rare": FEW, "common": MANY})
def test_a_filter_is_looked_up_for_the_matches_of_a_rare_search(number: int) -> None:
    planned = plan_of(tree_of("NOT tags:b", q="a"))

    plan = with_numbers(planned, lambda _, limit: min(number, limit + 1)).plan

    assert plan.is_looked_up == (number == FEW)
