"""Evaluates a filter for a subscriber that is not stored."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....values.emails import unicode_key
from ....values.ids import first_id_at
from ..rules import NewSubscriber
from ..value_keys import text_keys
from .tree import Condition, Kind, is_true

_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matches(tree: Any, new: NewSubscriber, now: int) -> bool:
    """Whether a row of an import matches a tree, as the subscriber that it would create now.

    Comparisons of the last update with a time are false, because that time is not known.
    Values of the wrong type for their custom field are false too.
    """
    return is_true(tree, lambda each: _is_met(each, new, now))


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
            value = _TYPED[kind](new.values.get(key))
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


def _number(value: Any) -> Any:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _time(value: Any) -> int | None:
    return text_keys(value)[1] if isinstance(value, str) else None


# Returns a value as it is compared, or None if it has another type.
_TYPED: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.TEXT_VALUE: _text,
    Kind.LONG_TEXT_VALUE: _text,
    Kind.NUMBER_VALUE: _number,
    Kind.BOOLEAN_VALUE: _boolean,
    Kind.DATE_VALUE: _time,
}
