"""Searches subscribers by the prefix of an address, a name or a last name.

Each key has an index. The ranges of the prefix in these indexes overlap, so the total is the sum
of the subscribers of each range that are in none of the ranges before it. The indexes of names
contain the keys that this takes.

A page is read in one of two ways. If many subscribers match, it is found by a scan of the
subscribers in the order of the list, which ends after a multiple of the expected number. Otherwise,
or if the matches are unevenly distributed, all matches are sorted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import lru_cache, reduce
from operator import or_
from typing import Any, NamedTuple

from peewee import OP, SQL, Expression, Node, Select, fn

from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from .counters.store_pages import select_total
from .models import Subscriber
from .store_reading import SelectedRow, select_rows

_BOUNDS = frozenset({"first_id", "end_id"})
_PREFIX = frozenset({"prefix", "prefix_end", "folded_prefix", "folded_prefix_end"})
# The scanned subscribers in relation to the expected number, and the relation of the costs of
# sorting a match and scanning a subscriber (`make bench-scale`).
SCAN_FACTOR = 4
SCAN_COST = 10


def is_search(names: Collection[str]) -> bool:
    """Whether filters, given by the names of their parameters, are a prefix and bounds of IDs."""
    return "prefix" in names and set(names) <= _PREFIX | _BOUNDS


class Counts(NamedTuple):
    """The number of matches, and of all subscribers of the account."""

    matches: int
    subscribers: int


def count_search(account_id: str, values: Mapping[str, Any], tx: Transaction) -> Counts:
    """Counts the matches. One statement."""
    statement = _counting(frozenset(values), _has_domain(values))
    row = tx.one(statement, account_id=account_id, **values)
    return Counts(0, 0) if row is None else Counts(row[0], row[1] or 0)


def search_rows(
    account_id: str,
    values: Mapping[str, Any],
    counts: Counts,
    tx: Transaction,
    *,
    limit: int,
    offset: int,
    descending: bool,
) -> list[SelectedRow]:
    """Returns rows of `select_rows`. At most two statements.

    `values` can contain the position as a bound of IDs, which the counts do not depend on.
    """
    names, has_domain = frozenset(values), _has_domain(values)
    parameters = {"account_id": account_id, "limit": limit, "offset": offset, **values}
    end = offset + limit
    scanned = SCAN_FACTOR * end * counts.subscribers // counts.matches + end
    if scanned * SCAN_COST < counts.matches:
        statement = _scanning(names, has_domain, descending=descending)
        rows = tx.all(statement, scanned=scanned, **parameters)
        if len(rows) == limit:
            return rows
    statement = _sorting(names, has_domain, descending=descending)
    return tx.all(statement, end=end, **parameters)


def _has_domain(values: Mapping[str, Any]) -> bool:
    """Whether the prefix contains a part of the domain, which can be in Unicode."""
    return "@" in values["prefix"]


def _ranges(one: Any, *, has_domain: bool) -> list[Expression]:
    """Returns the condition for each key."""
    unicode = [_starts_with(one.email_unicode_key, "prefix")] if has_domain else []
    return [
        _starts_with(one.email_key, "prefix"),
        *unicode,
        _starts_with(one.name_key, "folded_prefix"),
        _starts_with(one.last_name_key, "folded_prefix"),
    ]


def _starts_with(key: Any, prefix: str) -> Expression:
    condition: Expression = (key >= param(prefix)) & (key < param(f"{prefix}_end"))
    return condition


def _select(one: Any, names: Collection[str]) -> Any:
    query = one.select(one.id).where(one.account_id == param("account_id"))
    if "first_id" in names:
        query = query.where(one.id >= param("first_id"))
    if "end_id" in names:
        query = query.where(one.id < param("end_id"))
    return query


@lru_cache(20)
def _counting(names: frozenset[str], has_domain: bool) -> Statement:
    def build(_: Dialect) -> Node:
        counts: list[Node] = []
        for number in range(len(_ranges(Subscriber, has_domain=has_domain))):
            one = Subscriber.alias()
            *others, range_ = _ranges(one, has_domain=has_domain)[: number + 1]
            query = _select(one, names).select(fn.COUNT(SQL("*"))).where(range_)
            for other in others:
                # A key can be null.
                query = query.where(Expression(other, "IS NOT", SQL("TRUE")))
            counts.append(query)
        return Select(columns=[reduce(_sum, counts), select_total()])

    return Statement(build)


@lru_cache(20)
def _scanning(names: frozenset[str], has_domain: bool, *, descending: bool) -> Statement:
    def build(dialect: Dialect) -> Any:
        one = Subscriber.alias()
        keys = (one.email_key, one.email_unicode_key, one.name_key, one.last_name_key)
        candidates = _in_order(_select(one, names).select(one.id, *keys), one.id, descending)
        candidates = candidates.limit(param("scanned")).alias("candidate")
        columns = candidates.c
        condition = reduce(or_, _ranges(columns, has_domain=has_domain))
        ids = Select([candidates], [columns.id]).where(condition)
        ids = _in_order(ids, columns.id, descending).limit(param("limit")).offset(param("offset"))
        return _rows(ids, dialect, descending=descending)

    return Statement(build)


@lru_cache(20)
def _sorting(names: frozenset[str], has_domain: bool, *, descending: bool) -> Statement:
    def build(dialect: Dialect) -> Any:
        first = []
        for number in range(len(_ranges(Subscriber, has_domain=has_domain))):
            one = Subscriber.alias()
            query = _select(one, names).where(_ranges(one, has_domain=has_domain)[number])
            # An expression, so that PostgreSQL does not scan the subscribers in order instead.
            by_id = Expression(one.id, OP.CONCAT, SQL("''"))
            query = _in_order(query, by_id, descending).limit(param("end"))
            first.append(Select([query.alias("first")], [SQL("id")]))
        ids = reduce(or_, first)
        ids = ids.order_by(SQL("1 DESC" if descending else "1"))
        ids = ids.limit(param("limit")).offset(param("offset"))
        return _rows(ids, dialect, descending=descending)

    return Statement(build)


def _sum(first: Node, second: Node) -> Node:
    return Expression(first, OP.ADD, second)


def _rows(ids: Node, dialect: Dialect, *, descending: bool) -> Any:
    query = select_rows(dialect).where(dialect.within(Subscriber.id, ids))
    return _in_order(query, Subscriber.id, descending)


def _in_order(query: Any, id_: Any, descending: bool) -> Any:
    return query.order_by(id_.desc() if descending else id_)
