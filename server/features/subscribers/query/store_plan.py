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

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from peewee import SQL, Select, fn

from ....storage.statements import Dialect, Statement, param
from ....storage.transaction import Transaction
from ..counters.store_statistics import count_with
from ..rules import search_text
from .conditions import range_of
from .store_conditions import (
    IdRange,
    is_address_prefix,
    is_domain,
    select_candidates,
    select_with_domain,
)
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
        values = {name: value for name, value in self.ids._asdict().items() if value is not None}

        def named(condition: Condition) -> Condition:
            first = len(values)
            names = tuple(f"value{first + number}" for number in range(len(condition.values)))
            values.update(zip(names, condition.values, strict=True))
            return condition._replace(values=names)

        names = IdRange(*(name if name in values else None for name in IdRange._fields))
        return self._replace(tree=mapped(self.tree, named), ids=names), values


def plan_of(tree: Any) -> Plan:
    """Returns the plan of a tree that does not depend on numbers of subscribers."""
    ids, parts = IdRange(), []
    for part in required(tree):
        if not is_bound(part) or part.column != "id":
            parts.append(part)
        elif part.operator == "<":
            ids = ids._replace(end_id=part.values[0])
        else:
            ids = ids._replace(first_id=part.values[0])
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
    kinds = (is_tag, is_status, is_bound, is_search, _is_address)
    return sum(map(is_tag, parts)) > 1 or any(
        not any(has_kind(part) for has_kind in kinds) for part in parts
    )


def _is_of_revisions(tree: Any) -> bool:
    is_position = isinstance(tree, Condition) and tree.kind is Kind.POSITION
    return is_position or (is_bound(tree) and tree.column == "revision")


def _is_address(tree: Any) -> bool:
    return isinstance(tree, Condition) and (tree.kind, tree.operator) == (Kind.EMAIL, "=")


def _count(select: Callable[[Dialect], Any], dialect: Dialect) -> Select:
    candidates = select(dialect).limit(param("limit"))
    return Select([candidates.alias("candidates")], [fn.COUNT(SQL("*"))])


def _candidates(column: str, _dialect: Dialect) -> Any:
    return select_candidates(column, "key", "key_end")


def _with_domain(condition: Condition, dialect: Dialect) -> Any:
    id_, query = select_with_domain(condition, dialect)
    # In order, because PostgreSQL would otherwise read the index of all addresses.
    return query.order_by(id_) if is_domain(condition) else query


_COUNT_FIRST_NAMES, _COUNT_LAST_NAMES, _COUNT_ADDRESSES = [
    Statement(partial(_count, partial(_candidates, column)))
    for column in ("first_name", "last_name", "email_key")
]
_COUNT_DOMAIN, _COUNT_DOMAINS, _COUNT_DOMAINS_IN_UNICODE = [
    Statement(partial(_count, partial(_with_domain, condition)))
    for condition in (
        Condition(Kind.DOMAIN, "=", ("key",), "email_key"),
        Condition(Kind.DOMAIN, "prefix", ("key", "key_end"), "email_key"),
        Condition(Kind.DOMAIN, "prefix", ("key", "key_end"), "email_unicode_key"),
    )
]
_OF_NAMES = {"first_name": _COUNT_FIRST_NAMES, "last_name": _COUNT_LAST_NAMES}


def _with_candidates(account_id: str, tree: Any, tx: Transaction) -> Any:
    """Returns a tree in which conditions that few subscribers can match are marked.

    Those on names have the kind NAME and the range of their search keys, those on domains have the
    kind RARE_DOMAIN, prefixes of addresses have the kind ADDRESS. Prefixes with a part of the
    domain that many addresses have are compared with both forms of the address. At most
    `MAX_COUNTED` statements.
    """
    replaced: dict[Condition, Condition | Or] = {}
    counted = {each: count for each in _ordered(tree) if (count := _count_of(each))}
    for condition, (statement, key) in [*counted.items()][:MAX_COUNTED]:
        start, end = range_of(key)
        limit = MAX_CANDIDATES + 1
        found = tx.scalar(statement, account_id=account_id, limit=limit, key=start, key_end=end)
        has_many = found == limit
        if condition.kind is Kind.EMAIL:
            if has_many:
                forms = ("email_key", "email_unicode_key")
                replaced[condition] = Or(
                    tuple(condition._replace(kind=Kind.COLUMN, column=form) for form in forms)
                )
        elif has_many:
            continue
        elif condition.kind is Kind.DOMAIN:
            replaced[condition] = condition._replace(kind=Kind.RARE_DOMAIN)
        elif is_address_prefix(condition):
            replaced[condition] = condition._replace(kind=Kind.ADDRESS)
        else:
            values = (start, end, *condition.values)
            replaced[condition] = condition._replace(kind=Kind.NAME, values=values)
    return mapped(tree, lambda condition: replaced.get(condition, condition))


def _ordered(tree: Any) -> list[Condition]:
    """Returns the conditions of a tree, first those that every match fulfills."""
    return [
        *(each for each in required(tree) if isinstance(each, Condition)),
        *comparisons(tree),
    ]


def _count_of(condition: Condition) -> tuple[Statement, str] | None:
    """Returns the statement that counts the candidates, and the key or prefix of their keys."""
    first = condition.values[0] if condition.values else ""
    match condition.kind, condition.operator:
        case Kind.EMAIL, "prefix":
            statement, key = _COUNT_ADDRESSES, first
        case Kind.DOMAIN, "=":
            statement, key = _COUNT_DOMAIN, first
        case Kind.DOMAIN, "prefix":
            in_unicode = condition.column == "email_unicode_key"
            statement = _COUNT_DOMAINS_IN_UNICODE if in_unicode else _COUNT_DOMAINS
            key = first
        case Kind.COLUMN, "prefix" if is_address_prefix(condition):
            statement, key = _COUNT_ADDRESSES, first
        case Kind.COLUMN, "=" if condition.column in _OF_NAMES:
            statement, key = _OF_NAMES[condition.column], search_text(first)
        case Kind.COLUMN, "prefix" if condition.column in _OF_NAMES and first.isascii():
            # A character after the prefix can be combined with its last one.
            statement, key = _OF_NAMES[condition.column], search_text(first[:-1])
        case _:
            return None
    return (statement, key) if key else None
