"""Plans how the matches of a tree of conditions are read.

`plan_of` chooses a strategy from the conditions alone. That suits reading all matches one after the
other, as exports and operations do. `with_statistics` improves the plan of a page or a total with
the numbers of subscribers that few statements return.

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
from typing import Any, NamedTuple

from peewee import SQL, Select, fn

from ....storage.statements import Dialect, Statement, param
from ....storage.transaction import Transaction
from ..counters.store_statistics import count_with
from ..rules import search_text
from .store_conditions import IdRange, is_address_prefix, select_candidates
from .tree import (
    EVERYONE,
    And,
    Condition,
    Kind,
    Or,
    comparisons,
    is_bound,
    is_search,
    is_status,
    is_tag,
    joined,
    mapped,
    range_of,
    required,
)

# The most subscribers for which the other conditions are looked up. More take longer than set
# operations on all subscribers (`customFields.plan=pro AND tags:k7` in `make bench-scale`).
MAX_LOOKED_UP = 20_000
# The most candidates to look up, a fraction of the subscribers that a scan reads in that time
# (`firstName=Ada17 AND customFields.plan=pro AND status=CONFIRMED` in `make bench-scale`).
MAX_CANDIDATES = 20_000
# The maximum number of conditions of a filter that are counted, with one statement each.
MAX_COUNTED = 3
# The plans of trees that differ only in their values.
CACHED_PLANS = 500
_INDEXED = {(Kind.TAG, "="), (Kind.EMAIL, "="), (Kind.SEARCH, "prefix")}
# The columns with an index of search keys.
_NAMES = ("first_name", "last_name")
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


@dataclass(frozen=True)
class Plan:
    """The plan of all trees of a shape: a tree with names of parameters in place of the values.

    If `is_looked_up`, few subscribers fulfill the first condition, for which the others are looked
    up. A plan is the key of its statements.
    """

    shape: Any = EVERYONE
    is_looked_up: bool = False

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

    def is_by_offset(self, position: PagePosition) -> bool:
        """Whether the counters locate a page."""
        is_in_order = position.order_by is Order.CREATED and position.after is None
        return is_in_order and position.offset > 0 and self.is_everyone

    def has_one_statement(self, position: PagePosition) -> bool:
        """Whether a page that is not empty takes one statement, which also counts the matches."""
        if self.is_everyone:
            return not self.is_by_offset(position)
        # After an ID, the conditions of the page and those of the total are different.
        return position.after is None and self.strategy in (Strategy.ALL, Strategy.CHECK)

    def is_short(self, position: PagePosition) -> bool:
        """Whether a page reads no rows before the page and none for the total."""
        return position.offset == 0 and self.is_everyone


class Planned(NamedTuple):
    """A tree, the plan of its shape, and the values of the parameters by name."""

    tree: Any
    plan: Plan
    values: dict[str, Any]


_plan = lru_cache(CACHED_PLANS)(Plan)


def plan_of(tree: Any, *, is_looked_up: bool = False) -> Planned:
    """Returns the plan of a tree that does not depend on numbers of subscribers."""
    tree = _with_closest_bounds(tree)
    values: dict[str, Any] = {}

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


def with_statistics(account_id: str, planned: Planned, tx: Transaction) -> Planned:
    """Returns a plan that depends on numbers of subscribers.

    At most two statements for a tag and a status, and `MAX_COUNTED` for other conditions.
    """
    if not planned.plan.needs_statistics:
        return planned
    parts = required(planned.tree)
    for has_kind in (is_tag, is_status):
        first = next(filter(has_kind, parts), None)
        if first is not None and count_with(account_id, first, tx) <= MAX_LOOKED_UP:
            others = [part for part in parts if part is not first]
            return plan_of(And((first, *others)), is_looked_up=True)
    return plan_of(_with_candidates(account_id, planned.tree, tx))


def _has_index(tree: Any) -> bool:
    """Whether a condition has an index that is in order, or that selects few subscribers."""
    return isinstance(tree, Condition) and (
        (tree.kind, tree.operator) in _INDEXED or tree.column in ("status", "revision")
    )


def _is_bound_of_ids(tree: Any) -> bool:
    return is_bound(tree) and tree.column == "id"


def _is_position(tree: Any) -> bool:
    return isinstance(tree, Condition) and tree.kind is Kind.POSITION


def _with_candidates(account_id: str, tree: Any, tx: Transaction) -> Any:
    """Returns a tree in which conditions that few subscribers can match have another kind.

    Prefixes with a part of the domain that many addresses have are compared with both forms of the
    address. At most `MAX_COUNTED` statements.
    """
    # First those that every match fulfills.
    conditions = (*filter(_is_condition, required(tree)), *comparisons(tree))
    marked = {each: few for each in conditions if (few := _marked(each)) is not None}
    replaced: dict[Condition, Condition | Or] = {}
    for condition, few in [*marked.items()][:MAX_COUNTED]:
        _, plan, values = plan_of(few)
        limit = MAX_CANDIDATES + 1
        if tx.scalar(_counting(plan.shape), account_id=account_id, limit=limit, **values) < limit:
            replaced[condition] = few
        elif condition.kind is Kind.EMAIL:
            forms = ("email_key", "email_unicode_key")
            replaced[condition] = Or(
                tuple(condition._replace(kind=Kind.COLUMN, column=form) for form in forms)
            )
    return mapped(tree, lambda condition: replaced.get(condition, condition))


def _is_condition(tree: Any) -> bool:
    return isinstance(tree, Condition)


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


@lru_cache(20)
def _counting(condition: Condition) -> Statement:
    """Returns the statement that counts the candidates for a condition, up to a limit."""

    def build(dialect: Dialect) -> Select:
        candidates = select_candidates(condition, dialect)
        if condition.kind is Kind.RARE_DOMAIN and condition.operator == "=":
            # In order, because PostgreSQL would otherwise read the index of all addresses.
            candidates = candidates.order_by(SQL("1"))
        candidates = candidates.limit(param("limit")).alias("candidates")
        return Select([candidates], [fn.COUNT(SQL("*"))])

    return Statement(build)
