"""Translates conditions to SQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import add, and_, or_
from typing import Any, NamedTuple

from peewee import JOIN, OP, SQL, Expression, Field, ModelSelect, Tuple, fn

from ....storage.statements import Dialect, Fragment, Within, param
from ...custom_fields.models import CustomValue
from ...custom_fields.rules import TEXT_KEY_LENGTH
from ...custom_fields.store_conversion import compared_value
from ...tags.models import SubscriberTag, Tag
from ..models import Subscriber
from .operands import CONVERTED, VALUE_KINDS
from .store_search import in_range, search_ranges
from .tree import And, Condition, Kind, Not, Or, finds_few, is_status, selects_few


class SubscriberColumns(NamedTuple):
    """The table of subscribers that a condition is on, and the column of their IDs.

    `key` identifies both in the keys of fragments. It is empty if the table has no explicit alias.
    """

    key: str
    table: Any
    id: Any


# Explicit aliases, see `Fragment`.
ONE = Subscriber.alias("one")
_OTHER = Subscriber.alias("other")
_LINK, _TAG = SubscriberTag.alias("link"), Tag.alias("tag")
_VALUE, _LONG = CustomValue.alias("value"), CustomValue.alias("long")
_SECOND = CustomValue.alias("second")
_SAME_ROW = (
    (_LONG.account_id == _VALUE.account_id)
    & (_LONG.key == _VALUE.key)
    & (_LONG.subscriber_id == _VALUE.subscriber_id)
)
_VALUES = frozenset(VALUE_KINDS.values())
_CONVERTED = {f"{CONVERTED}{kind}": data_type for data_type, kind in VALUE_KINDS.items()}
SUBSCRIBERS = SubscriberColumns("one", ONE, ONE.id)
SUBSCRIBERS_WITHOUT_INDEX = SubscriberColumns(
    "one without index", ONE, Expression(ONE.id, OP.CONCAT, SQL("''"))
)


def condition_of(
    tree: Any,
    rows: SubscriberColumns,
    dialect: Dialect,
    *,
    is_required: bool = True,
    is_looked_up: bool = False,
) -> Any:
    """Returns a tree as a condition on subscribers.

    No part of the condition is null, because NOT of null would be null. `is_required` is whether
    every match fulfills it, so that its subquery can select the candidates. Any other part is
    checked for each candidate. With IN, SQLite would store all rows of the subquery, and
    PostgreSQL would run it again for each candidate if its rows exceed `work_mem`. `is_looked_up`
    is whether there are few candidates, so that all rows of a subquery are never read.
    """
    if isinstance(tree, Not):
        return ~condition_of(
            tree.condition, rows, dialect, is_required=False, is_looked_up=is_looked_up
        )
    if isinstance(tree, (And, Or)):
        is_required = is_required and isinstance(tree, And)
        has_few = is_required and finds_few(tree)

        def part_of(part: Any) -> Any:
            # More subscribers have a status than fulfill another condition with an index.
            selects = is_required and (selects_few(part) if has_few else not is_status(part))
            return condition_of(
                part,
                rows,
                dialect,
                is_required=selects,
                is_looked_up=has_few or is_looked_up,
            )

        parts = [part_of(part) for part in tree.conditions]
        return reduce(and_ if isinstance(tree, And) else or_, parts)
    shape = tree._replace(values=())
    key = (_comparison, rows.key, shape, is_required, is_looked_up)

    def build(names: Sequence[str]) -> Any:
        condition = tree._replace(values=tuple(names))
        return _comparison(
            condition, rows, dialect, is_required=is_required, is_looked_up=is_looked_up
        )

    return Fragment(key, tree.values, build) if rows.key else build(tree.values)


def _comparison(
    condition: Condition,
    rows: SubscriberColumns,
    dialect: Dialect,
    *,
    is_required: bool,
    is_looked_up: bool,
) -> Any:
    _, one, id_ = rows
    match condition.kind:
        case Kind.SEARCH if is_looked_up:
            return _in_scan(reduce(or_, search_ranges(one, condition)))
        case Kind.SEARCH:
            return Within(id_, _select_search(condition))
        case Kind.POSITION:
            return _position(condition, getattr(one, condition.column), id_)
        case Kind.EMAIL:
            return _email(condition, one, id_, dialect, is_required=is_required)
        case Kind.RARE_DOMAIN if is_required:
            return Within(id_, select_candidates(condition, dialect))
        case Kind.DOMAIN | Kind.RARE_DOMAIN:
            return _in_scan(with_domain(condition, one, dialect))
        case Kind.COLUMN | Kind.ADDRESS:
            return _column(condition, one, id_, dialect, is_required=is_required)
        case Kind.FIELDS:
            return _in_scan(_fields(condition, [], one, id_, dialect))
        case Kind.NAME:
            values = condition.values[2:]
            name = getattr(one, condition.column)
            compared = _compared(name, condition._replace(values=values), dialect)
            candidates = Within(id_, select_candidates(condition, dialect))
            return candidates & compared if is_required else compared
        case Kind.TAG:
            # The first required tag selects the candidates, see `Strategy.CHECK`.
            is_required = is_required and condition.operator != "="
    column, query = selected_ids(condition, dialect)
    if is_required:
        return Within(id_, query)
    query = query.where(column == id_)
    # PostgreSQL does not convert a subquery with OFFSET to a join, which would read all its rows.
    return fn.EXISTS(query.limit(SQL("1")).offset(SQL("0")) if is_looked_up else query)


def _position(condition: Condition, key: Field, id_: Field) -> Expression:
    after_key, after_id = map(param, condition.values)
    if key.name == "email_key":
        # It is unique, and its index contains no ID.
        return Expression(key, condition.operator, after_key)
    return Expression(Tuple(key, id_), condition.operator, Tuple(after_key, after_id))


def _email(
    condition: Condition, one: Any, id_: Field, dialect: Dialect, *, is_required: bool
) -> Any:
    if condition.operator != "prefix":
        compared = _compared(one.email_key, condition, dialect)
        return compared if is_required else _in_scan(compared)
    if not is_required:
        in_unicode = one.email_unicode_key.is_null(False)
        in_unicode &= _compared(one.email_unicode_key, condition, dialect)
        return _compared(one.email_key, condition, dialect) | in_unicode
    # Joined by OR, no index of the two columns would be used.
    return Within(id_, select_candidates(condition, dialect))


def with_domain(condition: Condition, one: Any, dialect: Dialect) -> Any:
    """Returns a condition on the domain that many subscribers can have."""
    return _compared(dialect.domain_in_scan(getattr(one, condition.column)), condition, dialect)


def select_with_domain(condition: Condition, dialect: Dialect) -> tuple[Field, ModelSelect[Any]]:
    """Returns the column of IDs, and the query that selects it by a domain or a prefix of domains.

    A prefix in Unicode is compared with all addresses that have an international domain.
    """
    key = getattr(_OTHER, condition.column)
    # Lets SQLite use the index of addresses with an international domain.
    is_set = key.is_null(False)
    compared = _compared(dialect.domain_of(key), condition, dialect)
    return _OTHER.id, _select_others(is_set & compared)


def _column(
    condition: Condition, one: Any, id_: Field, dialect: Dialect, *, is_required: bool
) -> Any:
    if condition.column == "id":
        return _compared(id_, condition, dialect)
    if condition.column == "name":
        return _in_scan(_compared(_full_name(one), condition, dialect))
    column = getattr(one, condition.column)
    if condition.operator == "absent":
        return column.is_null()
    compared = _compared(column, condition, dialect)
    if not is_required:
        compared = _in_scan(compared)
    if not column.null:
        return compared
    is_set = column.is_null(False)
    return is_set if condition.operator == "present" else is_set & compared


def _full_name(one: Any) -> Any:
    first = Expression(one.first_name, OP.CONCAT, SQL("' '"))
    return fn.TRIM(Expression(first, OP.CONCAT, one.last_name))


def _fields(
    condition: Condition, values: Sequence[Any], one: Any, id_: Field, dialect: Dialect
) -> Expression:
    """Compares two fields, given the tables of the values of those that are custom."""
    tables = iter(values)
    left, right = (_operand(name, tables, one, id_, dialect) for name in _names(condition))
    return Expression(left, condition.operator, right)


def _names(condition: Condition) -> list[str]:
    return condition.column.split(", ")


def _operand(name: str, values: Iterator[Any], one: Any, id_: Field, dialect: Dialect) -> Any:
    match name:
        case "name":
            return _full_name(one)
        case "domain":
            return dialect.domain_of(one.email_key)
        case "updated_at":
            return Expression(one.revision, "/", SQL("1000"))
        case Kind.TAG_COUNT:
            column, links = _select_links(dialect)
            return links.select(fn.COUNT(SQL("*"))).where(column == id_)
    if name not in _VALUES and name not in _CONVERTED:
        return getattr(one, name)
    value = next(values)
    if name in _CONVERTED:
        return compared_value(value, _CONVERTED[name], dialect)
    return dialect.text_of(value.value) if name == Kind.TEXT_VALUE else value.number_key


def _in_scan(compared: Any) -> Expression:
    """Returns a comparison that is checked in a scan in the order of IDs.

    Both databases would prefer an index of the column, also if most rows match.
    """
    return Expression(compared, "IS", SQL("TRUE"))


def select_candidates(condition: Condition, dialect: Dialect) -> Any:
    """Selects the IDs of the few subscribers that can match a condition, from an index."""
    if condition.kind is Kind.RARE_DOMAIN:
        return select_with_domain(condition, dialect)[1]
    if condition.kind is Kind.SEARCH:
        return _select_search(condition)
    keys = {
        "first_name": [_OTHER.name_key],
        # Without a first name, the key of the last name is that of the whole name.
        "last_name": [_OTHER.last_name_key, _OTHER.name_key],
        "email_key": [_OTHER.email_key],
    }.get(condition.column, [_OTHER.email_key, _OTHER.email_unicode_key])
    start, end, *_ = condition.values
    return reduce(add, [_select_others(in_range(each, start, end)) for each in keys])


def _select_search(condition: Condition) -> Any:
    return reduce(add, map(_select_others, search_ranges(_OTHER, condition)))


def _select_others(condition: Any) -> Any:
    return _OTHER.select(_OTHER.id).where((_OTHER.account_id == param("account_id")) & condition)


def selected_ids(condition: Condition, dialect: Dialect) -> tuple[Field, ModelSelect[Any]]:
    """Returns the query that selects the IDs for a condition on tags or a value, and its column."""
    match condition.kind:
        case Kind.TAG:
            return select_tagged(condition, dialect)
        case Kind.TAG_COUNT:
            column, links = _select_links(dialect)
            counted = _compared(fn.COUNT(SQL("*")), condition, dialect)
            return column, links.group_by(column).having(counted)
        case Kind.CUSTOM_FIELDS:
            return _select_compared(condition, dialect)
    return _with_value(condition, dialect)


def select_tagged(
    condition: Condition, dialect: Dialect, link: Any = _LINK
) -> tuple[Field, ModelSelect[Any]]:
    """Returns the column of IDs, and the query that selects it."""
    if condition.operator == "present":
        column, links = _select_links(dialect, link)
        return column, links.distinct()
    column = link.subscriber_id
    tagged = link.select(column).where(link.account_id == param("account_id"))
    tags = _TAG.select(_TAG.id).where(
        (_TAG.account_id == param("account_id")) & _compared(_TAG.name_key, condition, dialect)
    )
    if condition.operator == "=":
        return column, tagged.where(Expression(link.tag_id, "=", tags))
    return column, tagged.where(Within(link.tag_id, tags)).distinct()


def _select_links(dialect: Dialect, link: Any = _LINK) -> tuple[Field, ModelSelect[Any]]:
    """Returns the column of IDs, and the query that selects it once for each tag."""
    deleted = _TAG.select(_TAG.id).where(
        (_TAG.account_id == param("account_id")) & (_TAG.name_key < SQL("' '"))
    )
    column = link.subscriber_id
    tagged = link.select(column).where(link.account_id == param("account_id"))
    return column, tagged.where(~dialect.within(link.tag_id, deleted))


def _select_values(key: str) -> tuple[Field, ModelSelect[Any]]:
    """Returns the column of IDs, and the query that selects it for a custom field."""
    query = _VALUE.select(_VALUE.subscriber_id).where(
        (_VALUE.account_id == param("account_id")) & (_VALUE.key == param(key))
    )
    return _VALUE.subscriber_id, query


def _select_compared(condition: Condition, dialect: Dialect) -> tuple[Field, ModelSelect[Any]]:
    """Returns the column of IDs, and the query that selects it by comparing two fields.

    Values are read in the order of IDs. Lookups of both for each subscriber take three times as
    long (`customFields.score > customFields.spent` in `make bench-scale`).
    """
    key, *others = condition.values
    column, query = _select_values(key)
    first, second = _VALUE, _SECOND if others else _OTHER
    names = [name.removeprefix(CONVERTED) for name in _names(condition)]
    if next(filter(_VALUES.__contains__, names)) == Kind.TEXT_VALUE:
        # The index does not contain a long text. SQLite would scan the values of all fields.
        first, query = _LONG, query.join(_LONG, JOIN.CROSS).where(_SAME_ROW)
    same_subscriber = (second.account_id == param("account_id")) & (
        (_SECOND.key == param(others[0])) & (_SECOND.subscriber_id == column)
        if others
        else _OTHER.id == column
    )
    query = query.switch(_VALUE).join(second, JOIN.CROSS).where(same_subscriber)
    tables = (first, second)
    return column, query.where(_fields(condition, tables, _OTHER, _OTHER.id, dialect))


def _with_value(condition: Condition, dialect: Dialect) -> tuple[Field, ModelSelect[Any]]:
    """Returns the column of IDs, and the query that selects it."""
    key, *values = condition.values
    column, query = _select_values(key)
    if condition.operator == "present":
        return column, query
    compared: Any = _VALUE.number_key
    is_converted = condition.column in _CONVERTED
    if is_converted:
        compared = compared_value(_VALUE, _CONVERTED[condition.column], dialect)
    elif condition.kind is Kind.TEXT_VALUE:
        compared = _VALUE.text_key
    elif condition.kind is Kind.LONG_TEXT_VALUE:
        compared = dialect.text_of(_VALUE.value)
    condition = condition._replace(values=tuple(values), column="")
    matching = _compared(compared, condition, dialect)
    is_key = condition.kind is Kind.TEXT_VALUE and not is_converted
    if condition.operator == "contains" and is_key:
        matching |= _contained_in_long(condition, dialect)
    return column, query.where(matching)


def _contained_in_long(condition: Condition, dialect: Dialect) -> Any:
    """Whether a text contains another one, of which its key has the first characters only.

    The index contains the key. The row is read for a long text only.
    """
    contained = _compared(dialect.text_of(_LONG.value), condition, dialect)
    is_long = Expression(fn.LENGTH(_VALUE.text_key), "=", SQL(str(TEXT_KEY_LENGTH)))
    return is_long & fn.EXISTS(_LONG.select(SQL("1")).where(_SAME_ROW & contained))


def _compared(value: Any, condition: Condition, dialect: Dialect) -> Any:
    """Compares a value that is not null. A text is present if it is not empty."""
    match condition.operator:
        case "present":
            return Expression(value, "<>", SQL("''"))
        case "prefix":
            return in_range(value, *condition.values)
        case "contains":
            is_lowercase = condition.column in ("email_key", "email_unicode_key")
            return _in_scan(dialect.contains(value, condition.values[0], is_lowercase=is_lowercase))
    return Expression(value, condition.operator, param(condition.values[0]))
