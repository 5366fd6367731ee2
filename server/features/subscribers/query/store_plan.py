"""Plans how the matches of a tree of conditions are read, once for all uses of the tree.

`plan_of` chooses a strategy from the conditions alone. That suits reading all matches one after the
other, as exports and operations do. `with_statistics` improves the plan of a page or a total with
the numbers of subscribers that few statements return.

Conditions that few subscribers can fulfill are found with their index, and the others are checked
for these. The indexes of names contain search keys, which do not distinguish case. They select
candidates; then the names are compared. If many subscribers have the key of a name, a domain, or
the prefix of an address, a scan of all subscribers takes less time than lookups of the candidates.
"""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
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
_INDEXED = {(Kind.TAG, "="), (Kind.EMAIL, "="), (Kind.SEARCH, "prefix")}
# The columns with an index of search keys.
_NAMES = ("first_name", "last_name")


class Order(Enum):
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

    CHECK selects subscribers by an index, and checks the other conditions for each of them
    (`customFields.plan=pro AND tags:k7`).
    """

    ALL = "all"
    SEARCH = "search"
    SETS = "sets"
    CHECK = "check"


class Plan(NamedTuple):
    """A strategy for a tree of conditions, from which `ids` contains the bounds of IDs.

    If `is_looked_up`, few subscribers fulfill the first condition, for which the others are looked
    up. A plan with names in place of the values is the key of its statements.
    """

    strategy: Strategy
    tree: Any = EVERYONE
    ids: IdRange = IdRange()
    is_looked_up: bool = False

    @property
    def is_everyone(self) -> bool:
        return bool(self.tree == EVERYONE) and self.ids == IdRange()

    @property
    def has_stored_total(self) -> bool:
        """Whether the statement of a page can contain the total (`status (75 %)`)."""
        return self.ids == IdRange() and (is_status(self.tree) or is_tag(self.tree))

    def is_in_order(self, order_by: Order) -> bool:
        """Whether all conditions are bounds in an order, so that rows are read in that order."""
        if order_by is Order.CREATED:
            return bool(self.tree == EVERYONE)
        return self.ids == IdRange() and all(map(_is_of_revisions, required(self.tree)))

    def has_one_statement(self, position: PagePosition) -> bool:
        """Whether a page that is not empty takes one statement, which also counts the matches."""
        if self.is_everyone:
            return not self.is_by_offset(position)
        # After an ID, the conditions of the page and those of the total are different.
        return position.after is None and (
            self.strategy in (Strategy.ALL, Strategy.CHECK) or self.has_stored_total
        )

    def is_by_offset(self, position: PagePosition) -> bool:
        """Whether the counters locate a page."""
        is_in_order = position.order_by is Order.CREATED and position.after is None
        return is_in_order and position.offset > 0 and self.is_everyone

    def is_short(self, position: PagePosition) -> bool:
        """Whether a page reads no rows before the page and none for the total."""
        return position.offset == 0 and self.is_everyone

    def after(self, position: PagePosition) -> Plan:
        """Returns the plan with the position as a bound."""
        after, descending = position.after, position.descending
        if after is None:
            return self
        if position.order_by is Order.CREATED:
            # IDs have a fixed length, so no ID is between this text and the next ID.
            return self._replace(
                ids=self.ids.within(None, after) if descending else self.ids.within(f"{after}0")
            )
        passed, operator = ("<", "<") if descending else (">=", ">")
        rest = [
            part for part in required(self.tree) if not (is_bound(part) and part.operator == passed)
        ]
        last = Condition(Kind.POSITION, operator, (position.after_revision, after))
        return self._replace(tree=joined(And, [*rest, last]))

    def parametrized(self) -> tuple[Plan, dict[str, Any]]:
        """Returns the plan with names of parameters instead of values, and the values by name."""
        bounds = zip(IdRange._fields, self.ids, strict=True)
        values = {name: value for name, value in bounds if value is not None}
        ids = IdRange(*[name if name in values else None for name in IdRange._fields])

        def named(condition: Condition) -> Condition:
            first = len(values)
            names = tuple(f"value{first + number}" for number in range(len(condition.values)))
            values.update(zip(names, condition.values, strict=True))
            return condition._replace(values=names)

        tree = mapped(self.tree, named)
        return Plan(self.strategy, tree, ids, self.is_looked_up), values


def plan_of(tree: Any) -> Plan:
    """Returns the plan of a tree that does not depend on numbers of subscribers."""
    ids, parts = IdRange(), []
    for part in required(tree):
        if not is_bound(part) or part.column != "id":
            parts.append(part)
        elif part.operator == "<":
            ids = ids.within(end_id=part.values[0])
        else:
            ids = ids.within(first_id=part.values[0])
    return Plan(_strategy(parts), joined(And, parts), ids)


def _strategy(parts: list[Any]) -> Strategy:
    if not parts:
        return Strategy.ALL
    if any(map(is_search, parts)):
        return Strategy.SEARCH if len(parts) == 1 else Strategy.CHECK
    if any(map(is_bound, parts)) or (len(parts) == 1 and _is_address(parts[0])):
        return Strategy.CHECK
    return Strategy.SETS


def with_statistics(account_id: str, plan: Plan, tx: Transaction) -> Plan:
    """Returns a plan that depends on numbers of subscribers.

    At most two statements for a tag and a status, and `MAX_COUNTED` for other conditions.
    """
    if not needs_statistics(plan):
        return plan
    parts = required(plan.tree)
    for has_kind in (is_tag, is_status):
        first = next(filter(has_kind, parts), None)
        if first is not None and count_with(account_id, first, tx) <= MAX_LOOKED_UP:
            others = [part for part in parts if part is not first]
            tree = And((first, *others))
            return plan._replace(strategy=Strategy.CHECK, tree=tree, is_looked_up=True)
    return plan._replace(tree=_with_candidates(account_id, plan.tree, tx))


def needs_statistics(plan: Plan) -> bool:
    """Whether there are other conditions than one of each kind that has an index of its own."""
    parts = required(plan.tree)
    return sum(map(is_tag, parts)) > 1 or not all(map(_has_index, parts))


def _has_index(tree: Any) -> bool:
    return isinstance(tree, Condition) and (
        (tree.kind, tree.operator) in _INDEXED or tree.column in ("status", "revision")
    )


def _is_of_revisions(tree: Any) -> bool:
    is_position = isinstance(tree, Condition) and tree.kind is Kind.POSITION
    return is_position or (is_bound(tree) and tree.column == "revision")


def _is_address(tree: Any) -> bool:
    return isinstance(tree, Condition) and (tree.kind, tree.operator) == (Kind.EMAIL, "=")


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
        shape, values = Plan(Strategy.CHECK, few).parametrized()
        limit = MAX_CANDIDATES + 1
        if tx.scalar(_counting(shape.tree), account_id=account_id, limit=limit, **values) < limit:
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
