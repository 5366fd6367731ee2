"""Searches subscribers by the prefix of an address, a name or a last name.

Each key has an index. The ranges of the prefix in these indexes overlap, so the total is the sum
of the subscribers of each range that are in none of the ranges before it. The indexes of names
contain the keys that this takes.

A page is read in one of two ways. If many subscribers match, it is found by a scan of the
subscribers in the order of the list, which ends after a multiple of the expected number. Otherwise,
or if the matches are unevenly distributed, all matches are sorted.
"""

from __future__ import annotations

from functools import lru_cache, reduce
from operator import or_
from typing import Any, NamedTuple

from peewee import OP, SQL, Expression, Node, Select, fn

from ....storage.statements import Dialect, Statement, param
from ....storage.transaction import Transaction
from ..counters.store_pages import select_total, total
from ..models import Subscriber
from ..store_reading import SelectedRow, select_rows
from .plan import Counting, IdRange, PagePosition, Plan, Planned, after, plan_of
from .tree import Condition

# The scanned subscribers in relation to the expected number, and the relation of the costs of
# sorting a match and scanning a subscriber (`q (16 matches)`, `q (6 %)` and `q (100 %)` in
# `make bench-scale`).
SCAN_FACTOR = 4
SCAN_COST = 10
# For an unknown number of matches, the scanned subscribers in relation to those of the pages up to
# this one, and their maximum number.
UNKNOWN_FACTORS = (20, 400)
MAX_UNKNOWN = 20_000


class Counts(NamedTuple):
    """The number of matches, and of all subscribers of the account."""

    matches: int
    subscribers: int


def search_ranges(one: Any, condition: Condition, *, has_domain: bool = True) -> list[Expression]:
    """Returns the conditions of a search on the key of each index.

    `has_domain` is whether the prefix contains a part of the domain, which can be in Unicode.
    """
    start, end, folded_start, folded_end = condition.values
    unicode = [in_range(one.email_unicode_key, start, end)] if has_domain else []
    return [
        in_range(one.email_key, start, end),
        *unicode,
        in_range(one.name_key, folded_start, folded_end),
        in_range(one.last_name_key, folded_start, folded_end),
    ]


def in_range(value: Any, start: str, end: str) -> Any:
    return Expression(value, ">=", param(start)) & Expression(value, "<", param(end))


def count_search(account_id: str, planned: Planned, tx: Transaction) -> Counts:
    """Counts the matches. One statement."""
    statement = _counting(planned.plan, _has_domain(planned))
    row = tx.one(statement, account_id=account_id, **planned.values)
    return Counts(0, 0) if row is None else Counts(row[0], row[1] or 0)


def scanned_numbers(end: int, matches: int | None, subscribers: int) -> list[int]:
    """Returns how many subscribers to scan for the matches up to `end`, one number after the other.

    With an unknown number of matches, the first scan is short. Empty if sorting takes less time.
    """
    if matches is None:
        return [end * factor for factor in UNKNOWN_FACTORS if end * factor <= MAX_UNKNOWN]
    scanned = SCAN_FACTOR * end * subscribers // max(matches, 1) + end
    return [scanned] if scanned * SCAN_COST < matches else []


def page_of_search(
    account_id: str, planned: Planned, position: PagePosition, counting: Counting, tx: Transaction
) -> tuple[list[SelectedRow], int | None]:
    """Returns rows of `select_rows`, and the number of matches. At most three statements."""
    matches, subscribers = counting.known, 0
    if matches is not None:
        subscribers = total(account_id, tx)
    elif counting.up_to:
        matches, subscribers = count_search(account_id, planned, tx)
    if matches is not None and matches <= position.offset:
        return [], matches
    # The bounds of this plan contain the position, which the counts do not depend on.
    _, plan, values = plan_of(after(planned.tree, position))
    variant = (plan, _has_domain(planned), position.descending)
    limit, end = position.limit, position.offset + position.limit
    values |= {"account_id": account_id, "limit": limit, "offset": position.offset}
    for scanned in scanned_numbers(end, matches, subscribers):
        rows = tx.all(_scanning(*variant), scanned=scanned, **values)
        if len(rows) == limit:
            return rows, matches
    return tx.all(_sorting(*variant), end=end, **values), matches


def _has_domain(planned: Planned) -> bool:
    return "@" in planned.values[planned.plan.tree.values[0]]


def _select(one: Any, ids: IdRange) -> Any:
    return ids.add_to(one.select(one.id).where(one.account_id == param("account_id")), one.id)


@lru_cache(20)
def _counting(plan: Plan, has_domain: bool) -> Statement:
    def build(_: Dialect) -> Node:
        counts: list[Node] = []
        for number in range(len(search_ranges(Subscriber, plan.tree, has_domain=has_domain))):
            one = Subscriber.alias()
            *others, range_ = search_ranges(one, plan.tree, has_domain=has_domain)[: number + 1]
            query = _select(one, plan.ids).select(fn.COUNT(SQL("*"))).where(range_)
            for other in others:
                # A key can be null.
                query = query.where(Expression(other, "IS NOT", SQL("TRUE")))
            counts.append(query)
        return Select(columns=[reduce(_sum, counts), select_total()])

    return Statement(build)


@lru_cache(20)
def _scanning(plan: Plan, has_domain: bool, descending: bool) -> Statement:
    def build(dialect: Dialect) -> Any:
        one = Subscriber.alias()
        keys = (one.email_key, one.email_unicode_key, one.name_key, one.last_name_key)
        candidates = _in_order(_select(one, plan.ids).select(one.id, *keys), one.id, descending)
        candidates = candidates.limit(param("scanned")).alias("candidate")
        columns = candidates.c
        condition = reduce(or_, search_ranges(columns, plan.tree, has_domain=has_domain))
        ids = Select([candidates], [columns.id]).where(condition)
        ids = _in_order(ids, columns.id, descending).limit(param("limit")).offset(param("offset"))
        return _rows(ids, dialect, descending)

    return Statement(build)


@lru_cache(20)
def _sorting(plan: Plan, has_domain: bool, descending: bool) -> Statement:
    def build(dialect: Dialect) -> Any:
        first = []
        for number in range(len(search_ranges(Subscriber, plan.tree, has_domain=has_domain))):
            one = Subscriber.alias()
            range_ = search_ranges(one, plan.tree, has_domain=has_domain)[number]
            # An expression, so that PostgreSQL does not scan the subscribers in order instead.
            by_id = Expression(one.id, OP.CONCAT, SQL("''"))
            query = _in_order(_select(one, plan.ids).where(range_), by_id, descending)
            first.append(Select([query.limit(param("end")).alias("first")], [SQL("id")]))
        ids = reduce(or_, first)
        ids = ids.order_by(SQL("1 DESC" if descending else "1"))
        ids = ids.limit(param("limit")).offset(param("offset"))
        return _rows(ids, dialect, descending)

    return Statement(build)


def _sum(first: Node, second: Node) -> Node:
    return Expression(first, OP.ADD, second)


def _rows(ids: Node, dialect: Dialect, descending: bool) -> Any:
    query = select_rows(dialect).where(dialect.within(Subscriber.id, ids))
    return _in_order(query, Subscriber.id, descending)


def _in_order(query: Any, id_: Any, descending: bool) -> Any:
    return query.order_by(id_.desc() if descending else id_)
