"""Evaluates a filter for a row of an import, or for one stored subscriber."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ....values.emails import Email, unicode_key
from ....values.ids import first_id_at
from ....values.texts import caseless_key, fold_case
from ..fields import PROFILE, Status, SubscriberRow
from ..rules import ConsentRecord, NewSubscriber, search_keys
from ..value_keys import text_keys
from .operands import CONVERTED, VALUE_KINDS
from .tree import Condition, Kind, is_true

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# The Python types of the values of custom fields.
_TYPES: Mapping[Kind, type | tuple[type, ...]] = {
    Kind.TEXT_VALUE: str,
    Kind.LONG_TEXT_VALUE: str,
    Kind.NUMBER_VALUE: (int, float),
    Kind.BOOLEAN_VALUE: bool,
    Kind.DATE_VALUE: str,
}


class _Subscriber(NamedTuple):
    """A subscriber, and the time now. `revision` is that of the last change, if it is stored."""

    new: NewSubscriber
    now: int
    revision: int | None = None


def matches(tree: Any, new: NewSubscriber, now: int) -> bool:
    """Whether a row of an import matches a tree, as the subscriber that it would create now.

    Comparisons of the last update with a time are false, because that time is not known.
    Values of the wrong type for their custom field are false too.
    """
    one = _Subscriber(new, now)
    return is_true(tree, lambda each: _is_met(each, one))


def matches_stored(tree: Any, row: SubscriberRow) -> bool:
    """Whether a stored subscriber matches a tree. Many trees are evaluated without the database."""
    record = ConsentRecord(*[getattr(row, name) for name in ConsentRecord._fields])
    new = NewSubscriber(
        email=Email(row.email, row.email_key),
        profile={name: getattr(row, name) for name in PROFILE},
        status=Status(row.status),
        tags={caseless_key(name): name for name in row.tags},
        values=row.values,
        consent_record=record,
    )
    one = _Subscriber(new, row.created_at, row.revision)
    return is_true(tree, lambda each: _is_met(each, one))


def _is_met(condition: Condition, one: _Subscriber) -> bool:
    new = one.new
    values: Sequence[Any] = condition.values
    stored: Sequence[Any]
    match condition.kind:
        case Kind.EMAIL:
            stored = [new.email.key]
            if condition.operator == "prefix":
                stored = [new.email.key, unicode_key(new.email.key)]
        case Kind.DOMAIN:
            in_unicode = condition.column == "email_unicode_key"
            key = unicode_key(new.email.key) if in_unicode else new.email.key
            stored = [key and key.rpartition("@")[2]]
        case Kind.COLUMN:
            stored = [_column(condition.column, one)]
        case Kind.TAG:
            stored = list(new.tags)
        case Kind.TAG_COUNT:
            stored = [len(new.tags)]
        case Kind.FIELDS | Kind.CUSTOM_FIELDS:
            keys = iter(values)
            left, right = (_operand(name, keys, one) for name in condition.column.split(", "))
            values, stored = [right], [] if right is None else [left]
        case kind:
            key, *values = values
            value = _typed(new.values.get(key), kind)
            if condition.operator == "present":
                return value is not None
            stored = [value]
    return any(
        _compared(value, condition.operator, values) for value in stored if value is not None
    )


def _column(name: str, one: _Subscriber) -> Any:
    new, now, revision = one
    record, profile = new.consent_record, new.profile
    created_at = now if record.created_at is None else min(record.created_at, now)
    match name:
        case "id":
            return first_id_at(created_at)
        case "created_at":
            return created_at
        case "revision":
            return revision
        case "updated_at":
            return None if revision is None else revision // 1000
        case "status":
            return int(new.status)
        case "email_key":
            return new.email.key
        case "email_unicode_key":
            return unicode_key(new.email.key)
        case "name":
            return f"{profile['first_name']} {profile['last_name']}".strip(" ")
        case "name_key" | "last_name_key":
            return getattr(search_keys(profile["first_name"], profile["last_name"]), name)
    return profile[name] if name in profile else getattr(record, name)


def _operand(name: str, keys: Iterator[str], one: _Subscriber) -> Any:
    """Returns the value of a field that is compared with another one."""
    match name:
        case "domain":
            return one.new.email.key.rpartition("@")[2]
        case Kind.TAG_COUNT:
            return len(one.new.tags)
    name = name.removeprefix(CONVERTED)
    if name not in VALUE_KINDS.values():
        return _column(name, one)
    return _typed(one.new.values.get(next(keys)), Kind(name))


def _compared(value: Any, name: str, values: Sequence[Any]) -> bool:
    """Compares a value. A text is present if it is not empty."""
    if name == "present":
        return bool(value != "")
    if name == "prefix":
        start, end = values
        return bool(start <= value < end)
    if name == "contains":
        return values[0] in fold_case(value)
    return _COMPARISONS[name](value, values[0])


def _typed(value: Any, kind: Kind) -> Any:
    """Returns a value as it is compared, or None if it has another type."""
    if not isinstance(value, _TYPES[kind]) or (
        kind is Kind.NUMBER_VALUE and isinstance(value, bool)
    ):
        return None
    return text_keys(str(value))[1] if kind is Kind.DATE_VALUE else value
