"""Plans how the matches of a tree of conditions are read.

`plan_of` chooses a strategy from the conditions alone. That suits reading all matches one after the
other, as exports and operations do. For a page or a total, `with_numbers` improves the plan with
numbers of subscribers. `reading_of` then chooses how a page and its total are read.

Conditions that few subscribers can fulfill are found with their index, and the others are checked
for these. The indexes of names contain search keys, which do not distinguish case. They select
candidates; then the names are compared. If many subscribers have the key of a name, a domain, or
the prefix of an address, a scan of all subscribers takes less time than lookups of the candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cached_property, lru_cache
from sys import maxsize
from typing import Any, NamedTuple

from ....storage.statements import param
from ..rules import search_text
from .tree import (
    EVERYONE,
    And,
    Condition,
    Kind,
    Or,
    comparisons,
    finds_few,
    is_address_prefix,
    is_bound,
    is_bound_of_ids,
    is_condition,
    is_search,
    is_status,
    is_tag,
    joined,
    mapped,
    range_of,
    required,
    with_closest_bounds,
    within,
)

# The plans of trees that differ only in their values.
CACHED_PLANS = 500
# The most subscribers for which the other conditions are looked up. More take longer than set
# operations on all subscribers (`customFields.plan=pro AND tags:k7` and `q (16 matches) and
# customFields.plan=pro` in `make bench-scale`).
MAX_LOOKED_UP = 20_000
# The most candidates to look up, a fraction of the subscribers that a scan reads in that time
# (`firstName=Ada17 AND customFields.plan=pro AND status=CONFIRMED` in `make bench-scale`).
MAX_CANDIDATES = 20_000
# The maximum number of conditions of a filter that are counted, with one statement each.
MAX_COUNTED = 3
# The columns with an index of search keys.
_NAMES = ("first_name", "last_name")
# Returns the number of subscribers with a tag or a status, or of those that an index selects for
# another condition, up to a limit.
Count = Callable[[Condition, int], int]
_INDEXED = {(Kind.TAG, "="), (Kind.EMAIL, "="), (Kind.SEARCH, "prefix")}


class Order(StrEnum):
    """The order of a list: by ID, or by the key of an order and ID."""

    CREATED = "created"
    UPDATED = "updated"
    EMAIL = "email"
    LAST_NAME = "last name"
    STATUS_CHANGED = "status changed"


# The column of the key of each order, which has an index in that order.
KEYS = {
    Order.UPDATED: "revision",
    Order.EMAIL: "email_key",
    Order.LAST_NAME: "last_name_key",
    Order.STATUS_CHANGED: "status_changed_at",
}
# The orders whose key can be null. Subscribers without a key follow the others in both directions,
# in the order of IDs.
HAS_ABSENT = {Order.LAST_NAME, Order.STATUS_CHANGED}


class PagePosition(NamedTuple):
    """The start of a page: after `offset` subscribers, or after the ID `after`.

    In another order than that of IDs, `after_key` is the key of that subscriber.
    """

    limit: int
    offset: int = 0
    after: str | None = None
    descending: bool = False
    order_by: Order = Order.CREATED
    after_key: Any = None

    @property
    def is_after_keys(self) -> bool:
        """Whether the page begins after a subscriber without a key."""
        return self.order_by in HAS_ABSENT and self.after is not None and self.after_key is None


class Counting(NamedTuple):
    """How far the total is counted: 0 is not at all.

    `known` is the total of the first page of a list that a page token continues.
    """

    up_to: int = maxsize
    known: int | None = None


COUNT_ALL = Counting()


class Strategy(Enum):
    """How the matches of a plan are found. The lines of `make bench-scale` measure each.

    ALL reads the subscribers in the order of the list, also from a bound of it. Counters locate a
    page by its number (`page 10,000 of 100`).

    SEARCH counts the ranges of a prefix, then scans the subscribers or sorts the matches, see
    `store_search` (`q (16 matches)` to `q (100 %)`).

    CHECK selects subscribers by an index, and checks the other conditions, if any, for each of
    them (`tag (100 %)`, `customFields.plan=pro AND tags:k7`).

    FEW does so with an index of names, addresses or domains, and selects few (`firstName=Ada17`).

    SETS merges sets of IDs, each in the order of an index, see `store_sets`
    (`tags:half1 AND tags:tenth3`).
    """

    ALL = "all"
    SEARCH = "search"
    CHECK = "check"
    FEW = "few"
    SETS = "sets"


class Reading(Enum):
    """How a page and its total are read.

    OFFSET finds the page with the counters, which also contain the total (`page 10,000 of 100`).

    AT_ONCE reads the rows and the total with one statement, which takes half of the time on
    PostgreSQL (`no filter`, `tag (0.1 %)`).

    SEARCH counts the matches, and chooses from their number how the rows are read, see
    `store_search` (`q (6 %)`).

    IDS reads the IDs of all matches, which takes less than half of the time of finding these few
    for the rows and for the total (`firstName=Ada17`).

    APART reads the rows, then the total, if it is in no statistics (`NOT tags:half1`) and the page
    is not the last one. A long total is counted in halves
    (`customFields.plan=pro AND customFields.optin=true AND tags:half1`). After a page by its
    number, only the subscribers behind it are counted.

    ORDER reads the total, then the rows in another order than that of IDs, see `store_orders`
    (`lastName: tags:half1`).
    """

    OFFSET = "offset"
    AT_ONCE = "at once"
    SEARCH = "search"
    IDS = "ids"
    APART = "apart"
    ORDER = "order"


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
        return tuple(part for part in required(self.shape) if not is_bound_of_ids(part))

    @cached_property
    def tree(self) -> Any:
        """The shape without bounds of IDs."""
        return joined(And, self.parts)

    @cached_property
    def ids(self) -> IdRange:
        """The names of the bounds of IDs."""
        bounds = {part.operator: part.values[0] for part in filter(is_bound_of_ids, self._all)}
        return IdRange(bounds.get(">="), bounds.get("<"))

    @cached_property
    def strategy(self) -> Strategy:
        if not self.parts:
            return Strategy.ALL
        is_alone = len(self.parts) == 1
        if is_alone and is_search(self.parts[0]):
            return Strategy.SEARCH
        is_read_by_index = self.is_looked_up or (is_alone and _has_index(self.parts[0]))
        if is_read_by_index or any(
            is_condition(part, Kind.SEARCH) or is_bound(part) for part in self.parts
        ):
            return Strategy.CHECK
        return Strategy.FEW if finds_few(self.tree) else Strategy.SETS

    @property
    def is_of_sets(self) -> bool:
        """Whether set operations select the IDs, of which FEW has one operand."""
        return self.strategy in (Strategy.SETS, Strategy.FEW)

    @cached_property
    def needs_numbers(self) -> bool:
        """Whether there are other conditions than one of each kind that has an index of its own."""
        return sum(map(is_tag, self.parts)) > 1 or not all(map(_has_index, self.parts))

    @cached_property
    def is_everyone(self) -> bool:
        return not self._all

    @cached_property
    def has_stored_total(self) -> bool:
        """Whether the statistics contain the total (`status (75 %)`)."""
        return len(self._all) == 1 and (is_status(self.shape) or is_tag(self.shape))

    @property
    def _all(self) -> tuple[Any, ...]:
        return required(self.shape)

    def is_in_order(self, order_by: Order) -> bool:
        """Whether all conditions are bounds in an order, so that rows are read in that order."""
        if order_by is Order.CREATED:
            return not self.parts
        return all(is_in_order(part, order_by) for part in self._all)


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
    tree = with_closest_bounds(tree)

    def named(condition: Condition) -> Condition:
        names = []
        for value in condition.values:
            names.append(f"value{len(values)}")
            values[names[-1]] = value
        return condition._replace(values=tuple(names))

    return Planned(tree, _plan(mapped(tree, named), is_looked_up), values)


def with_numbers(planned: Planned, count: Count) -> Planned:
    """Returns a plan that depends on numbers of subscribers.

    Counts at most a tag, a status, a search, and `MAX_COUNTED` other conditions.
    """
    if not planned.plan.needs_numbers:
        return planned
    parts = required(planned.tree)
    for has_kind in (is_tag, is_status, is_search):
        first = next(filter(has_kind, parts), None)
        if first is not None and count(first, MAX_LOOKED_UP + 1) <= MAX_LOOKED_UP:
            others = [part for part in parts if part is not first]
            return plan_of(And((first, *others)), is_looked_up=True)
    return plan_of(_with_candidates(planned.tree, count))


def _with_candidates(tree: Any, count: Count) -> Any:
    """Returns a tree in which conditions that few subscribers can match have another kind.

    Prefixes with a part of the domain that many addresses have are compared with both forms of the
    address.
    """
    # First those that every match fulfills.
    conditions = (*(part for part in required(tree) if is_condition(part)), *comparisons(tree))
    marked = {each: few for each in conditions if (few := _marked(each)) is not None}
    replaced: dict[Condition, Condition | Or] = {}
    for condition, few in [*marked.items()][:MAX_COUNTED]:
        if count(few, MAX_CANDIDATES + 1) <= MAX_CANDIDATES:
            replaced[condition] = few
        elif condition.kind is Kind.EMAIL:
            forms = ("email_key", "email_unicode_key")
            replaced[condition] = Or(
                tuple(condition._replace(kind=Kind.COLUMN, column=form) for form in forms)
            )
    return mapped(tree, lambda condition: replaced.get(condition, condition))


def read_in_order(tree: Any) -> Any:
    """Returns a tree to read all matches one after the other, in parts.

    A search is checked in a scan. Its indexes are in the order of the keys, so that each part would
    read all matches (`export of q (100 %)`).
    """
    keys = ("email_key", "email_unicode_key", "name_key", "last_name_key")

    def scanned(condition: Condition) -> Any:
        if not is_search(condition):
            return condition
        email, name = condition.values[:2], condition.values[2:]
        ranges = (email, email, name, name)
        return Or(
            tuple(
                Condition(Kind.COLUMN, "prefix", range_, key)
                for key, range_ in zip(keys, ranges, strict=True)
            )
        )

    return mapped(tree, scanned)


def _marked(condition: Condition) -> Condition | None:
    """Returns a condition as one that few subscribers can match, or None if it has no index.

    For a name, that is the range of its search keys too.
    """
    key = condition.values[0] if condition.values else ""
    match condition.kind, condition.operator:
        case Kind.EMAIL, "prefix":
            marked = condition
        case Kind.DOMAIN, "=" | "prefix":
            marked = condition._replace(kind=Kind.RARE_DOMAIN)
        case Kind.COLUMN, "prefix" if is_address_prefix(condition):
            marked = condition._replace(kind=Kind.ADDRESS)
        case Kind.COLUMN, "=" | "prefix" if condition.column in _NAMES:
            if condition.operator == "prefix":
                # A character after the prefix can be combined with its last one.
                key = key[:-1] if key.isascii() else ""
            key = search_text(key)
            values = (*range_of(key), *condition.values)
            marked = condition._replace(kind=Kind.NAME, values=values)
        case _:
            return None
    return marked if key else None


def reading_of(plan: Plan, position: PagePosition, counting: Counting = COUNT_ALL) -> Reading:
    """Returns how a page and its total are read."""
    is_by_id, is_by_number = position.order_by is Order.CREATED, position.after is None
    if plan.is_everyone and is_by_id and is_by_number and position.offset > 0:
        return Reading.OFFSET
    if plan.is_everyone and position.order_by not in HAS_ABSENT:
        return Reading.AT_ONCE
    if not is_by_id:
        return Reading.ORDER
    if plan.strategy is Strategy.SEARCH:
        return Reading.SEARCH
    # After an ID, the conditions of the page and those of the total are different.
    if is_by_number and plan.strategy is Strategy.FEW:
        return Reading.IDS
    is_one_query = plan.strategy in (Strategy.ALL, Strategy.CHECK)
    is_together = is_by_number and is_one_query and counting.up_to == maxsize
    return Reading.AT_ONCE if is_together else Reading.APART


def is_short(plan: Plan, position: PagePosition) -> bool:
    """Whether a page reads no rows before the page and none for the total."""
    return position.offset == 0 and plan.is_everyone


def after(tree: Any, position: PagePosition) -> Any:
    """Returns a tree with the position as a bound."""
    last, descending = position.after, position.descending
    if last is None:
        return tree
    if position.order_by is Order.CREATED:
        # IDs have a fixed length, so no ID is between this text and the next ID.
        return within(tree, "<", last) if descending else within(tree, ">=", f"{last}0")
    column = KEYS[position.order_by]
    passed = Condition(Kind.COLUMN, "<" if descending else ">=", column=column)
    rest = [
        part
        for part in required(tree)
        if not is_condition(part) or part._replace(values=()) != passed
    ]
    values = (position.after_key, last)
    return And((*rest, Condition(Kind.POSITION, "<" if descending else ">", values, column)))


def is_in_order(part: Any, order_by: Order) -> bool:
    """Whether a condition is a range of the keys of an order."""
    return is_condition(part, Kind.COLUMN, Kind.POSITION) and part.column == KEYS[order_by]


def with_key(tree: Any, order_by: Order) -> Any:
    """Returns a tree that only subscribers with a key of an order match."""
    if order_by not in HAS_ABSENT:
        return tree
    return joined(And, [tree, Condition(Kind.COLUMN, "present", column=KEYS[order_by])])


def without_key(tree: Any, order_by: Order) -> Any:
    """Returns a tree that only subscribers without a key of an order match."""
    return joined(And, [tree, Condition(Kind.COLUMN, "absent", column=KEYS[order_by])])


def _has_index(tree: Any) -> bool:
    """Whether a condition has an index that is in order, or that selects few subscribers."""
    return is_condition(tree) and (
        (tree.kind, tree.operator) in _INDEXED or tree.column in ("status", "revision")
    )
