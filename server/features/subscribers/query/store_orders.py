"""Reads pages in another order than that of IDs: by the key of an order, then by ID.

A page of a list without other conditions is a range of the index of its order. With conditions,
there are two ways, as for a search: subscribers are scanned in order and checked, which ends after
a multiple of the expected number, or the keys of all matches are sorted. The first is for lists
with many matches, the second for the others, and if the matches are unevenly distributed.

A page by its number far into a list with conditions sorts all matches. With its total, it takes
twice the CPU time of the first page if 1 % of a million subscribers match, and 10 times if a third
does (`email: tags:tenth3 AND customFields.level=3, page 250` and `email: customFields.plan=pro,
page 10,000` in `make bench-scale`). Behind the last change of status it takes five times with 1 %,
because the subscribers without one are read apart. Counting the matches up to keys near the page,
then scanning from there, would take 55 % to 80 % of that time with a third, because the key of each
match has to be read.
"""

from __future__ import annotations

from typing import Any

from peewee import CTE, JOIN, OP, SQL, Expression, Join, Select, TextField, fn

from ....storage.statements import Dialect, Statement, Within, cached_by_account, param
from ....storage.transaction import Transaction
from ..counters.store_pages import total
from ..models import Subscriber
from ..store_reading import SelectedRow, select_rows
from .plan import (
    KEYS,
    MAX_LOOKED_UP,
    Order,
    PagePosition,
    Plan,
    Planned,
    after,
    is_in_order,
    plan_of,
)
from .store_conditions import ONE, SUBSCRIBERS, SubscriberColumns, condition_of
from .store_matches import select_count, select_ids
from .store_search import scanned_numbers
from .tree import And, finds_few, is_bound_of_ids, joined, required

# As in `store_pages`.
CACHED_STATEMENTS = 200
_KEYED, _CANDIDATE = Subscriber.alias("keyed"), Subscriber.alias("candidate")


def rows_in_order(
    account_id: str,
    planned: Planned,
    position: PagePosition,
    matches: int | None,
    tx: Transaction,
) -> list[SelectedRow]:
    """Returns rows of `select_rows` of the subscribers with a key. At most six statements.

    `matches` is their number, if it is known.
    """
    if position.after is not None:
        is_looked_up = planned.plan.is_looked_up
        planned = plan_of(after(planned.tree, position), is_looked_up=is_looked_up)
    _, plan, values = planned
    order, end = (position.order_by, position.descending), position.offset + position.limit
    values = {**values, "account_id": account_id, "limit": position.limit}
    values["offset"] = position.offset
    if plan.is_in_order(position.order_by):
        return tx.all(select_range(account_id, plan, None, *order, position.offset > 0), **values)
    if not plan.is_looked_up and not finds_few(plan.tree):
        subscribers = 0 if matches is None else total(account_id, tx)
        for scanned in scanned_numbers(end, matches, subscribers):
            values["scanned"] = scanned
            rows = tx.all(_select_scanned(account_id, plan, *order), **values)
            if len(rows) == position.limit:
                return rows
            if tx.scalar(_count_scanned(account_id, plan, *order), **values) < scanned:
                # The scan reached the end of the list.
                return rows
    is_large = max(end, matches or 0) > MAX_LOOKED_UP
    statement = _select_sorted(account_id, plan, *order, position.offset > 0, is_large)
    return tx.all(statement, **values)


@cached_by_account(CACHED_STATEMENTS)
def select_range(
    plan: Plan, counted: Plan | None, order_by: Order, descending: bool, has_offset: bool
) -> Statement:
    """Returns the statement for a page of a range of keys, and the total of another plan, if any.

    Only the index is read before an offset.
    """

    def build(dialect: Dialect) -> Any:
        query = select_rows(dialect, *([select_count(counted, dialect)] if counted else []))
        if has_offset:
            keyed = _keyed(plan, _KEYED, order_by, dialect)
            keyed = keyed.order_by(*_columns(_KEYED, order_by, descending))
            if order_by is not Order.EMAIL:
                return _page(query, keyed, order_by, descending, dialect)
            # On PostgreSQL, the index of addresses contains no IDs.
            first = keyed.select(_KEYED.email_key).limit(SQL("1")).offset(param("offset"))
            query = query.where(
                Expression(Subscriber.email_key, "<=" if descending else ">=", first)
            )
        query = _within_range(query, plan, Subscriber, order_by, dialect)
        return query.order_by(*_columns(Subscriber, order_by, descending)).limit(param("limit"))

    return Statement(build, has_one_plan=True)


@cached_by_account(CACHED_STATEMENTS)
def _select_scanned(plan: Plan, order_by: Order, descending: bool) -> Statement:
    def build(dialect: Dialect) -> Any:
        candidates = _candidates(plan, order_by, descending, dialect)
        # A cross join, because SQLite could otherwise search the candidates for each subscriber.
        query = Select([Join(candidates, ONE, JOIN.CROSS)], [ONE.id])
        query = query.where((ONE.account_id == param("account_id")) & (ONE.id == candidates.c.id))
        if others := _others(plan, order_by):
            tree = joined(And, others)
            query = query.where(
                condition_of(tree, SUBSCRIBERS, dialect, is_required=False, is_looked_up=True)
            )
        columns = [candidates.c.key, candidates.c.id]
        ids = plan.ids.add_to(query, ONE.id)
        ids = ids.order_by(*[each.desc() if descending else each for each in columns])
        return _page(select_rows(dialect), ids, order_by, descending, dialect)

    return Statement(build)


@cached_by_account(CACHED_STATEMENTS)
def _count_scanned(plan: Plan, order_by: Order, descending: bool) -> Statement:
    def build(dialect: Dialect) -> Select:
        candidates = _candidates(plan, order_by, descending, dialect)
        return Select([candidates], [fn.COUNT(SQL("*"))])

    return Statement(build)


@cached_by_account(CACHED_STATEMENTS)
def _select_sorted(
    plan: Plan, order_by: Order, descending: bool, has_offset: bool, is_large: bool
) -> Statement:
    bounds = [part for part in required(plan.shape) if is_bound_of_ids(part)]
    matches = Plan(joined(And, [*_others(plan, order_by), *bounds]), plan.is_looked_up)

    def build(dialect: Dialect) -> Any:
        keyed = _keyed(plan, _KEYED, order_by, dialect)
        matching, tables = select_ids(matches, dialect), list[CTE]()
        id_ = dialect.joined_in_scan(_KEYED.id) if is_large else _KEYED.id
        if is_large and order_by is Order.STATUS_CHANGED:
            # Fewer subscribers have a key than match.
            keyed = keyed.where(Within(id_, matching))
        else:
            # SQLite reads the tables of a cross join in this order. It would otherwise look up each
            # key in the set of matches.
            found = matching.cte("matches", columns=["id"])
            keyed = keyed.from_(Join(found, _KEYED, JOIN.CROSS)).where(id_ == found.c.id)
            tables.append(found)
        ids = keyed.order_by(*_columns(_KEYED, order_by, descending, has_index=False))
        if has_offset:
            # With LIMIT, SQLite would insert each row into a B-tree, which takes three times as
            # long as sorting them all (`email: tag (50 %), page 20,000` in `make bench-scale`).
            ordered = ids.cte("ordered", columns=["id"], materialized=True)
            ids = Select([ordered], [ordered.c.id])
            tables.append(ordered)
        ids = ids.with_cte(*tables)
        return _page(select_rows(dialect), ids, order_by, descending, dialect)

    return Statement(build)


def _candidates(plan: Plan, order_by: Order, descending: bool, dialect: Dialect) -> Any:
    """Selects the keys and IDs that are scanned, as a table."""
    key: Any = getattr(_CANDIDATE, KEYS[order_by])
    keyed = _keyed(plan, _CANDIDATE, order_by, dialect).select(key.alias("key"), _CANDIDATE.id)
    keyed = keyed.order_by(*_columns(_CANDIDATE, order_by, descending))
    return keyed.limit(param("scanned")).alias("found")


def _keyed(plan: Plan, one: Any, order_by: Order, dialect: Dialect) -> Any:
    """Selects the IDs of the range of keys of a plan."""
    query = one.select(one.id).where(one.account_id == param("account_id"))
    return _within_range(query, plan, one, order_by, dialect)


def _within_range(query: Any, plan: Plan, one: Any, order_by: Order, dialect: Dialect) -> Any:
    columns = SubscriberColumns("", one, one.id)
    for part in plan.parts:
        if is_in_order(part, order_by):
            query = query.where(condition_of(part, columns, dialect))
    return query


def _others(plan: Plan, order_by: Order) -> list[Any]:
    return [part for part in plan.parts if not is_in_order(part, order_by)]


def _columns(one: Any, order_by: Order, descending: bool, *, has_index: bool = True) -> list[Any]:
    """Returns the columns to order by, as expressions without an index if `has_index` is false."""
    # Addresses are unique, and their index contains no ID.
    names = [KEYS[order_by], "id"] if order_by is not Order.EMAIL else [KEYS[order_by]]
    columns = [getattr(one, name) for name in names]
    if not has_index:
        columns = [_expression(column) for column in columns]
    return [column.desc() if descending else column for column in columns]


def _expression(column: Any) -> Expression:
    if isinstance(column, TextField):
        return Expression(column, OP.CONCAT, SQL("''"))
    return Expression(column, OP.ADD, SQL("0"))


def _page(query: Any, ids: Any, order_by: Order, descending: bool, dialect: Dialect) -> Any:
    """Limits a query of rows to the page of a query of IDs."""
    ids = ids.limit(param("limit")).offset(param("offset"))
    columns = _columns(Subscriber, order_by, descending, has_index=False)
    return query.where(dialect.within(Subscriber.id, ids)).order_by(*columns)
