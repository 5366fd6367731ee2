"""The statements that select pages of subscribers, count them, or select their IDs."""

from __future__ import annotations

from enum import Enum
from typing import Any, NamedTuple

from peewee import (
    OP,
    SQL,
    Expression,
    Field,
    ModelCompoundSelectQuery,
    ModelSelect,
    Node,
    Tuple,
    fn,
)

from ...storage.statements import Dialect, Statement, cached_by_account, param
from ..tags.models import SubscriberTag, Tag
from .counters.store_pages import select_total
from .counters.store_statistics import select_with_status, select_with_tag
from .filters.expression import Condition, Kind
from .filters.store_conditions import (
    SUBSCRIBERS,
    SUBSCRIBERS_WITHOUT_INDEX,
    SubscriberColumns,
    condition_of,
)
from .filters.store_sets import Bounds, count_matching, select_matching
from .filters.tree import And, joined
from .models import Subscriber
from .store_reading import select_rows
from .store_search import is_search

_TAGGED = SubscriberTag.alias("tagged")
_WITHOUT_ALIAS = SubscriberColumns("", Subscriber, Subscriber.id)
# A client can send filter expressions of any number of shapes, with up to 25 KB of SQL each.
CACHED_STATEMENTS = 200


class Order(Enum):
    """The order of a list: by ID, or by revision and ID."""

    CREATED = "created"
    UPDATED = "updated"


# The parameters of one contiguous range in each order.
_BOUNDS = {
    Order.CREATED: frozenset({"first_id", "end_id"}),
    Order.UPDATED: frozenset({"updated_after", "updated_before", "after_revision", "after_id"}),
}
_ALL_BOUNDS = _BOUNDS[Order.CREATED] | _BOUNDS[Order.UPDATED]


class Shape(NamedTuple):
    """The names of the parameters of filters, and the conditions of the filter expression.

    Filters of one shape have the same statement.
    """

    names: tuple[str, ...] = ()
    tree: Any = None
    is_looked_up: bool = False

    def is_within(self, bounds: frozenset[str]) -> bool:
        return self.tree is None and bounds.issuperset(self.names)

    @property
    def is_bounded(self) -> bool:
        return not _BOUNDS[Order.CREATED].isdisjoint(self.names)

    @property
    def bounds(self) -> Bounds:
        return Bounds("first_id" in self.names, "end_id" in self.names)

    @property
    def is_search(self) -> bool:
        """Whether the filters are a prefix and bounds of IDs.

        A filter expression has no parameters if it only tests whether fields are set.
        """
        return self.tree is None and is_search(self.names)

    @property
    def set_of_tree(self) -> Any:
        """All conditions except bounds of IDs as a tree, or None if they are not read as a set.

        A status or a tag alone has an index in the order of IDs, and a stored total.
        """
        others = {name for name in self.names if not name.startswith("filter")}
        is_alone = self.tree is None and not others >= _CONDITIONS.keys()
        if self.is_looked_up or is_alone or not others <= _OF_SETS:
            return None
        conditions = [each for name, each in _CONDITIONS.items() if name in others]
        return joined(And, conditions if self.tree is None else [*conditions, self.tree])


_CONDITIONS = {
    "status": Condition(Kind.COLUMN, "=", ("status",), "status"),
    "tag_key": Condition(Kind.TAG, "=", ("tag_key",)),
}
_OF_SETS = _CONDITIONS.keys() | _BOUNDS[Order.CREATED]


@cached_by_account(CACHED_STATEMENTS)
def select_page(
    filters: Shape,
    total_filters: Shape | None,
    *,
    descending: bool,
    order_by: Order,
) -> Statement:
    """Returns the statement for a page with these filters, and the total of others, if any.

    Filters other than bounds select IDs in a subquery. If whole rows were selected, SQLite
    would scan all subscribers in order instead of using the index of a filter.
    """

    def ordered(query: ModelSelect[Any], one: Any, id_: Field) -> ModelSelect[Any]:
        columns = [id_] if order_by is Order.CREATED else [one.revision, id_]
        return query.order_by(*[column.desc() if descending else column for column in columns])

    def limited(query: ModelSelect[Any], one: Any, id_: Field) -> ModelSelect[Any]:
        return ordered(query, one, id_).limit(param("limit")).offset(param("offset"))

    def build(dialect: Dialect) -> ModelSelect[Subscriber]:
        query = select_rows(dialect)
        if total_filters is not None:
            query = select_rows(dialect, _total(total_filters, dialect))
        if filters.is_within(_BOUNDS[order_by]):
            rows = _WITHOUT_ALIAS
            query = _where(query, filters, rows, dialect, descending=descending)
            return limited(query, Subscriber, Subscriber.id)
        if filters.set_of_tree is not None and order_by is Order.CREATED:
            ids = _select_set(filters, dialect, descending=descending)
            ids = ids.limit(param("limit")).offset(param("offset"))
        else:
            ids = limited(*_matching(filters, dialect, descending=descending, order_by=order_by))
        query = query.where(dialect.within(Subscriber.id, ids))
        return ordered(query, Subscriber, Subscriber.id)

    return Statement(build, has_one_plan=filters.is_within(_BOUNDS[order_by]))


def _total(filters: Shape, dialect: Dialect) -> Node:
    """Selects the number of matches."""
    if filters == Shape():
        return select_total()
    if filters == Shape(("status",)):
        return select_with_status()
    if filters == Shape(("tag_key",)):
        return select_with_tag()
    if filters.set_of_tree is not None:
        stored = None if filters.is_bounded else select_total()
        return count_matching(filters.set_of_tree, filters.bounds, dialect, stored)
    ids, _, _ = _matching(filters, dialect)
    return ids.select(fn.COUNT(SQL("*")))


def _select_set(filters: Shape, dialect: Dialect, *, descending: bool = False) -> Any:
    return select_matching(filters.set_of_tree, filters.bounds, dialect, descending=descending)


@cached_by_account(CACHED_STATEMENTS)
def select_count(filters: Shape) -> Statement:
    """Returns the statement that counts the matches of these filters."""

    return Statement(lambda dialect: _total(filters, dialect))


@cached_by_account(CACHED_STATEMENTS)
def select_ids(filters: Shape) -> Statement:
    """Returns the statement that selects the IDs of the next matches."""

    def build(dialect: Dialect) -> Any:
        if filters.set_of_tree is not None:
            return _select_set(filters, dialect).limit(param("limit"))
        query, _, id_ = _matching(filters, dialect)
        return query.order_by(id_).limit(param("limit"))

    return Statement(build)


@cached_by_account(CACHED_STATEMENTS)
def select_among(tree: Any) -> Statement:
    """Returns the statement that selects the matches among subscribers with given IDs."""

    def build(dialect: Dialect) -> ModelSelect[Subscriber]:
        query = select_rows(dialect).where(dialect.any_of(Subscriber.id, "ids"))
        rows = _WITHOUT_ALIAS
        return query.where(condition_of(tree, rows, dialect, is_required=False))

    return Statement(build)


def _matching(
    filters: Shape,
    dialect: Dialect,
    *,
    descending: bool = False,
    order_by: Order = Order.CREATED,
) -> tuple[ModelSelect[Any], Any, Field]:
    """Selects the IDs of the matches. Also returns the table and the column of these IDs.

    A filter by tag scans the subscribers of the tag, which are in the order of IDs. Changes
    within a range of time are sorted: the index of IDs would be scanned up to the first match,
    which can be the newest subscriber.
    """
    one, link = SUBSCRIBERS.table, _TAGGED
    if "tag_key" not in filters.names:
        rows = SUBSCRIBERS
        if order_by is Order.CREATED and not filters.is_within(_BOUNDS[order_by]):
            rows = SUBSCRIBERS_WITHOUT_INDEX if filters.is_within(_ALL_BOUNDS) else SUBSCRIBERS
        query = one.select(one.id).where(one.account_id == param("account_id"))
        return _where(query, filters, rows, dialect, descending=descending), one, rows.id
    tag = Tag.select(Tag.id).where(
        (Tag.account_id == param("account_id")) & (Tag.name_key == param("tag_key"))
    )
    tagged = link.select(link.subscriber_id).where(
        (link.account_id == param("account_id")) & (link.tag_id == tag)
    )
    columns = {"status", "email_key", *_BOUNDS[Order.UPDATED]}
    has_columns = not columns.isdisjoint(filters.names) or filters.tree is not None
    if order_by is Order.UPDATED or has_columns:
        on = (one.account_id == param("account_id")) & (one.id == link.subscriber_id)
        tagged = tagged.join(one, on=on)
    rows = SubscriberColumns("tagged", one, link.subscriber_id)
    return _where(tagged, filters, rows, dialect, descending=descending), one, rows.id


def _where(
    query: ModelSelect[Any],
    filters: Shape,
    rows: SubscriberColumns,
    dialect: Dialect,
    *,
    descending: bool,
) -> ModelSelect[Any]:
    """Adds the conditions on the columns and the ID of a subscriber."""
    _, one, id_ = rows
    last = Tuple(param("after_revision"), param("after_id"))
    key = Tuple(one.revision, id_)
    conditions = {
        "status": one.status == param("status"),
        "email_key": one.email_key == param("email_key"),
        "prefix": dialect.within(id_, _with_prefix()),
        "first_id": id_ >= param("first_id"),
        "end_id": id_ < param("end_id"),
        "updated_after": one.revision > param("updated_after"),
        "updated_before": one.revision < param("updated_before"),
        "after_revision": Expression(key, OP.LT if descending else OP.GT, last),
    }
    for name, condition in conditions.items():
        if name in filters.names:
            query = query.where(condition)
    if filters.tree is not None:
        is_looked_up = filters.is_looked_up
        query = query.where(
            condition_of(
                filters.tree,
                rows,
                dialect,
                is_required=not is_looked_up,
                is_looked_up=is_looked_up,
            )
        )
    return query


def _with_prefix() -> ModelCompoundSelectQuery:
    """Selects the IDs of subscribers with an address, name or last name with the prefix."""
    other = Subscriber.alias()

    def ids(condition: Expression) -> ModelSelect[Subscriber]:
        return other.select(other.id).where((other.account_id == param("account_id")) & condition)

    def starts_with(column: str, prefix: str) -> ModelSelect[Subscriber]:
        field = getattr(other, column)
        return ids((field >= param(prefix)) & (field < param(f"{prefix}_end")))

    return (
        starts_with("email_key", "prefix")
        + starts_with("email_unicode_key", "prefix")
        + starts_with("name_key", "folded_prefix")
        + starts_with("last_name_key", "folded_prefix")
    )
