"""Reads the matches of a plan: pages with their total, numbers and IDs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from operator import attrgetter, itemgetter
from sys import maxsize
from typing import Any, NamedTuple

from peewee import SQL, ModelSelect, Select, fn

from ....storage.database import Database, Work
from ....storage.shared_work import OneStatement
from ....storage.statements import Dialect, Statement, cached_by_account, param
from ....storage.transaction import Transaction
from ..counters.store_pages import page_by_offset, total
from ..counters.store_statistics import by_status_of_statistics, count_with
from ..fields import SubscriberRow
from ..models import Subscriber
from ..store_reading import FIND_ALL, SelectedRow, complete, select_rows
from .plan import (
    COUNT_ALL,
    HAS_ABSENT,
    Counting,
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
    with_key,
    with_numbers,
    without_key,
)
from .store_conditions import SubscriberColumns, condition_of, select_candidates
from .store_matches import select_checked, select_count, select_ids
from .store_orders import rows_in_order, select_range
from .store_search import count_search, page_of_search
from .tree import Condition, Kind, is_bound, is_status, is_tag, within

# The size of an account from which parts of a list are counted at the same time. Smaller ones take
# a few milliseconds.
MIN_DIVIDED = 100_000
# The parts of a list that are counted to locate a page by its number. The part in which the page
# starts is then read again (`customFields.plan=pro, page 10,000` in `make bench-scale`).
LOCATING_PARTS = 16
# The most subscribers on the other side of a time of changes that are counted for the total
# (`updated after (100 %)` in `make bench-scale`).
MAX_OTHERS = 10_000
# A client can send filter expressions of any number of shapes, with up to 25 KB of SQL each.
CACHED_STATEMENTS = 200
_WITHOUT_ALIAS = SubscriberColumns("", Subscriber, Subscriber.id)


class SubscriberPage(NamedTuple):
    """The subscribers of a page, the number of matches, and whether more pages follow.

    `is_after_keys` is whether the last one has no key of the order of the list.
    """

    rows: list[SubscriberRow]
    total: int | None
    more: bool
    is_after_keys: bool = False


class Part(NamedTuple):
    """A part of a list, and the list from the start of the part on."""

    planned: Planned
    rest: Planned


# A page, and parts of the list if counting its total takes long. Without a page, the numbers of
# these parts locate it.
Found = tuple[SubscriberPage | None, list[Part]]


async def read_page(
    database: Database,
    account_id: str,
    planned: Planned,
    position: PagePosition,
    counting: Counting = COUNT_ALL,
) -> SubscriberPage:
    """Returns a page of a list. Its total can include changes later than its rows."""
    plan = planned.plan
    work: Work[Found] = partial(page_and_parts, account_id, planned, position, counting=counting)
    if reading_of(plan, position, counting) is Reading.AT_ONCE and not plan.needs_numbers:
        work = OneStatement(work, is_short(plan, position))
    found, parts = await database.read(work)
    numbers: list[int] = []
    if parts:
        # Two works, because an idle thread takes several of the works that are queued.
        half = len(parts) // 2
        works = [partial(count_parts, account_id, each) for each in (parts[:half], parts[half:])]
        numbers = [number for counted in await database.read_parts(works) for number in counted]
    if found is None:
        return await database.read(partial(located_page, account_id, parts, numbers, position))
    return found._replace(total=(found.total or 0) + sum(numbers)) if numbers else found


def page_and_parts(
    account_id: str,
    planned: Planned,
    position: PagePosition,
    tx: Transaction,
    counting: Counting = COUNT_ALL,
) -> Found:
    """Returns a page, and parts of the list if counting its total takes long.

    The numbers of `count_parts` for these parts are then added to the total, or passed to
    `located_page`. At most three statements, eleven with a filter expression, and five more in
    another order than that of IDs. A position after an ID costs the same on every page. So does an
    offset without conditions, which is located by the counters.
    """
    planned = planned_with_numbers(account_id, planned, tx)
    stored, parts = None, list[Part]()
    if _is_jump(planned.plan, position, counting):
        stored, descending = _stored_count(account_id, planned, tx), position.descending
        if stored is None:
            parts = _parts(account_id, planned, LOCATING_PARTS, tx, descending=descending)
        if parts:
            return None, parts
    one_more = position._replace(limit=position.limit + 1)
    rows, count, keyed = _rows_and_total(account_id, planned, one_more, counting, stored, tx)
    more, rows = len(rows) > position.limit, rows[: position.limit]
    if count is None and counting.up_to:
        last = rows[-1][0] if more and position.after is None else None
        count, parts = _counted(account_id, planned, position, last, counting, tx)
    found = SubscriberPage(
        rows=[complete(row) for row in rows],
        total=None if count is None or not counting.up_to else min(count, counting.up_to),
        more=more,
        is_after_keys=len(rows) > keyed,
    )
    return found, parts


def located_page(
    account_id: str,
    parts: Sequence[Part],
    numbers: Sequence[int],
    position: PagePosition,
    tx: Transaction,
) -> SubscriberPage:
    """Returns the page at an offset, given the numbers of matches of all parts, in their order."""
    offset, rows = position.offset, list[SelectedRow]()
    for part, number in zip(parts, numbers, strict=True):
        if offset < number:
            start = position._replace(offset=offset, limit=position.limit + 1)
            rows = _rows(account_id, part.rest, start, tx)
            break
        offset -= number
    return SubscriberPage(
        rows=[complete(row) for row in rows[: position.limit]],
        total=sum(numbers),
        more=len(rows) > position.limit,
    )


def _counted(
    account_id: str,
    planned: Planned,
    position: PagePosition,
    last: str | None,
    counting: Counting,
    tx: Transaction,
) -> tuple[int, list[Part]]:
    """Returns the number of matches, and parts of the list to count if that takes long.

    After a page by its number, which ends with the ID `last`, only the other matches are counted. A
    scan for the page and one for the total then read each subscriber once (`email:"a1b2"` in
    `make bench-scale`).
    """
    if counting.up_to < maxsize:
        return _count_up_to(account_id, planned, counting.up_to, tx), []
    changes = _count_changes(account_id, planned.tree, tx)
    if changes is not None:
        return changes, []
    before, others = 0, planned
    if last is not None and position.order_by is Order.CREATED:
        before = position.offset + position.limit
        others = plan_of(after(planned.tree, position._replace(after=last)))
    parts = [] if any(planned.plan.ids) else _parts(account_id, others, 2, tx)
    return before if parts else before + count_part(account_id, others, tx), parts


def _count_changes(account_id: str, tree: Any, tx: Transaction) -> int | None:
    """Returns the number of changes since or before a time, if few are on the other side of it.

    A client that reads all changes begins with those of nearly all subscribers.
    """
    if not is_bound(tree) or tree.column != "revision":
        return None
    others = tree._replace(operator="<" if tree.operator == ">=" else ">=")
    count = _count_up_to(account_id, plan_of(others), MAX_OTHERS, tx)
    return None if count == MAX_OTHERS else total(account_id, tx) - count


def _number(account_id: str, tx: Transaction, condition: Condition, limit: int) -> int:
    if is_tag(condition) or is_status(condition):
        return count_with(account_id, condition, tx)
    _, plan, values = plan_of(condition)
    values |= {"account_id": account_id, "limit": limit}
    return int(tx.scalar(_count_candidates(plan.shape), **values))


def _rows_and_total(
    account_id: str,
    planned: Planned,
    position: PagePosition,
    counting: Counting,
    stored: int | None,
    tx: Transaction,
) -> tuple[Sequence[SelectedRow], int | None, int]:
    """Returns rows of `select_rows`, and the total if it does not have to be counted.

    `stored` is the result of `_stored_count`, if it was read before and is not None.

    Also returns the number of rows that are in the order of the list by their key.
    """
    plan, limit = planned.plan, position.limit
    match reading_of(plan, position, counting):
        case Reading.OFFSET:
            found = page_by_offset(
                account_id, position.offset, limit, tx, descending=position.descending
            )
            return *found, limit
        case Reading.AT_ONCE:
            rows = _rows(account_id, planned, position, tx, counted=plan)
            if rows:
                return [row[:-1] for row in rows], int(rows[0][-1]), limit
            return [], _count(account_id, planned, tx), limit
        case Reading.SEARCH:
            return *page_of_search(account_id, planned, position, counting, tx), limit
        case Reading.IDS:
            return *_rows_of_few(account_id, planned, position, tx), limit
    count = stored
    if stored is None and counting.up_to:
        count = _stored_count(account_id, planned, tx)
    count = counting.known if count is None else count
    if count is not None and count <= position.offset:
        return [], count, limit
    others: list[SelectedRow] = []
    if position.order_by is Order.CREATED:
        rows = _rows(account_id, planned, position, tx)
    else:
        rows, others = _rows_in_order(account_id, planned, position, count, tx)
    keyed, rows = len(rows), [*rows, *others]
    is_past_end = not rows and position.offset > 0
    if count is None and position.after is None and len(rows) < limit and not is_past_end:
        # These are the last matches. Counting few of them would take as long again.
        count = position.offset + len(rows)
    return rows, count, keyed


def _rows_in_order(
    account_id: str,
    planned: Planned,
    position: PagePosition,
    matches: int | None,
    tx: Transaction,
) -> tuple[list[SelectedRow], list[SelectedRow]]:
    """Returns rows in another order than that of IDs: those with a key, and those without one."""
    tree, plan, _ = planned
    order_by, offset, rows = position.order_by, position.offset, list[SelectedRow]()
    if not position.is_after_keys:
        keyed = plan_of(with_key(tree, order_by), is_looked_up=plan.is_looked_up)
        rows = rows_in_order(account_id, keyed, position, matches, tx)
        if order_by not in HAS_ABSENT or len(rows) == position.limit:
            return rows, []
        if offset:
            offset = 0 if rows else offset - _count(account_id, keyed, tx)
    others = plan_of(without_key(tree, order_by), is_looked_up=plan.is_looked_up)
    rest = position._replace(
        limit=position.limit - len(rows),
        offset=offset,
        after=position.after if position.is_after_keys else None,
        order_by=Order.CREATED,
    )
    return rows, _rows(account_id, others, rest, tx)


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

    At most five statements, and three more for names, addresses and domains in a filter expression.
    """
    return _count(account_id, planned_with_numbers(account_id, plan_of(tree), tx), tx)


def planned_with_numbers(account_id: str, planned: Planned, tx: Transaction) -> Planned:
    """Returns a plan that depends on numbers of subscribers."""
    return with_numbers(planned, partial(_number, account_id, tx))


def _is_jump(plan: Plan, position: PagePosition, counting: Counting) -> bool:
    """Whether numbers of parts can locate a page: one by its number, with its total."""
    is_far = position.offset > position.limit and counting == COUNT_ALL
    return is_far and reading_of(plan, position) is Reading.APART and not any(plan.ids)


def _parts(
    account_id: str, planned: Planned, number: int, tx: Transaction, *, descending: bool = False
) -> list[Part]:
    """Divides a list whose plan scans an index by ID, if the account is large, else returns none.

    With two cores and parts, the total of `customFields.plan=pro AND customFields.optin=true AND
    tags:half1` takes 40 % less time (`make bench-scale`).
    """
    tree, plan, _ = planned
    if plan.strategy is not Strategy.SETS:
        return []
    size = total(account_id, tx)
    if size < MIN_DIVIDED:
        return []
    rest, end, parts = ("<", ">=", []) if descending else (">=", "<", [])
    bounds: list[str | None] = [None]
    for part in range(1, number):
        ((bound, *_),), _ = page_by_offset(
            account_id, size * part // number, 1, tx, descending=descending
        )
        bounds.append(bound)
    for first, last in zip(bounds, [*bounds[1:], None], strict=True):
        following = tree if first is None else within(tree, rest, first)
        within_part = following if last is None else within(following, end, last)
        parts.append(Part(plan_of(within_part), plan_of(following)))
    return parts


def _count(account_id: str, planned: Planned, tx: Transaction) -> int:
    stored = _stored_count(account_id, planned, tx)
    return count_part(account_id, planned, tx) if stored is None else stored


def _count_up_to(account_id: str, planned: Planned, up_to: int, tx: Transaction) -> int:
    _, plan, values = planned
    values = {**values, "account_id": account_id, "limit": up_to}
    return int(tx.scalar(_select_count_up_to(account_id, plan), **values))


def count_part(account_id: str, part: Planned, tx: Transaction) -> int:
    """Returns the number of subscribers that match, counted with one statement."""
    _, plan, values = part
    return int(tx.scalar(_select_count(account_id, plan), account_id=account_id, **values) or 0)


def count_parts(account_id: str, parts: Sequence[Part], tx: Transaction) -> list[int]:
    """Returns the number of subscribers that match in each part. One statement each."""
    return [count_part(account_id, part.planned, tx) for part in parts]


def _stored_count(account_id: str, planned: Planned, tx: Transaction) -> int | None:
    """Returns the number of matches if it takes no time in proportion to it, or a search."""
    tree, plan, _ = planned
    if plan.is_everyone:
        return total(account_id, tx)
    if plan.has_stored_total:
        return count_with(account_id, tree, tx)
    if plan.strategy is Strategy.SEARCH:
        return count_search(account_id, planned, tx).matches
    if plan.strategy is Strategy.SETS and not any(plan.ids):
        by_status = by_status_of_statistics(account_id, tree, tx)
        return None if by_status is None else sum(by_status.values())
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
    order_by, descending = position.order_by, position.descending
    if order_by is Order.CREATED:
        statement = _select_page(account_id, plan, counted, descending)
    else:
        has_offset = position.offset > 0
        statement = select_range(account_id, plan, counted, order_by, descending, has_offset)
    return tx.all(
        statement,
        account_id=account_id,
        limit=position.limit,
        offset=position.offset,
        **values,
    )


def _ids(account_id: str, planned: Planned, limit: int, tx: Transaction) -> list[str]:
    _, plan, values = planned
    rows = tx.all(_select_ids(account_id, plan), account_id=account_id, limit=limit, **values)
    return [subscriber_id for (subscriber_id,) in rows]


@cached_by_account(CACHED_STATEMENTS)
def _select_page(plan: Plan, counted: Plan | None, descending: bool) -> Statement:
    """Returns the statement for a page of a plan, and the total of another plan, if any.

    Conditions other than bounds select IDs in a subquery. If whole rows were selected, SQLite
    would scan all subscribers in order instead of using the index of a condition.
    """

    def build(dialect: Dialect) -> Any:
        query = select_rows(dialect, *([select_count(counted, dialect)] if counted else []))
        in_order = query.order_by(Subscriber.id.desc() if descending else Subscriber.id)
        if not plan.parts:
            in_order = plan.ids.add_to(in_order, Subscriber.id)
            return in_order.limit(param("limit")).offset(param("offset"))
        ids = select_ids(plan, dialect, descending=descending)
        ids = ids.limit(param("limit")).offset(param("offset"))
        return in_order.where(dialect.within(Subscriber.id, ids))

    return Statement(build, has_one_plan=not plan.parts)


@cached_by_account(CACHED_STATEMENTS)
def _select_count(plan: Plan) -> Statement:
    return Statement(lambda dialect: select_count(plan, dialect))


@cached_by_account(CACHED_STATEMENTS)
def _select_count_up_to(plan: Plan) -> Statement:
    def build(dialect: Dialect) -> Select:
        # In no order, which would sort all matches within a range of time.
        ids = select_ids(plan, dialect) if plan.is_of_sets else select_checked(plan, dialect)[0]
        ids = ids.limit(param("limit")).alias("ids")
        return Select([ids], [fn.COUNT(SQL("*"))])

    return Statement(build)


@cached_by_account(CACHED_STATEMENTS)
def _select_ids(plan: Plan) -> Statement:
    return Statement(lambda dialect: select_ids(plan, dialect).limit(param("limit")))


@cached_by_account(CACHED_STATEMENTS)
def _select_among(plan: Plan) -> Statement:
    def build(dialect: Dialect) -> ModelSelect[Subscriber]:
        query = select_rows(dialect).where(dialect.any_of(Subscriber.id, "ids"))
        return query.where(condition_of(plan.shape, _WITHOUT_ALIAS, dialect, is_required=False))

    return Statement(build)


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
