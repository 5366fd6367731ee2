"""Plans how the matches of a tree of conditions are read.

`plan_of` chooses a strategy from the conditions alone. That suits reading all matches one after the
other, as exports and operations do. `with_statistics` in `store_pages` improves the plan of a page
or a total with the numbers of subscribers that few statements return.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from ....storage.statements import param
from .tree import (
    EVERYONE,
    And,
    Condition,
    Kind,
    is_bound,
    is_search,
    is_status,
    is_tag,
    joined,
    mapped,
    required,
)

# The plans of trees that differ only in their values.
CACHED_PLANS = 500
_INDEXED = {(Kind.TAG, "="), (Kind.EMAIL, "="), (Kind.SEARCH, "prefix")}
# Which of two bounds of a column is the closer one, by operator.
_CLOSER: dict[str, Callable[..., Any]] = {">=": max, "<": min}


class Order(StrEnum):
    """The order of a list: by ID, or by revision and ID."""

    CREATED = "created"
    UPDATED = "updated"


class PagePosition(NamedTuple):
    """The start of a page: after `offset` subscribers, or after the ID `after`.

    In the order of changes, `after_revision` is the revision of that subscriber.
    """

    limit: int
    offset: int = 0
    after: str | None = None
    descending: bool = False
    order_by: Order = Order.CREATED
    after_revision: int = 0


class Strategy(Enum):
    """How the matches of a plan are found. The lines of `make bench-scale` measure each.

    ALL reads the subscribers in the order of the list, also from a bound of it. Counters locate a
    page by its number (`page 10,000 of 100`).

    SEARCH counts the ranges of a prefix, then scans the subscribers or sorts the matches, see
    `store_search` (`q (16 matches)` to `q (100 %)`).

    SETS merges sets of IDs, each in the order of an index, see `store_sets`
    (`tags:half1 AND tags:tenth3`).

    CHECK selects subscribers by an index, and checks the other conditions, if any, for each of
    them (`tag (90 %)`, `customFields.plan=pro AND tags:k7`).
    """

    ALL = "all"
    SEARCH = "search"
    SETS = "sets"
    CHECK = "check"


class IdRange(NamedTuple):
    """The names of the parameters that are bounds of IDs. `end_id` is exclusive."""

    first_id: str | None = None
    end_id: str | None = None

    def add_to(self, query: Any, id_: Any) -> Any:
        """Adds the bounds to a query, given the column of IDs."""
        if self.first_id is not None:
            query = query.where(id_ >= param(self.first_id))
        if self.end_id is not None:
            query = query.where(id_ < param(self.end_id))
        return query


@dataclass(frozen=True)
class Plan:
    """The plan of all trees of a shape: a tree with names of parameters in place of the values.

    If `is_looked_up`, few subscribers fulfill the first condition, for which the others are looked
    up. A plan is the key of its statements.
    """

    shape: Any = EVERYONE
    is_looked_up: bool = False

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.shape, self.is_looked_up))

    @cached_property
    def parts(self) -> tuple[Any, ...]:
        """The conditions that every match fulfills, except bounds of IDs."""
        return tuple(part for part in required(self.shape) if not _is_bound_of_ids(part))

    @cached_property
    def tree(self) -> Any:
        """The shape without bounds of IDs."""
        return joined(And, self.parts)

    @cached_property
    def ids(self) -> IdRange:
        """The names of the bounds of IDs."""
        bounds = {part.operator: part.values[0] for part in filter(_is_bound_of_ids, self._all)}
        return IdRange(bounds.get(">="), bounds.get("<"))

    @cached_property
    def strategy(self) -> Strategy:
        if not self.parts:
            return Strategy.ALL
        is_alone = len(self.parts) == 1
        if is_alone and is_search(self.parts[0]):
            return Strategy.SEARCH
        is_read_by_index = self.is_looked_up or (is_alone and _has_index(self.parts[0]))
        if is_read_by_index or any(is_search(part) or is_bound(part) for part in self.parts):
            return Strategy.CHECK
        return Strategy.SETS

    @cached_property
    def needs_statistics(self) -> bool:
        """Whether there are other conditions than one of each kind that has an index of its own."""
        return sum(map(is_tag, self.parts)) > 1 or not all(map(_has_index, self.parts))

    @cached_property
    def is_everyone(self) -> bool:
        return not self._all

    @cached_property
    def has_stored_total(self) -> bool:
        """Whether the statistics contain the total (`status (75 %)`)."""
        return len(self._all) == 1 and (is_status(self.shape) or is_tag(self.shape))

    @cached_property
    def is_of_revisions(self) -> bool:
        """Whether all conditions are bounds in the order of revisions."""
        return all(
            part.column == "revision" if is_bound(part) else _is_position(part)
            for part in self._all
        )

    @property
    def _all(self) -> tuple[Any, ...]:
        return required(self.shape)

    def is_in_order(self, order_by: Order) -> bool:
        """Whether all conditions are bounds in an order, so that rows are read in that order."""
        return not self.parts if order_by is Order.CREATED else self.is_of_revisions


class Planned(NamedTuple):
    """A tree, the plan of its shape, and the values of the parameters by name."""

    tree: Any
    plan: Plan
    values: dict[str, Any]


_plan = lru_cache(CACHED_PLANS)(Plan)
_EVERYONE = Plan()


def plan_of(tree: Any, *, is_looked_up: bool = False) -> Planned:
    """Returns the plan of a tree that does not depend on numbers of subscribers."""
    values: dict[str, Any] = {}
    if tree is EVERYONE:
        return Planned(tree, _EVERYONE, values)
    tree = _with_closest_bounds(tree)

    def named(condition: Condition) -> Condition:
        names = []
        for value in condition.values:
            names.append(f"value{len(values)}")
            values[names[-1]] = value
        return condition._replace(values=tuple(names))

    return Planned(tree, _plan(mapped(tree, named), is_looked_up), values)


def after(tree: Any, position: PagePosition) -> Any:
    """Returns a tree with the position as a bound."""
    last, descending = position.after, position.descending
    if last is None:
        return tree
    if position.order_by is Order.CREATED:
        # IDs have a fixed length, so no ID is between this text and the next ID.
        return within(tree, "<", last) if descending else within(tree, ">=", f"{last}0")
    passed = Condition(Kind.COLUMN, "<" if descending else ">=", column="revision")
    rest = [part for part in required(tree) if _key(part) != passed]
    values = (position.after_revision, last)
    return And((*rest, Condition(Kind.POSITION, "<" if descending else ">", values)))


def within(tree: Any, operator: str, bound: str) -> Any:
    """Returns a tree with a bound of IDs."""
    return joined(And, [tree, Condition(Kind.COLUMN, operator, (bound,), "id")])


def _with_closest_bounds(tree: Any) -> Any:
    """Returns a tree with the closest bounds of IDs and revisions only.

    With several, an index would be entered at one and scanned up to another.
    """
    parts: dict[Any, Any] = {}
    for part in required(tree):
        key = _key(part)
        if key in parts and is_bound(part):
            (value,), (other,) = part.values, parts[key].values
            part = part._replace(values=(_CLOSER[part.operator](value, other),))
        parts[key] = part
    return joined(And, parts.values())


def _key(part: Any) -> Any:
    """Returns what only one condition of a tree can have."""
    return part._replace(values=()) if is_bound(part) else part


def _has_index(tree: Any) -> bool:
    """Whether a condition has an index that is in order, or that selects few subscribers."""
    return isinstance(tree, Condition) and (
        (tree.kind, tree.operator) in _INDEXED or tree.column in ("status", "revision")
    )


def _is_bound_of_ids(tree: Any) -> bool:
    return is_bound(tree) and tree.column == "id"


def _is_position(tree: Any) -> bool:
    return isinstance(tree, Condition) and tree.kind is Kind.POSITION
