"""Checks the comparisons of filter expressions, and converts them to conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....rpc.errors import ValidationError
from ....values.emails import key_prefix
from ....values.ids import first_id_at
from ....values.suggestions import did_you_mean
from ....values.texts import caseless_key, fold_case
from ...custom_fields.rules import TEXT_KEY_LENGTH, DataType
from ..fields import Status
from ..rules import search_text
from . import literals
from .faults import fault, shown
from .literals import check_is_text, check_not_prefix, literal_type
from .operands import (
    CONVERTED,
    CUSTOM_FIELDS,
    FIXED,
    NAMES,
    VALUE_KINDS,
    Operand,
    fields_of,
    operand_of,
)
from .syntax import Comparison
from .tree import ANYONE, And, Condition, Kind, Not, Or, comparisons, mapped, range_of

# In the order in which messages list them.
_ORDER = ("=", "!=", "<", "<=", ">", ">=")
_ANY_ORDER = (*_ORDER, ":")
_EQUALITY = ("=", "!=", ":")
_OPERATORS = {Kind.TAG: (":",), Kind.BOOLEAN_VALUE: _EQUALITY}
# The kinds and columns of conditions on texts that are not compared as they are.
_TEXTS = {"email_key": (Kind.EMAIL, ""), "domain": (Kind.DOMAIN, "email_key")}


def search_of(text: str) -> Condition:
    """Returns the condition of the parameter `q`."""
    return Condition(
        Kind.SEARCH, "prefix", (*range_of(key_prefix(text)), *range_of(search_text(text)))
    )


def needs_types(tree: Any) -> bool:
    """Whether a filter has custom fields, or unknown fields for which one may be suggested."""
    return any(field not in FIXED for each in comparisons(tree) for field in fields_of(each))


def conditions_of(tree: Any, types: Mapping[str, int], now: int) -> Any:
    """Returns the conditions of a parsed filter.

    `types` are the data types of the custom fields by key, and `now` is the time in milliseconds
    that `daysAgo` is before. Raises ValidationError for `filter`.
    """
    return mapped(tree, lambda comparison: _condition(comparison, types, now))


def _condition(comparison: Comparison, types: Mapping[str, int], now: int) -> Any:
    if comparison.operator == "!=":
        return Not(_condition(comparison._replace(operator="="), types, now))
    name, operand = comparison.field, operand_of(comparison.field, types)
    if operand is None and name not in FIXED:
        raise _unknown(comparison, types)
    is_time = operand is not None and operand.type is DataType.DATE
    literals.check_function(comparison, is_time=is_time)
    if operand is None:
        return _status(comparison) if name == "status" else _text(comparison, Kind.TAG)
    if len(fields_of(comparison)) > 1:
        return _fields(comparison, operand, types)
    if operand.key is not None:
        condition = _custom(comparison, operand.type, operand.key, now)
        is_converted = operand.column.startswith(CONVERTED)
        return condition._replace(column=operand.column) if is_converted else condition
    if is_time:
        return _time(comparison, operand.column, now)
    if operand.type is DataType.TEXT:
        kind, column = _TEXTS.get(operand.column, (Kind.COLUMN, operand.column))
        return _text(comparison, kind, column)
    is_tag_count = operand.column == Kind.TAG_COUNT
    return _tag_count(comparison) if is_tag_count else _profile(comparison, operand)


def _unknown(comparison: Comparison, types: Mapping[str, int]) -> ValidationError:
    name = comparison.field
    if name in ("customFields", "custom_fields"):
        message = "must name a custom field by its key, such as customFields.plan"
        return fault("UNKNOWN_FIELD", message, comparison.column)
    hint = did_you_mean(name, [*NAMES, *(CUSTOM_FIELDS + key for key in types)])
    return fault("UNKNOWN_FIELD", f"names an unknown field: {name}{hint}", comparison.column)


def _fields(comparison: Comparison, left: Operand, types: Mapping[str, int]) -> Condition:
    name = comparison.value
    right = operand_of(name, types)
    if right is None:
        named = comparison._replace(field=name, column=comparison.value_column)
        raise _unknown(named, types)
    if right.type is not left.type:
        message = (
            f"must compare {shown(comparison.field)} with a field of its type, {left.type.name},"
            f" not {right.type.name}"
        )
        raise fault("INVALID_TYPE", message, comparison.value_column)
    _check_operator(comparison, _EQUALITY if left.type is DataType.BOOLEAN else _ANY_ORDER)
    keys = tuple(each.key for each in (left, right) if each.key is not None)
    kind = Kind.CUSTOM_FIELDS if keys else Kind.FIELDS
    return Condition(kind, comparison.operator, keys, f"{left.column}, {right.column}")


def _tag_count(comparison: Comparison) -> Any:
    """Compares the number of tags. Subscribers without a tag are those that all others leave."""
    if _is_present(comparison):
        return ANYONE
    number = literals.whole_number(comparison)
    match comparison.operator:
        case "<":
            return Not(_at_least(number))
        case "<=":
            return Not(_at_least(number + 1))
        case ">":
            return _at_least(number + 1)
        case ">=":
            return _at_least(number)
    if number <= 0:
        return Not(_at_least(1) if number == 0 else ANYONE)
    return Condition(Kind.TAG_COUNT, "=", (number,))


def _at_least(number: int) -> Condition:
    return Condition(Kind.TAG_COUNT, ">=", (number,)) if number > 0 else ANYONE


def _time(comparison: Comparison, column: str, now: int) -> Any:
    """Compares with the milliseconds that the API returns."""
    if _is_present(comparison):
        if column in ("created_at", "updated_at"):
            return ANYONE
        return Condition(Kind.COLUMN, "present", column=column)
    milliseconds = literals.milliseconds(comparison, now)
    if column == "created_at":
        # The ID contains the time of creation, and has an index.
        first: Any = first_id_at(milliseconds)
        end: Any = first_id_at(milliseconds + 1)
        column = "id"
    elif column == "updated_at":
        first, end, column = milliseconds * 1000, (milliseconds + 1) * 1000, "revision"
    else:
        first, end = milliseconds, milliseconds + 1

    def bound(operator: str, value: Any) -> Condition:
        return Condition(Kind.COLUMN, operator, (value,), column)

    match comparison.operator:
        case "<":
            return bound("<", first)
        case "<=":
            return bound("<", end)
        case ">":
            return bound(">=", end)
        case ">=":
            return bound(">=", first)
    return And((bound(">=", first), bound("<", end)))


def _status(comparison: Comparison) -> Any:
    _check_operator(comparison, _EQUALITY)
    if _is_present(comparison):
        return ANYONE
    try:
        status = Status[comparison.value.upper()]
    except KeyError:
        names = ", ".join(Status.__members__)
        raise fault(
            "INVALID_VALUE", f"must compare status with one of {names}", comparison.value_column
        ) from None
    check_not_prefix(comparison)
    return Condition(Kind.COLUMN, "=", (int(status),), "status")


def _text(comparison: Comparison, kind: Kind, column: str = "") -> Any:
    _check_operator(comparison, _OPERATORS.get(kind, _ANY_ORDER))
    if _is_present(comparison):
        return Condition(kind, "present", column=column)
    if comparison.operator not in _EQUALITY and literal_type(comparison) is not DataType.TEXT:
        message = "must quote the value of a text field"
        raise fault("INVALID_TYPE", message, comparison.value_column)
    if comparison.is_prefix:
        return _prefix(comparison, kind, column)
    if comparison.operator == ":" and kind is not Kind.TAG:
        return _contains(comparison, kind, column)
    value = _EXACT.get(kind, str)(comparison.value)
    return Condition(kind, _sql(comparison.operator), (value,), column)


def _prefix(comparison: Comparison, kind: Kind, column: str) -> Condition:
    if comparison.operator not in ("=", ":"):
        check_not_prefix(comparison)
    prefix = _PARTS.get(kind, str)(comparison.value)
    if kind is Kind.EMAIL and "@" not in prefix:
        # The domain is not compared, so only one form of the address is.
        kind, column = Kind.COLUMN, "email_key"
    if kind is Kind.DOMAIN and not prefix.isascii():
        # An incomplete label has no form in ASCII.
        column = "email_unicode_key"
    return Condition(kind, "prefix", range_of(prefix), column)


def _contains(comparison: Comparison, kind: Kind, column: str) -> Any:
    """Searches a part of a text without regard to case; in both forms of an address."""
    part = fold_case(_PARTS.get(kind, str)(comparison.value))
    if not part:
        message = f'must contain a text; {shown(comparison.field)} = "" compares with no text'
        raise fault("INVALID_VALUE", message, comparison.value_column)
    if kind not in (Kind.EMAIL, Kind.DOMAIN):
        return Condition(kind, "contains", (part,), column)
    if kind is Kind.EMAIL:
        kind = Kind.COLUMN
    forms = ("email_key", "email_unicode_key")
    return Or(tuple(Condition(kind, "contains", (part,), form) for form in forms))


def _profile(comparison: Comparison, operand: Operand) -> Any:
    is_flag = operand.type is DataType.BOOLEAN
    _check_operator(comparison, _EQUALITY if is_flag else _ANY_ORDER)
    if _is_present(comparison):
        return Condition(Kind.COLUMN, "present", column=operand.column)
    check_not_prefix(comparison)
    value = literals.boolean(comparison) if is_flag else literals.number(comparison)
    return Condition(Kind.COLUMN, _sql(comparison.operator), (value,), operand.column)


def _custom(comparison: Comparison, data_type: DataType, key: str, now: int) -> Condition:
    kind = VALUE_KINDS[data_type]
    _check_operator(comparison, _OPERATORS.get(kind, _ANY_ORDER))
    if _is_present(comparison):
        return Condition(kind, "present", (key,))
    if kind is Kind.TEXT_VALUE:
        check_is_text(comparison)
        is_long = len(comparison.value) >= TEXT_KEY_LENGTH
        condition: Condition = _text(comparison, Kind.LONG_TEXT_VALUE if is_long else kind)
        return condition._replace(values=(key, *condition.values))
    check_not_prefix(comparison)
    value: Any
    if kind is Kind.DATE_VALUE:
        value = literals.milliseconds(comparison, now)
    elif kind is Kind.NUMBER_VALUE:
        value = literals.number(comparison, is_custom=True)
    else:
        value = literals.boolean(comparison, is_custom=True)
    return Condition(kind, _sql(comparison.operator), (key, value))


def _is_present(comparison: Comparison) -> bool:
    """Whether the comparison is `FIELD:*`, which is true if the field has a value."""
    return comparison.operator == ":" and comparison.is_prefix and not comparison.value


def _sql(operator: str) -> str:
    return "=" if operator == ":" else operator


def _check_operator(comparison: Comparison, operators: Sequence[str]) -> None:
    if comparison.operator not in operators:
        listed = f"one of the operators {' '.join(operators)}"
        if operators == _OPERATORS[Kind.TAG]:
            listed = "the operator :, such as tags:vip or NOT tags:vip"
        message = f"must compare {shown(comparison.field)} with {listed}"
        raise fault("INVALID_VALUE", message, comparison.column)


_EXACT = {Kind.EMAIL: literals.email, Kind.DOMAIN: literals.domain, Kind.TAG: caseless_key}
_PARTS = {Kind.EMAIL: key_prefix, Kind.DOMAIN: literals.domain_part, Kind.TAG: caseless_key}
