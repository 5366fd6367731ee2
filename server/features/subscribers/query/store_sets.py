"""Selects the subscribers that match a filter with set operations on their IDs.

Each operand of UNION, INTERSECT and EXCEPT selects IDs in the order of an index, so that both
databases merge the operands without sorting or storing them. For each ID of an operand, a merge
takes a third of the time of a lookup in another index. `make bench-scale` measures filters.

The complement of a set is not selected to be counted: `NOT a AND NOT b` matches all subscribers
except those of `a OR b`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

from peewee import SQL, CompoundSelectQuery, Expression, Node, Select, fn

from ....storage.statements import Dialect, Fragment, param
from .plan import IdRange
from .store_conditions import (
    ONE,
    SUBSCRIBERS,
    SUBSCRIBERS_WITHOUT_INDEX,
    condition_of,
    select_with_domain,
    selected_ids,
    with_domain,
)
from .tree import (
    And,
    Kind,
    Not,
    Or,
    comparisons,
    finds_few,
    is_address,
    is_address_prefix,
    is_condition,
    is_domain,
    is_status,
    required,
)

# All except `a OR b` are all except `a`, except `b`. All except `a AND NOT b` are these or `b`.
_OF_OTHERS = {"UNION": "EXCEPT", "EXCEPT": "UNION"}
# The kinds of conditions on columns of a subscriber.
_OF_COLUMNS = frozenset({Kind.EMAIL, Kind.ADDRESS, Kind.DOMAIN, Kind.COLUMN, Kind.FIELDS})


class _SetOperation(CompoundSelectQuery):
    """A set operation. Its first operand can be another one, which is not a subquery.

    SQLite would sort the rows of a subquery.
    """

    def _self_wraps(self, _operand: Any) -> bool:
        return False

    def _needs_group(self, _operand: Any, lhs: bool = False) -> bool:
        return not lhs


class _IdSet(NamedTuple):
    """A query of IDs, and whether the set consists of all others."""

    query: Any
    is_complement: bool = False

    @property
    def is_simple(self) -> bool:
        return not isinstance(self.query, _SetOperation)

    def complement(self) -> _IdSet:
        return self._replace(is_complement=not self.is_complement)


def select_matching(tree: Any, ids: IdRange, dialect: Dialect, *, descending: bool = False) -> Any:
    """Selects the IDs of the subscribers within bounds that match a tree, in order."""
    if is_domain(tree):
        # Its index is in order (`export of a domain`). To count many, a scan takes less time on
        # SQLite.
        id_, query = select_with_domain(tree, dialect)
        return ids.add_to(query, id_).order_by(id_.desc() if descending else id_)
    found = _converted(tree, ids, dialect)
    query = _others(found.query, ids) if found.is_complement else _built(found.query)
    return query.order_by(SQL("1 DESC" if descending else "1"))


def _others(query: Any, ids: IdRange) -> Any:
    """Selects all other IDs. The first operands stay the first ones, see `_SetOperation`."""
    if isinstance(query, _SetOperation) and query.op in _OF_OTHERS:
        return _SetOperation(_others(query.lhs, ids), _OF_OTHERS[query.op], query.rhs)
    return _SetOperation(_select_all(ids), "EXCEPT", query)


def count_matching(tree: Any, ids: IdRange, dialect: Dialect, total: Node | None) -> Node:
    """Selects the number of subscribers within bounds that match a tree.

    `total` selects the number of all subscribers within the bounds, if it is stored.
    """
    if is_address_prefix(tree):
        # Alone, it is counted in the index of addresses, however many have the prefix
        # (`email="b*"`).
        tree = tree._replace(kind=Kind.ADDRESS)
    if is_domain(tree):
        matching = (ONE.account_id == param("account_id")) & with_domain(tree, ONE, dialect)
        return _count(ids.add_to(ONE.select(ONE.id).where(matching), ONE.id))
    found = _converted(tree, ids, dialect)
    query = _built(found.query)
    count = _count(query if found.is_simple else query.order_by(SQL("1")))
    if not found.is_complement:
        return count
    total = _count(_select_all(ids)) if total is None else total
    difference: Node = Select(columns=[Expression(total, "-", count)])
    return difference


def _converted(tree: Any, ids: IdRange, dialect: Dialect, *, is_negated: bool = False) -> _IdSet:
    if isinstance(tree, Not):
        return _converted(tree.condition, ids, dialect, is_negated=not is_negated)
    if _is_one_query(tree):
        found = _IdSet(_query(tree, ids, dialect))
        return found.complement() if is_negated else found
    parts = [_converted(part, ids, dialect, is_negated=is_negated) for part in _with_one_scan(tree)]
    # The complement of a conjunction is the disjunction of the complements.
    if isinstance(tree, And) is not is_negated:
        return _conjunction(parts)
    return _conjunction([part.complement() for part in parts]).complement()


def _conjunction(parts: Sequence[_IdSet]) -> _IdSet:
    # A set operation comes first, because its rows would otherwise be sorted.
    ordered = sorted(parts, key=lambda part: part.is_simple)
    included = [part.query for part in ordered if not part.is_complement]
    excluded = [part.query for part in ordered if part.is_complement]
    if not included:
        return _IdSet(_combined("UNION", excluded), is_complement=True)
    return _IdSet(_combined("EXCEPT", [_combined("INTERSECT", included), *excluded]))


def _combined(operator: str, queries: Sequence[Any]) -> Any:
    return reduce(lambda first, second: _SetOperation(first, operator, second), queries)


def _query(tree: Any, ids: IdRange, dialect: Dialect) -> Any:
    if is_condition(tree) and tree.kind not in {*_OF_COLUMNS, Kind.NAME, Kind.RARE_DOMAIN}:

        def build(names: Sequence[str]) -> Any:
            column, query = selected_ids(tree._replace(values=tuple(names)), dialect)
            return ids.add_to(query, column)

        return Fragment((_query, tree._replace(values=()), ids), tree.values, build)
    condition = condition_of(tree, SUBSCRIBERS, dialect, is_required=_has_index(tree))
    # The index of addresses selects fewer subscribers than that of IDs, which is in order
    # (`email="a1*" AND customFields.plan=pro AND tags:half1`).
    id_ = (SUBSCRIBERS_WITHOUT_INDEX if any(map(is_address, required(tree))) else SUBSCRIBERS).id
    query = ONE.select(id_).where((ONE.account_id == param("account_id")) & condition)
    return ids.add_to(query, ONE.id)


def _built(query: Any) -> Any:
    return query.build() if isinstance(query, Fragment) else query


def _has_index(tree: Any) -> bool:
    """Whether the subscribers are found by one of the conditions instead of a scan of all."""
    if is_condition(tree):
        return not is_address_prefix(tree)
    return finds_few(tree)


def _with_one_scan(tree: And | Or) -> Sequence[Any]:
    """Returns the conditions of a tree. Those that one scan of all subscribers checks are one.

    A status has an index, but a scan for other conditions checks it in less time
    (`email="b*" AND status=CONFIRMED`). If one of the conditions selects few subscribers, the
    others are checked for these.
    """
    if isinstance(tree, And) and finds_few(tree):
        return [tree]
    if not any(map(_is_scanned, tree.conditions)):
        return tree.conditions
    parts = [part for part in tree.conditions if _is_of_columns(part)]
    others = [part for part in tree.conditions if part not in parts]
    return [*others, type(tree)(tuple(parts))] if len(parts) > 1 else tree.conditions


def _is_one_query(tree: Any) -> bool:
    return is_condition(tree) or len(_with_one_scan(tree)) == 1


def _is_scanned(tree: Any) -> bool:
    """Whether a condition is on columns without an index in the order of IDs."""
    return _is_of_columns(tree) and not all(map(is_status, comparisons(tree)))


def _is_of_columns(tree: Any) -> bool:
    return all(condition.kind in _OF_COLUMNS for condition in comparisons(tree))


def _select_all(ids: IdRange) -> Any:
    return ids.add_to(ONE.select(ONE.id).where(ONE.account_id == param("account_id")), ONE.id)


def _count(query: Any) -> Select:
    return Select([query.alias("ids")], [fn.COUNT(SQL("*"))])
