"""Reads pages of subscribers; every filter uses an index."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from peewee import Expression, Field, ModelCompoundSelectQuery, ModelSelect, fn

from ..storage.statements import Dialect, Statement, param
from ..storage.transaction import Transaction
from ..tags.models import Tag
from .counters.store_pages import page_by_offset, total
from .fields import SubscriberRow
from .models import Subscriber, SubscriberTag
from .store_reading import SelectedRow, complete, select_rows

# Appended to a prefix, it gives the upper bound of all texts with that prefix.
_LAST_CHARACTER = "\U0010ffff"


class Filter(NamedTuple):
    """The filters of a list; None is no filter.

    `tag_key` and `email_key` are compared with the stored keys. `prefix` is the prefix of an
    address as `key_prefix` returns it, and `folded_prefix` that of a name as `search_text`
    returns it. `first_id` is inclusive, `end_id` exclusive.
    """

    status: int | None = None
    tag_key: str | None = None
    email_key: str | None = None
    prefix: str | None = None
    folded_prefix: str | None = None
    first_id: str | None = None
    end_id: str | None = None


class PagePosition(NamedTuple):
    """The start of a page: after `offset` subscribers, or after the ID `after`."""

    limit: int
    offset: int = 0
    after: str | None = None
    descending: bool = False


class SubscriberPage(NamedTuple):
    """The subscribers of a page, the number of matches, and whether more pages follow."""

    rows: list[SubscriberRow]
    total: int
    more: bool


# The filters that select one contiguous range of IDs.
_BOUNDS = frozenset({"first_id", "end_id"})


def page(
    account_id: str, filters: Filter, position: PagePosition, tx: Transaction
) -> SubscriberPage:
    """Returns a page in order of creation. Three statements, whatever it holds, or four.

    A place that names an id is found as fast on the last page as on the first, and so is
    any place on the list of everyone, by one statement more.
    """
    one_more = position._replace(limit=position.limit + 1)
    whole = _values(filters)
    if position.offset and not whole and position.after is None:
        rows, count = page_by_offset(
            account_id, position.offset, one_more.limit, tx, descending=position.descending
        )
    else:
        rows = _rows(account_id, filters, one_more, tx)
        count = _count(account_id, whole, tx)
    return SubscriberPage(
        rows=complete(account_id, rows[: position.limit], tx),
        total=count,
        more=len(rows) > position.limit,
    )


def page_without_total(
    account_id: str, filters: Filter, position: PagePosition, tx: Transaction
) -> list[SubscriberRow]:
    """Returns the subscribers of a page without counting the matches. Two statements."""
    return complete(account_id, _rows(account_id, filters, position, tx), tx)


def _rows(
    account_id: str, filters: Filter, position: PagePosition, tx: Transaction
) -> list[SelectedRow]:
    rest = _values(_rest(filters, position))
    statement = _page(tuple(rest), descending=position.descending)
    return tx.all(
        statement, account_id=account_id, limit=position.limit, offset=position.offset, **rest
    )


def _count(account_id: str, values: Mapping[str, str | int], tx: Transaction) -> int:
    """Returns the number of subscribers that match the filters. One statement."""
    if not values:
        return total(account_id, tx)
    return int(tx.scalar(_counting(tuple(values)), account_id=account_id, **values) or 0)


def _rest(filters: Filter, position: PagePosition) -> Filter:
    """Returns what is on the list from the place on.

    An id to begin after is one more bound of ids. An index is entered at one bound
    only, and passes over all that lies between it and a closer one.
    """
    if position.after is None:
        return filters
    if position.descending:
        return filters._replace(end_id=min(position.after, filters.end_id or position.after))
    # All ids are of one length, so nothing lies between this and the next id.
    beyond = f"{position.after}0"
    return filters._replace(first_id=max(beyond, filters.first_id or beyond))


def _values(filters: Filter) -> dict[str, str | int]:
    """Returns what a filter asks for, by the names of parameters."""
    values = {name: value for name, value in filters._asdict().items() if value is not None}
    for name in ("prefix", "folded_prefix"):
        if name in values:
            values[f"{name}_end"] = f"{values[name]}{_LAST_CHARACTER}"
    return values


@cache
def _page(filters: tuple[str, ...], *, descending: bool) -> Statement:
    """Returns the statement for a page that these filters make.

    What the rows themselves do not lie in the order of is found first, by ids
    alone: asked for whole rows at once, SQLite would rather read all that the
    account has, in order, than find the few of a status by their index.
    """

    def cut(query: ModelSelect[Any], own_id: Field) -> ModelSelect[Any]:
        query = query.order_by(own_id.desc() if descending else own_id)
        return query.limit(param("limit")).offset(param("offset"))

    def build(dialect: Dialect) -> ModelSelect[Subscriber]:
        query = select_rows(dialect)
        if _BOUNDS.issuperset(filters):
            return cut(_where(query, filters, Subscriber, Subscriber.id, dialect), Subscriber.id)
        query = query.where(dialect.within(Subscriber.id, cut(*_matching(filters, dialect))))
        return query.order_by(Subscriber.id.desc() if descending else Subscriber.id)

    return Statement(build)


@cache
def _counting(filters: tuple[str, ...]) -> Statement:
    """Returns the statement that counts what these filters match."""

    def build(dialect: Dialect) -> ModelSelect[Subscriber]:
        ids, own_id = _matching(filters, dialect)
        return ids.select(fn.COUNT(own_id))

    return Statement(build)


def _matching(filters: tuple[str, ...], dialect: Dialect) -> tuple[ModelSelect[Any], Field]:
    """Selects the ids of those that match; returns also the column that these are read from.

    Where a tag is asked for its links are walked, which are in the order of ids.
    """
    one, link = Subscriber.alias(), SubscriberTag.alias()
    if "tag_key" not in filters:
        query = one.select(one.id).where(one.account_id == param("account_id"))
        return _where(query, filters, one, one.id, dialect), one.id
    tag = Tag.select(Tag.id).where(
        (Tag.account_id == param("account_id")) & (Tag.name_key == param("tag_key"))
    )
    tagged = link.select(link.subscriber_id).where(
        (link.account_id == param("account_id")) & (link.tag_id == tag)
    )
    if not {"status", "email_key"}.isdisjoint(filters):
        on = (one.account_id == param("account_id")) & (one.id == link.subscriber_id)
        tagged = tagged.join(one, on=on)
    query = _where(tagged, filters, one, link.subscriber_id, dialect)
    return query, link.subscriber_id


def _where(
    query: ModelSelect[Any], filters: tuple[str, ...], one: Any, own_id: Field, dialect: Dialect
) -> ModelSelect[Any]:
    """Adds what a subscriber has to be by its columns and its id."""
    conditions = {
        "status": one.status == param("status"),
        "email_key": one.email_key == param("email_key"),
        "prefix": dialect.within(own_id, _beginning()),
        "first_id": own_id >= param("first_id"),
        "end_id": own_id < param("end_id"),
    }
    for name, condition in conditions.items():
        if name in filters:
            query = query.where(condition)
    return query


def _beginning() -> ModelCompoundSelectQuery:
    """Selects the ids of those whose address, name or last name begins as asked for."""
    other = Subscriber.alias()

    def ids(condition: Expression) -> ModelSelect[Subscriber]:
        return other.select(other.id).where((other.account_id == param("account_id")) & condition)

    def begins(column: str, prefix: str) -> ModelSelect[Subscriber]:
        field = getattr(other, column)
        return ids((field >= param(prefix)) & (field < param(f"{prefix}_end")))

    return (
        begins("email_key", "prefix")
        + begins("email_unicode_key", "prefix")
        + begins("name_key", "folded_prefix")
        + begins("last_name_key", "folded_prefix")
    )
