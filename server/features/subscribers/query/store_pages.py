"""Reads the matches of a plan: pages with their total, numbers and IDs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from operator import attrgetter, itemgetter
from sys import maxsize
from typing import Any, NamedTuple

from peewee import SQL, Field, ModelSelect, Node, Select, fn

from ....storage.database import Database, Work
from ....storage.shared_work import OneStatement
from ....storage.statements import Dialect, Statement, cached_by_account, param
from ....storage.transaction import Transaction
from ...tags.models import SubscriberTag
from ..counters.store_pages import page_by_offset, select_total, total
from ..counters.store_statistics import count_by_statistics, count_with, select_with
from ..fields import SubscriberRow
from ..models import Subscriber
from ..store_reading import FIND_ALL, SelectedRow, complete, select_rows
from .plan import (
    Order,
    PagePosition,
    Plan,
    Planned,
    Reading,
    Strategy,
    after,
    is_short,
    plan_of,
    reading_of,
    with_numbers,
)
from .store_conditions import (
    SUBSCRIBERS,
    SUBSCRIBERS_WITHOUT_INDEX,
    SubscriberColumns,
    condition_of,
    select_candidates,
    select_tagged,
)
from .store_search import count_search, page_of_search
from .store_sets import count_matching, select_matching
from .tree import (
    And,
    Condition,
    Kind,
    finds_few,
    is_bound,
    is_search,
    is_status,
    is_tag,
    joined,
    within,
)

# The size of a half of an account from which the halves are counted at the same time. Smaller ones
# take a few milliseconds.
MIN_HALF = 50_000
# A client can send filter expressions of any number of shapes, with up to 25 KB of SQL each.
CACHED_STATEMENTS = 200
_TAGGED = SubscriberTag.alias("tagged")
_WITHOUT_ALIAS = SubscriberColumns("", Subscriber, Subscriber.id)


class SubscriberPage(NamedTuple):
    """The subscribers of a page, the number of matches, and whether more pages follow."""

    rows: list[SubscriberRow]
    total: int
    more: bool


Found = tuple[SubscriberPage, list[Planned]]


async def read_page(
    database: Database, account_id: str, planned: Planned, position: PagePosition
) -> SubscriberPage:
    """Returns a page of a list. Its total can include changes later than its rows."""
    plan = planned.plan
    work: Work[Found] = partial(page_and_parts, account_id, planned, position)
    if reading_of(plan, position) is Reading.AT_ONCE and not plan.needs_numbers:
        work = OneStatement(work, is_short(plan, position))
    found, parts = await database.read(work)
    if not parts:
        return found
    counts = [partial(count_part, account_id, part) for part in parts]
    return found._replace(total=sum(await database.read_parts(counts)))


def page_and_parts(
    account_id: str, planned: Planned, position: PagePosition, tx: Transaction
) -> Found:
    """Returns a page, and parts of the list if counting its total takes long.

    The total is then the sum of `count_part` for these parts. At most three statements, and ten
    with a filter expression. A position after an ID costs the same on every page. So does an offset
    without conditions, which is located by the counters.
    """
    planned = with_numbers(planned, partial(_number, account_id, tx))
    one_more = position._replace(limit=position.limit + 1)
    rows, count = _rows_and_total(account_id, planned, one_more, tx)
    parts: list[Planned] = []
    if count is None:
        parts = _halves(account_id, planned, tx)
        count = 0 if parts else count_part(account_id, planned, tx)
    found = SubscriberPage(
        rows=[complete(row) for row in rows[: position.limit]],
        total=count,
        more=len(rows) > position.limit,
    )
    return found, parts


def _number(account_id: str, tx: Transaction, condition: Condition, limit: int) -> int:
    if is_tag(condition) or is_status(condition):
        return count_with(account_id, condition, tx)
    _, plan, values = plan_of(condition)
    values |= {"account_id": account_id, "limit": limit}
    return int(tx.scalar(_count_candidates(plan.shape), **values))


def _rows_and_total(
    account_id: str, planned: Planned, position: PagePosition, tx: Transaction
) -> tuple[Sequence[SelectedRow], int | None]:
    """Returns rows of `select_rows`, and the total if it does not have to be counted."""
    plan = planned.plan
    match reading_of(plan, position):
        case Reading.OFFSET:
            return page_by_offset(
                account_id, position.offset, position.limit, tx, descending=position.descending
            )
        case Reading.AT_ONCE:
            rows = _rows(account_id, planned, position, tx, counted=plan)
            if rows:
                return [row[:-1] for row in rows], int(rows[0][-1])
            return [], _count(account_id, planned, tx)
        case Reading.SEARCH:
            return page_of_search(account_id, planned, position, tx)
        case Reading.IDS:
            return _rows_of_few(account_id, planned, position, tx)
    stored = _stored_count(account_id, planned, tx)
    if stored is not None and stored <= position.offset:
        return [], stored
    rows = _rows(account_id, planned, position, tx)
    is_past_end = not rows and position.offset > 0
    if stored is None and position.after is None and len(rows) < position.limit and not is_past_end:
        # These are the last matches. Counting few of them would take as long again.
        stored = position.offset + len(rows)
    return rows, stored


def _rows_of_few(
    account_id: str, planned: Planned, position: PagePosition, tx: Transaction
) -> tuple[list[SelectedRow], int]:
    matches = _ids(account_id, planned, maxsize, tx)
    ids = matches[::-1] if position.descending else matches
    ids = ids[position.offset : position.offset + position.limit]
    rows = tx.all(FIND_ALL, account_id=account_id, ids=ids)
    return sorted(rows, key=itemgetter(0), reverse=position.descending), len(matches)


def page_without_total(
    account_id: str, tree: Any, position: PagePosition, tx: Transaction
) -> list[SubscriberRow]:
    """Returns the subscribers of a page without counting the matches. One statement."""
    return [complete(row) for row in _rows(account_id, plan_of(tree), position, tx)]


def ids_after(
    account_id: str, tree: Any, last: str | None, limit: int, tx: Transaction
) -> list[str]:
    """Returns the IDs of the next matches in order. One statement."""
    following = after(tree, PagePosition(limit, after=last))
    return _ids(account_id, plan_of(following), limit, tx)


def find_matches(
    account_id: str, ids: Sequence[str], tree: Any, tx: Transaction
) -> list[SubscriberRow]:
    """Returns the subscribers with these IDs that match, in order of ID. One statement."""
    _, plan, values = plan_of(tree)
    rows = tx.all(_select_among(account_id, plan), account_id=account_id, ids=ids, **values)
    return sorted(map(complete, rows), key=attrgetter("id"))


def count_matches(account_id: str, tree: Any, tx: Transaction) -> int:
    """Returns the number of subscribers that match.

    At most four statements, and three more for names, addresses and domains in a filter expression.
    """
    return _count(account_id, with_numbers(plan_of(tree), partial(_number, account_id, tx)), tx)


def _halves(account_id: str, planned: Planned, tx: Transaction) -> list[Planned]:
    """Splits a list whose plan scans an index by ID, if the account is large. Returns two or none.

    With two cores, the total of `customFields.plan=pro AND customFields.optin=true AND tags:half1`
    takes 40 % less time (`make bench-scale`).
    """
    tree, plan, _ = planned
    if plan.strategy is not Strategy.SETS or any(plan.ids):
        return []
    half = total(account_id, tx) // 2
    if half < MIN_HALF:
        return []
    ((middle, *_),), _ = page_by_offset(account_id, half, 1, tx, descending=False)
    return [plan_of(within(tree, operator, middle)) for operator in ("<", ">=")]


def _count(account_id: str, planned: Planned, tx: Transaction) -> int:
    stored = _stored_count(account_id, planned, tx)
    return count_part(account_id, planned, tx) if stored is None else stored


def count_part(account_id: str, part: Planned, tx: Transaction) -> int:
    """Returns the number of subscribers that match, counted with one statement."""
    _, plan, values = part
    return int(tx.scalar(_select_count(account_id, plan), account_id=account_id, **values) or 0)


def _stored_count(account_id: str, planned: Planned, tx: Transaction) -> int | None:
    """Returns the number of matches if it takes no time in proportion to it, or a search."""
    tree, plan, _ = planned
    if plan.is_everyone:
        return total(account_id, tx)
    if plan.strategy is Strategy.SEARCH:
        return count_search(account_id, planned, tx).matches
    if plan.strategy is Strategy.SETS and not any(plan.ids):
        return count_by_statistics(account_id, tree, tx)
    return None


def _rows(
    account_id: str,
    planned: Planned,
    position: PagePosition,
    tx: Transaction,
    *,
    counted: Plan | None = None,
) -> list[SelectedRow]:
    """Returns rows of `select_rows`, each with the number of matches of the plan `counted`."""
    tree, plan, values = planned
    if position.after is not None:
        _, plan, values = plan_of(after(tree, position), is_looked_up=plan.is_looked_up)
    statement = _select_page(
        account_id, plan, counted, descending=position.descending, order_by=position.order_by
    )
    return tx.all(
        statement, account_id=account_id, limit=position.limit, offset=position.offset, **values
    )


def _ids(account_id: str, planned: Planned, limit: int, tx: Transaction) -> list[str]:
    _, plan, values = planned
    rows = tx.all(_select_ids(account_id, plan), account_id=account_id, limit=limit, **values)
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
            for part in plan.parts:
                query = query.where(condition_of(part, _WITHOUT_ALIAS, dialect))
            query = ordered(plan.ids.add_to(query, Subscriber.id), Subscriber, Subscriber.id)
            return query.limit(param("limit")).offset(param("offset"))
        if plan.is_of_sets and order_by is Order.CREATED:
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
        if plan.is_of_sets:
            return select_matching(plan.tree, plan.ids, dialect).limit(param("limit"))
        query, _, id_ = _checked(plan, dialect)
        return query.order_by(id_).limit(param("limit"))

    return Statement(build)


@cached_by_account(CACHED_STATEMENTS)
def _select_among(plan: Plan) -> Statement:
    def build(dialect: Dialect) -> ModelSelect[Subscriber]:
        query = select_rows(dialect).where(dialect.any_of(Subscriber.id, "ids"))
        return query.where(condition_of(plan.shape, _WITHOUT_ALIAS, dialect, is_required=False))

    return Statement(build)


def _select_total(plan: Plan, dialect: Dialect) -> Node:
    """Selects the number of matches."""
    if plan.is_everyone:
        return select_total()
    if plan.has_stored_total:
        return select_with(plan.tree)
    if plan.is_of_sets:
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
    one, parts, rows = SUBSCRIBERS.table, [*plan.parts], SUBSCRIBERS
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


@lru_cache(20)
def _count_candidates(condition: Condition) -> Statement:
    """Returns the statement that counts the candidates for a condition, up to a limit."""

    def build(dialect: Dialect) -> Select:
        candidates = select_candidates(condition, dialect)
        if condition.kind is Kind.RARE_DOMAIN and condition.operator == "=":
            # In order, because PostgreSQL would otherwise read the index of all addresses.
            candidates = candidates.order_by(SQL("1"))
        candidates = candidates.limit(param("limit")).alias("candidates")
        return Select([candidates], [fn.COUNT(SQL("*"))])

    return Statement(build)
