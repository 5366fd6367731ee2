"""Reads pages of subscribers; every filter uses an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter, itemgetter
from sys import maxsize
from typing import Any, NamedTuple

from ...storage.transaction import Transaction
from .counters.store_pages import page_by_offset, total
from .counters.store_statistics import count_by_statistics
from .fields import SubscriberRow
from .filters.expression import LAST_CHARACTER, FilterExpression
from .filters.store_candidates import with_candidates
from .filters.store_sets import finds_few
from .store_filter import NO_FILTER, Filter
from .store_page_statements import (
    Order,
    Shape,
    select_among,
    select_count,
    select_ids,
    select_page,
)
from .store_reading import FIND_ALL, SelectedRow, complete
from .store_search import count_search, search_rows


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


class SubscriberPage(NamedTuple):
    """The subscribers of a page, the number of matches, and whether more pages follow."""

    rows: list[SubscriberRow]
    total: int
    more: bool


# The most subscribers for which the conditions of an expression are looked up. More take longer
# than set operations on all subscribers (`make bench-scale`).
MAX_LOOKED_UP = 20_000
# The size of a half of an account from which the halves are counted at the same time. Smaller ones
# take a few milliseconds.
MIN_HALF = 50_000
# The fields of a filter before its expression.
_NAMES = Filter._fields[:-1]


def page_and_parts(
    account_id: str, filters: Filter, position: PagePosition, tx: Transaction
) -> tuple[SubscriberPage, list[Filter]]:
    """Returns a page, and filters for parts of the list if counting its total takes long.

    The total is then the sum of `count_part` for these parts. At most three statements, and ten
    with a filter expression. A position after an ID costs the same on every page. So does an offset
    without filters, which is located by the counters.
    """
    filters = _planned(account_id, filters, tx)
    one_more = position._replace(limit=position.limit + 1)
    parts: list[Filter] = []
    if _is_by_offset(filters, position):
        rows, count = page_by_offset(
            account_id, position.offset, one_more.limit, tx, descending=position.descending
        )
    else:
        rows, stored = _rows_and_total(account_id, filters, one_more, tx)
        if stored is None:
            parts = _halves(account_id, filters, tx)
            stored = 0 if parts else count_part(account_id, filters, tx)
        count = stored
    found = SubscriberPage(
        rows=[complete(row) for row in rows[: position.limit]],
        total=count,
        more=len(rows) > position.limit,
    )
    return found, parts


def count_part(account_id: str, part: Filter, tx: Transaction) -> int:
    """Returns the number of subscribers that match the filters of a part. One statement."""
    return int(
        tx.scalar(select_count(account_id, _shape(part)), account_id=account_id, **_values(part))
        or 0
    )


def _halves(account_id: str, filters: Filter, tx: Transaction) -> list[Filter]:
    """Splits filters that scan an index by ID, if the account is large. Returns two, or none."""
    shape = _shape(filters)
    # With bounds, the databases would scan an index by ID instead of reading few matches.
    if shape.set_of_tree is None or shape.is_bounded or finds_few(shape.set_of_tree):
        return []
    half = total(account_id, tx) // 2
    if half < MIN_HALF:
        return []
    ((middle, *_),), _ = page_by_offset(account_id, half, 1, tx, descending=False)
    return [filters._replace(end_id=middle), filters._replace(first_id=middle)]


def _rows_and_total(
    account_id: str, filters: Filter, position: PagePosition, tx: Transaction
) -> tuple[list[SelectedRow], int | None]:
    """Returns rows of `select_rows`, and the total if it does not have to be counted."""
    if has_one_statement(filters, position):
        rows = _rows(account_id, filters, position, tx, with_total=True)
        if rows:
            return [row[:-1] for row in rows], int(rows[0][-1])
        return [], _count(account_id, filters, tx)
    values = _values(filters)
    if _shape(filters).is_search and position.order_by is Order.CREATED:
        counts = count_search(account_id, values, tx)
        if counts.matches <= position.offset:
            return [], counts.matches
        rows = search_rows(
            account_id,
            _values_after(filters, position),
            counts,
            tx,
            limit=position.limit,
            offset=position.offset,
            descending=position.descending,
        )
        return rows, counts.matches
    is_in_order = position.after is None and position.order_by is Order.CREATED
    if is_in_order and finds_few(_shape(filters).set_of_tree):
        return _rows_of_few(account_id, filters, position, tx)
    stored = _stored_count(account_id, filters, tx)
    if stored is not None and stored <= position.offset:
        return [], stored
    rows = _rows(account_id, filters, position, tx)
    if stored is not None:
        return rows, stored
    is_past_end = not rows and position.offset > 0
    if position.after is None and len(rows) < position.limit and not is_past_end:
        # These are the last matches. Counting few of them would take as long again.
        return rows, position.offset + len(rows)
    return rows, None


def _rows_of_few(
    account_id: str, filters: Filter, position: PagePosition, tx: Transaction
) -> tuple[list[SelectedRow], int]:
    """Reads the IDs of all matches instead of finding them for the page and for the total."""
    matches = ids_after(account_id, filters, None, maxsize, tx)
    ids = matches[::-1] if position.descending else matches
    ids = ids[position.offset : position.offset + position.limit]
    rows = tx.all(FIND_ALL, account_id=account_id, ids=ids)
    return sorted(rows, key=itemgetter(0), reverse=position.descending), len(matches)


def has_one_statement(filters: Filter, position: PagePosition) -> bool:
    """Whether a page that is not empty takes one statement, which also counts the matches."""
    if not _is_filtered(filters):
        return not _is_by_offset(filters, position)
    shape = _shape(filters)
    # After an ID, the filters of the page and those of the total are different.
    return position.after is None and not shape.is_search and shape.set_of_tree is None


def is_short(filters: Filter, position: PagePosition) -> bool:
    """Whether a page with one statement reads no rows before the page and none for the total."""
    return position.offset == 0 and not _is_filtered(filters)


def _is_by_offset(filters: Filter, position: PagePosition) -> bool:
    """Whether the counters locate a page."""
    is_in_order = position.order_by is Order.CREATED and position.after is None
    return is_in_order and position.offset > 0 and not _is_filtered(filters)


def _is_filtered(filters: Filter) -> bool:
    return filters != NO_FILTER


def page_without_total(
    account_id: str, filters: Filter, position: PagePosition, tx: Transaction
) -> list[SubscriberRow]:
    """Returns the subscribers of a page without counting the matches. One statement."""
    return [complete(row) for row in _rows(account_id, filters, position, tx)]


def _rows(
    account_id: str,
    filters: Filter,
    position: PagePosition,
    tx: Transaction,
    *,
    with_total: bool = False,
) -> list[SelectedRow]:
    """Returns rows of `select_rows`; `with_total` adds the number of matches to each."""
    values = _values_after(filters, position)
    statement = select_page(
        account_id,
        _shape(filters, values),
        _shape(filters) if with_total else None,
        descending=position.descending,
        order_by=position.order_by,
    )
    return tx.all(
        statement, account_id=account_id, limit=position.limit, offset=position.offset, **values
    )


def ids_after(
    account_id: str, filters: Filter, after: str | None, limit: int, tx: Transaction
) -> list[str]:
    """Returns the IDs of the next matches in order. One statement."""
    values = _values_after(filters, PagePosition(limit, after=after))
    statement = select_ids(account_id, _shape(filters, values))
    rows = tx.all(statement, account_id=account_id, limit=limit, **values)
    return [subscriber_id for (subscriber_id,) in rows]


def find_matches(
    account_id: str, ids: Sequence[str], expression: FilterExpression, tx: Transaction
) -> list[SubscriberRow]:
    """Returns the subscribers with these IDs that match, in order of ID. One statement."""
    statement = select_among(account_id, expression.tree)
    rows = tx.all(statement, account_id=account_id, ids=ids, **expression.values)
    return sorted(map(complete, rows), key=attrgetter("id"))


def count_matches(account_id: str, filters: Filter, tx: Transaction) -> int:
    """Returns the number of subscribers that match the filters.

    At most four statements, and three more for names, addresses and domains in a filter expression.
    """
    return _count(account_id, _planned(account_id, filters, tx), tx)


def _planned(account_id: str, filters: Filter, tx: Transaction) -> Filter:
    """Returns filters with an expression that depends on numbers of subscribers."""
    if filters.expression is None:
        return filters
    for name in ("tag_key", "status"):
        value = getattr(filters, name)
        if value is not None:
            selected = tx.scalar(
                select_count(account_id, Shape((name,))), account_id=account_id, **{name: value}
            )
            if selected <= MAX_LOOKED_UP:
                return filters._replace(expression=filters.expression._replace(is_looked_up=True))
    return filters._replace(expression=with_candidates(account_id, filters.expression, tx))


def _count(account_id: str, filters: Filter, tx: Transaction) -> int:
    stored = _stored_count(account_id, filters, tx)
    return count_part(account_id, filters, tx) if stored is None else stored


def _stored_count(account_id: str, filters: Filter, tx: Transaction) -> int | None:
    """Returns the number of matches if it takes no time in proportion to it, or a search."""
    if not _is_filtered(filters):
        return total(account_id, tx)
    values, shape = _values(filters), _shape(filters)
    if shape.is_search:
        return count_search(account_id, values, tx).matches
    if shape.set_of_tree is not None and not shape.is_bounded:
        return count_by_statistics(account_id, shape.set_of_tree, values, tx)
    return None


def _values_after(filters: Filter, position: PagePosition) -> dict[str, str | int]:
    """Returns the parameters of the filters, with the position as a bound.

    Of two bounds only the closer one is kept. With both, an index would be entered at one and
    scanned up to the other.
    """
    after, descending = position.after, position.descending
    if after is None:
        return _values(filters)
    if position.order_by is Order.UPDATED:
        replaced = {"updated_before" if descending else "updated_after": None}
        values = _values(filters._replace(**replaced))
        return {**values, "after_revision": position.after_revision, "after_id": after}
    if descending:
        return _values(filters._replace(end_id=min(after, filters.end_id or after)))
    # IDs have a fixed length, so no ID is between this text and the next ID.
    next_id = f"{after}0"
    return _values(filters._replace(first_id=max(next_id, filters.first_id or next_id)))


def _values(filters: Filter) -> dict[str, str | int]:
    """Returns the parameters of the filters that are set."""
    if not _is_filtered(filters):
        return {}
    values: dict[str, Any] = {
        name: value for name, value in zip(_NAMES, filters, strict=False) if value is not None
    }
    if filters.expression is not None:
        values |= filters.expression.values
    for name in ("prefix", "folded_prefix"):
        if name in values:
            values[f"{name}_end"] = f"{values[name]}{LAST_CHARACTER}"
    return values


def _shape(filters: Filter, values: Mapping[str, Any] | None = None) -> Shape:
    """Returns the shape of filters, with other parameters if they are given."""
    names = tuple(_values(filters) if values is None else values)
    expression = filters.expression
    if expression is None:
        return Shape(names)
    return Shape(names, expression.tree, expression.is_looked_up)
