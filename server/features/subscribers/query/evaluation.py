"""Evaluates a filter for a row of an import, or for one stored subscriber."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....values.emails import Email, unicode_key
from ....values.ids import first_id_at
from ....values.texts import caseless_key
from ..fields import PROFILE, Status, SubscriberRow
from ..rules import ConsentRecord, NewSubscriber
from ..value_keys import text_keys
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


def matches(tree: Any, new: NewSubscriber, now: int) -> bool:
    """Whether a row of an import matches a tree, as the subscriber that it would create now.

    Comparisons of the last update with a time are false, because that time is not known.
    Values of the wrong type for their custom field are false too.
    """
    return is_true(tree, lambda each: _is_met(each, new, now))


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

    def is_met(condition: Condition) -> bool:
        if condition.column == "revision":
            return _compared(row.revision, condition.operator, condition.values)
        return _is_met(condition, new, row.created_at)

    return is_true(tree, is_met)


def _is_met(condition: Condition, new: NewSubscriber, now: int) -> bool:
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
            stored = [_column(condition.column, new, now)]
        case Kind.TAG:
            stored = list(new.tags)
        case kind:
            key, *values = values
            value = _typed(new.values.get(key), kind)
            if condition.operator == "present":
                return value is not None
            stored = [value]
    return any(
        _compared(value, condition.operator, values) for value in stored if value is not None
    )


def _column(name: str, new: NewSubscriber, now: int) -> Any:
    record = new.consent_record
    if name == "id":
        return first_id_at(now if record.created_at is None else min(record.created_at, now))
    if name == "revision":
        return None
    if name == "status":
        return int(new.status)
    if name == "email_key":
        return new.email.key
    return new.profile[name] if name in new.profile else getattr(record, name)


def _compared(value: Any, name: str, values: Sequence[Any]) -> bool:
    """Compares a value. A text is present if it is not empty."""
    if name == "present":
        return bool(value != "")
    if name == "prefix":
        start, end = values
        return bool(start <= value < end)
    return _COMPARISONS[name](value, values[0])


def _typed(value: Any, kind: Kind) -> Any:
    """Returns a value as it is compared, or None if it has another type."""
    if not isinstance(value, _TYPES[kind]) or (
        kind is Kind.NUMBER_VALUE and isinstance(value, bool)
    ):
        return None
    return text_keys(str(value))[1] if kind is Kind.DATE_VALUE else value
