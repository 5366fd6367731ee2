"""Reads the matches of a plan: pages with their total, numbers and IDs."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter, itemgetter
from sys import maxsize
from typing import Any, NamedTuple

from peewee import SQL, Field, ModelSelect, Node, fn

from ....storage.statements import Dialect, Statement, cached_by_account, param
from ....storage.transaction import Transaction
from ...tags.models import SubscriberTag
from ..counters.store_pages import page_by_offset, select_total, total
from ..counters.store_statistics import count_by_statistics, select_with
from ..fields import SubscriberRow
from ..models import Subscriber
from ..store_reading import FIND_ALL, SelectedRow, complete, select_rows
from .store_conditions import (
    SUBSCRIBERS,
    SUBSCRIBERS_WITHOUT_INDEX,
    SubscriberColumns,
    condition_of,
    finds_few,
    select_tagged,
)
from .store_plan import Order, PagePosition, Plan, Strategy, with_statistics
from .store_search import count_search, search_rows
from .store_sets import count_matching, select_matching
from .tree import And, is_bound, is_search, is_tag, joined, required

# The size of a half of an account from which the halves are counted at the same time. Smaller ones
# take a few milliseconds.
MIN_HALF = 50_000
# A client can send filter expressions of any number of shapes, with up to 25 KB of SQL each.
CACHED_STATEMENTS = 200
_EVERYONE = Plan(Strategy.ALL)
_TAGGED = SubscriberTag.alias("tagged")
_WITHOUT_ALIAS = SubscriberColumns("", Subscriber, Subscriber.id)


class SubscriberPage(NamedTuple):
    """The subscribers of a page, the number of matches, and whether more pages follow."""

    rows: list[SubscriberRow]
    total: int
    more: bool


def page_and_parts(
    account_id: str, plan: Plan, position: PagePosition, tx: Transaction
) -> tuple[SubscriberPage, list[Plan]]:
    """Returns a page, and plans for parts of the list if counting its total takes long.

    The total is then the sum of `count_part` for these parts. At most three statements, and ten
    with a filter expression. A position after an ID costs the same on every page. So does an offset
    without conditions, which is located by the counters.
    """
    plan = with_statistics(account_id, plan, tx)
    rows, count = _rows_and_total(account_id, plan, position._replace(limit=position.limit + 1), tx)
    parts: list[Plan] = []
    if count is None:
        parts = _halves(account_id, plan, tx)
        count = 0 if parts else count_part(account_id, plan, tx)
    found = SubscriberPage(
        rows=[complete(row) for row in rows[: position.limit]],
        total=count,
        more=len(rows) > position.limit,
    )
    return found, parts


def _rows_and_total(
    account_id: str, plan: Plan, position: PagePosition, tx: Transaction
) -> tuple[Sequence[SelectedRow], int | None]:
    """Returns rows of `select_rows`, and the total if it does not have to be counted."""
    is_in_order = position.order_by is Order.CREATED
    if plan.is_by_offset(position):
        return page_by_offset(
            account_id, position.offset, position.limit, tx, descending=position.descending
        )
    if plan.has_one_statement(position):
        rows = _rows(account_id, plan, position, tx, with_total=True)
        if rows:
            return [row[:-1] for row in rows], int(rows[0][-1])
        return [], _count(account_id, plan, tx)
    if plan.strategy is Strategy.SEARCH and is_in_order:
        counts = count_search(account_id, plan, tx)
        if counts.matches <= position.offset:
            return [], counts.matches
        return search_rows(account_id, plan.after(position), counts, position, tx), counts.matches
    if position.after is None and is_in_order and finds_few(plan.tree):
        return _rows_of_few(account_id, plan, position, tx)
    stored = _stored_count(account_id, plan, tx)
    if stored is not None and stored <= position.offset:
        return [], stored
    rows = _rows(account_id, plan, position, tx)
    is_past_end = not rows and position.offset > 0
    if stored is None and position.after is None and len(rows) < position.limit and not is_past_end:
        # These are the last matches. Counting few of them would take as long again.
        stored = position.offset + len(rows)
    return rows, stored


def _rows_of_few(
    account_id: str, plan: Plan, position: PagePosition, tx: Transaction
) -> tuple[list[SelectedRow], int]:
    """Reads the IDs of all matches instead of finding them for the page and for the total.

    That takes half of the time (`firstName=Ada17 AND lastName=Lovelace3` in `make bench-scale`).
    """
    matches = _ids(account_id, plan, maxsize, tx)
    ids = matches[::-1] if position.descending else matches
    ids = ids[position.offset : position.offset + position.limit]
    rows = tx.all(FIND_ALL, account_id=account_id, ids=ids)
    return sorted(rows, key=itemgetter(0), reverse=position.descending), len(matches)


def page_without_total(
    account_id: str, plan: Plan, position: PagePosition, tx: Transaction
) -> list[SubscriberRow]:
    """Returns the subscribers of a page without counting the matches. One statement."""
    return [complete(row) for row in _rows(account_id, plan, position, tx)]


def ids_after(
    account_id: str, plan: Plan, after: str | None, limit: int, tx: Transaction
) -> list[str]:
    """Returns the IDs of the next matches in order. One statement."""
    return _ids(account_id, plan.after(PagePosition(limit, after=after)), limit, tx)


def find_matches(
    account_id: str, ids: Sequence[str], tree: Any, tx: Transaction
) -> list[SubscriberRow]:
    """Returns the subscribers with these IDs that match, in order of ID. One statement."""
    shape, values = Plan(Strategy.CHECK, tree).parametrized()
    rows = tx.all(_select_among(account_id, shape), account_id=account_id, ids=ids, **values)
    return sorted(map(complete, rows), key=attrgetter("id"))


def count_matches(account_id: str, plan: Plan, tx: Transaction) -> int:
    """Returns the number of subscribers that match.

    At most four statements, and three more for names, addresses and domains in a filter expression.
    """
    return _count(account_id, with_statistics(account_id, plan, tx), tx)


def count_part(account_id: str, part: Plan, tx: Transaction) -> int:
    """Returns the number of subscribers that match a part of a list. One statement."""
    shape, values = part.parametrized()
    return int(tx.scalar(_select_count(account_id, shape), account_id=account_id, **values) or 0)


def _halves(account_id: str, plan: Plan, tx: Transaction) -> list[Plan]:
    """Splits a plan that scans an index by ID, if the account is large. Returns two, or none.

    With two cores, the total of `customFields.plan=pro AND customFields.optin=true AND tags:half1`
    takes 40 % less time (`make bench-scale`).
    """
    # With bounds, the databases would scan an index by ID instead of reading few matches.
    is_stored_or_bounded = plan.has_stored_total or any(plan.ids)
    if plan.strategy is not Strategy.SETS or is_stored_or_bounded or finds_few(plan.tree):
        return []
    half = total(account_id, tx) // 2
    if half < MIN_HALF:
        return []
    ((middle, *_),), _ = page_by_offset(account_id, half, 1, tx, descending=False)
    return [
        plan._replace(ids=plan.ids.within(end_id=middle)),
        plan._replace(ids=plan.ids.within(middle)),
    ]


def _count(account_id: str, plan: Plan, tx: Transaction) -> int:
    stored = _stored_count(account_id, plan, tx)
    return count_part(account_id, plan, tx) if stored is None else stored


def _stored_count(account_id: str, plan: Plan, tx: Transaction) -> int | None:
    """Returns the number of matches if it takes no time in proportion to it, or a search."""
    if plan.is_everyone:
        return total(account_id, tx)
    if plan.strategy is Strategy.SEARCH:
        return count_search(account_id, plan, tx).matches
    if plan.strategy is Strategy.SETS and not any(plan.ids) and not plan.has_stored_total:
        return count_by_statistics(account_id, plan.tree, tx)
    return None


def _rows(
    account_id: str,
    plan: Plan,
    position: PagePosition,
    tx: Transaction,
    *,
    with_total: bool = False,
) -> list[SelectedRow]:
    """Returns rows of `select_rows`; `with_total` adds the number of matches to each."""
    shape, values = plan.after(position).parametrized()
    counted = shape if position.after is None else _EVERYONE
    statement = _select_page(
        account_id,
        shape,
        counted if with_total else None,
        descending=position.descending,
        order_by=position.order_by,
    )
    return tx.all(
        statement, account_id=account_id, limit=position.limit, offset=position.offset, **values
    )


def _ids(account_id: str, plan: Plan, limit: int, tx: Transaction) -> list[str]:
    shape, values = plan.parametrized()
    rows = tx.all(_select_ids(account_id, shape), account_id=account_id, limit=limit, **values)
    return [subscriber_id for (subscriber_id,) in rows]


@cached_by_account(CACHED_STATEMENTS)
def _select_page(
    plan: Plan, counted: Plan | None, *, descending: bool, order_by: Order
) -> Statement:
    """Returns the statement for a page of a plan, and the total of another plan, if any.

    Conditions other than bounds select IDs in a subquery. If whole rows were selected, SQLite
    would scan all subscribers in order instead of using the index of a condition.
    """

    def ordered(query: ModelSelect[Any], one: Any, id_: Field) -> ModelSelect[Any]:
        columns = [id_] if order_by is Order.CREATED else [one.revision, id_]
        return query.order_by(*[column.desc() if descending else column for column in columns])

    def build(dialect: Dialect) -> ModelSelect[Subscriber]:
        query = select_rows(dialect, *([_select_total(counted, dialect)] if counted else []))
        if plan.is_in_order(order_by):
            for part in required(plan.tree):
                query = query.where(condition_of(part, _WITHOUT_ALIAS, dialect))
            query = ordered(plan.ids.add_to(query, Subscriber.id), Subscriber, Subscriber.id)
            return query.limit(param("limit")).offset(param("offset"))
        if plan.strategy is Strategy.SETS and order_by is Order.CREATED:
            ids = select_matching(plan.tree, plan.ids, dialect, descending=descending)
        else:
            ids = ordered(*_checked(plan, dialect, order_by))
        ids = ids.limit(param("limit")).offset(param("offset"))
        query = query.where(dialect.within(Subscriber.id, ids))
        return ordered(query, Subscriber, Subscriber.id)

    return Statement(build, has_one_plan=plan.is_in_order(order_by))


@cached_by_account(CACHED_STATEMENTS)
def _select_count(plan: Plan) -> Statement:
    return Statement(lambda dialect: _select_total(plan, dialect))


@cached_by_account(CACHED_STATEMENTS)
def _select_ids(plan: Plan) -> Statement:
    def build(dialect: Dialect) -> Any:
        if plan.strategy is Strategy.SETS:
            return select_matching(plan.tree, plan.ids, dialect).limit(param("limit"))
        query, _, id_ = _checked(plan, dialect)
        return query.order_by(id_).limit(param("limit"))

    return Statement(build)


@cached_by_account(CACHED_STATEMENTS)
def _select_among(plan: Plan) -> Statement:
    def build(dialect: Dialect) -> ModelSelect[Subscriber]:
        query = select_rows(dialect).where(dialect.any_of(Subscriber.id, "ids"))
        return query.where(condition_of(plan.tree, _WITHOUT_ALIAS, dialect, is_required=False))

    return Statement(build)


def _select_total(plan: Plan, dialect: Dialect) -> Node:
    """Selects the number of matches."""
    if plan.is_everyone:
        return select_total()
    if plan.has_stored_total:
        return select_with(plan.tree)
    if plan.strategy is Strategy.SETS:
        stored = None if any(plan.ids) else select_total()
        return count_matching(plan.tree, plan.ids, dialect, stored)
    ids, _, _ = _checked(plan, dialect)
    return ids.select(fn.COUNT(SQL("*")))


def _checked(
    plan: Plan, dialect: Dialect, order_by: Order = Order.CREATED
) -> tuple[ModelSelect[Any], Any, Field]:
    """Selects the IDs of the matches. Also returns the table and the column of these IDs.

    A tag scans its subscribers, which are in the order of IDs. Changes within a range of time are
    sorted: the index of IDs would be scanned up to the first match, which can be the newest
    subscriber.
    """
    one, parts, rows = SUBSCRIBERS.table, [*required(plan.tree)], SUBSCRIBERS
    first = next(filter(is_tag, parts[:1] if plan.is_looked_up else parts), None)
    if first is not None:
        parts.remove(first)
        id_, query = select_tagged(first, dialect, _TAGGED)
        rows = SubscriberColumns("tagged", one, id_)
        if order_by is Order.UPDATED or not all(map(is_search, parts)):
            on = (one.account_id == param("account_id")) & (one.id == id_)
            query = query.join(one, on=on)
    else:
        if order_by is Order.CREATED and parts and all(map(is_bound, parts)):
            rows = SUBSCRIBERS_WITHOUT_INDEX
        query = one.select(one.id).where(one.account_id == param("account_id"))
    is_looked_up = plan.is_looked_up
    if is_looked_up and first is None:
        query = query.where(condition_of(parts.pop(0), rows, dialect))
    if is_looked_up or finds_few(plan.tree):
        parts = [joined(And, parts)]
    for part in parts:
        is_required = not is_looked_up
        query = query.where(
            condition_of(part, rows, dialect, is_required=is_required, is_looked_up=is_looked_up)
        )
    return plan.ids.add_to(query, rows.id), one, rows.id
