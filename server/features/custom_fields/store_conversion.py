"""Reads the values of custom fields whose data type is or was changed.

Before a change, `values_after` reads the values in chunks outside of the transaction of the change.
That transaction checks only the values of subscribers that changed meanwhile (`changed_values`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import orjson
from peewee import SQL, Case, Expression, ModelSelect, fn

from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ...values.timestamps import parse_timestamp
from .models import CustomValue
from .rules import TEXT_KEY_LENGTH, DataType, is_date
from .value_conversion import converted, text_of

# The values that one read checks.
CHUNK = 10_000
MAX_EXAMPLES = 5
MAX_EXAMPLE_LENGTH = 60

_VALUE, _LONG = CustomValue.alias("value"), CustomValue.alias("long")
_OF_FIELD = (_VALUE.account_id == param("account_id")) & (_VALUE.key == param("key"))


def _select_after(_: Dialect) -> ModelSelect[Any]:
    """Selects the values of a field. Short texts are in its index, so few rows are read."""
    is_short = Expression(fn.LENGTH(_VALUE.text_key), "<", SQL(str(TEXT_KEY_LENGTH)))
    value = _LONG.select(_LONG.value).where(
        (_LONG.account_id == param("account_id"))
        & (_LONG.key == param("key"))
        & (_LONG.subscriber_id == _VALUE.subscriber_id)
    )
    whole = Case(None, ((is_short, SQL("NULL")),), value)
    return (
        _VALUE.select(_VALUE.subscriber_id, _VALUE.text_key, _VALUE.number_key, whole)
        .where(_OF_FIELD & (_VALUE.subscriber_id > param("after")))
        .order_by(_VALUE.account_id, _VALUE.key, _VALUE.subscriber_id)
        .limit(param("limit"))
    )


_AFTER = Statement(_select_after)
_OF_SUBSCRIBERS = Statement(
    lambda dialect: _VALUE.select(_VALUE.value).where(
        _OF_FIELD & dialect.any_of(_VALUE.subscriber_id, "ids")
    )
)


_PUT_NUMBER = Statement(
    lambda _: CustomValue.update({CustomValue.number_key: param("number")}).where(
        (CustomValue.account_id == param("account_id"))
        & (CustomValue.key == param("key"))
        & (CustomValue.subscriber_id == param("subscriber_id"))
        & (CustomValue.text_key == param("text"))
    ),
    has_one_plan=True,
)


class Differing(NamedTuple):
    """The number of values that do not convert, and some of them as texts."""

    total: int = 0
    examples: tuple[str, ...] = ()

    def with_values(self, values: Iterable[Any], data_type: DataType) -> Differing:
        """Returns the sum with those of other values."""
        total, examples = self.total, dict.fromkeys(self.examples)
        for value in values:
            if converted(value, data_type) is None:
                total += 1
                if len(examples) < MAX_EXAMPLES:
                    examples[_shortened(text_of(value))] = None
        return Differing(total, tuple(examples))


def _shortened(text: str) -> str:
    is_long = len(text) > MAX_EXAMPLE_LENGTH
    return f"{text[: MAX_EXAMPLE_LENGTH - 1]}\u2026" if is_long else text


class Chunk(NamedTuple):
    """Values of a field, and the last subscriber if others follow.

    `undated` are subscribers and dates without the number that filters compare, which versions
    before migration 0011 stored in fields of another type.
    """

    values: list[Any]
    undated: list[tuple[str, str]]
    last: str | None


def values_after(account_id: str, key: str, after: str, tx: Transaction) -> Chunk:
    """Returns the values of a field that subscribers after this one have."""
    rows = tx.all(_AFTER, account_id=account_id, key=key, after=after, limit=CHUNK)
    values = [text if value is None else orjson.loads(value) for _, text, _, value in rows]
    undated = [
        (subscriber_id, text)
        for subscriber_id, text, number, value in rows
        if number is None and value is None and is_date(text)
    ]
    return Chunk(values, undated, rows[-1][0] if len(rows) == CHUNK else None)


def put_dates(
    account_id: str, key: str, undated: Iterable[tuple[str, str]], tx: Transaction
) -> None:
    """Stores the numbers of dates without one."""
    of_field = {"account_id": account_id, "key": key}
    numbers = [
        {**of_field, "subscriber_id": id_, "text": text, "number": parse_timestamp(text)}
        for id_, text in undated
    ]
    if numbers:
        tx.run_each(_PUT_NUMBER, numbers)


def values_of(account_id: str, key: str, ids: list[str], tx: Transaction) -> list[Any]:
    """Returns the values of a field that subscribers have."""
    rows = tx.all(_OF_SUBSCRIBERS, account_id=account_id, key=key, ids=ids)
    return [orjson.loads(value) for (value,) in rows]


def compared_value(table: Any, data_type: DataType, dialect: Dialect) -> Any:
    """Selects a value of a converted field for comparisons, from a table of values.

    A text, a number, or 1 or 0. Dates are texts with their number, which is never converted.
    """
    match data_type:
        case DataType.TEXT:
            is_plain = table.text_key.is_null()
            plain = dialect.text_of_plain(table.value)
            return Case(None, ((is_plain, plain),), dialect.text_of(table.value))
        case DataType.NUMBER:
            return fn.COALESCE(table.number_key, dialect.number_of(table.text_key))
        case DataType.BOOLEAN:
            is_true = Expression(table.text_key, "=", SQL("'true'"))
            return fn.COALESCE(table.number_key, Case(None, ((is_true, SQL("1")),), SQL("0")))
    return table.number_key
