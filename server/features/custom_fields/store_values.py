"""Counts the values of a custom field.

The index of values is in the order of subscribers, not of values, so that creations add to its end.
The newest entries of a field are therefore scanned, up to a limit, and grouped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from peewee import SQL, Field, Select, fn

from ...rpc.errors import invalid
from ...storage.statements import Dialect, Statement, param
from ...storage.transaction import Transaction
from ...values.texts import fold_case
from ..statistics.rules import STATUS
from ..statistics.store import totals
from .models import CustomValue
from .rules import TEXT_KEY_LENGTH, DataType
from .store_conversion import compared_value
from .value_conversion import is_converted, plain_type

MAX_VALUES = 20
# The values of a field that are compared with a prefix, and of these that are counted: a scan takes
# a fraction of the time of a count (`values of` in `make bench-scale`).
MAX_SCANNED, MAX_COUNTED = 1_000_000, 100_000


class FrequentValues(NamedTuple):
    """Values with the number of subscribers, in descending order, and whether all were counted."""

    totals: list[tuple[str | float, int]]
    is_exact: bool


def _select(column: Field, value: Any, dialect: Dialect) -> Any:
    """Selects values, the number of each, and that of all which were counted.

    `column` is the one that has them, unless the field was converted.
    """
    scanned = (
        CustomValue.select(value.alias(column.name))
        .where((CustomValue.account_id == param("account_id")) & (CustomValue.key == param("key")))
        .order_by(
            CustomValue.account_id.desc(), CustomValue.key.desc(), CustomValue.subscriber_id.desc()
        )
        .limit(param("scanned"))
        .alias("scanned")
    )
    value = getattr(scanned.c, column.name)
    counted = Select([scanned], [value])
    if column is CustomValue.text_key:
        # As long as the prefix, so it is equal if it contains it.
        begin = fn.SUBSTR(value, SQL("1"), param("length"))
        counted = counted.where(
            (fn.LENGTH(value) < SQL(str(TEXT_KEY_LENGTH))) & dialect.contains(begin, "prefix")
        )
    counted = counted.limit(param("counted")).alias("counted")
    value, total = getattr(counted.c, column.name), fn.COUNT(SQL("1"))
    return (
        Select([counted], [value, total, fn.SUM(total).over()])
        .group_by(value)
        .order_by(total.desc(), value)
        .limit(SQL(str(MAX_VALUES)))
    )


_TEXTS = Statement(lambda dialect: _select(CustomValue.text_key, CustomValue.text_key, dialect))
_NUMBERS = Statement(
    lambda dialect: _select(CustomValue.number_key, CustomValue.number_key, dialect)
)

_CONVERTED_TEXTS = Statement(
    lambda dialect: _select(
        CustomValue.text_key, compared_value(CustomValue, DataType.TEXT, dialect), dialect
    )
)
_CONVERTED_NUMBERS = Statement(
    lambda dialect: _select(
        CustomValue.number_key, compared_value(CustomValue, DataType.NUMBER, dialect), dialect
    )
)
_CONVERTED_BOOLEANS = Statement(
    lambda dialect: _select(
        CustomValue.number_key, compared_value(CustomValue, DataType.BOOLEAN, dialect), dialect
    )
)
_CONVERTED = {
    DataType.TEXT: _CONVERTED_TEXTS,
    DataType.NUMBER: _CONVERTED_NUMBERS,
    DataType.BOOLEAN: _CONVERTED_BOOLEANS,
}


def frequent_values(
    account_id: str, key: str, stored_type: int, prefix: str, tx: Transaction
) -> FrequentValues:
    """Returns the most frequent values of a custom field that begin with a prefix.

    The case of letters is ignored, as by the operator `:` of filters. Raises ValidationError for
    a prefix of a number or a boolean.
    """
    limits = {"scanned": MAX_SCANNED, "counted": MAX_COUNTED + 1}
    values = {"account_id": account_id, "key": key, **limits}
    data_type = plain_type(stored_type)
    converted = _CONVERTED.get(data_type) if is_converted(stored_type) else None
    if data_type in (DataType.TEXT, DataType.DATE):
        folded = fold_case(prefix)
        rows = tx.all(converted or _TEXTS, prefix=folded, length=len(folded), **values)
    elif prefix:
        name = DataType(data_type).name
        raise invalid("prefix", "INVALID_VALUE", f"is not accepted for a field of type {name}")
    else:
        rows = tx.all(converted or _NUMBERS, **values)
    subscribers = sum(totals(account_id, STATUS, tx).values())
    counted = rows[0][2] if rows else 0
    is_boolean = data_type == DataType.BOOLEAN
    return FrequentValues(
        [(bool(value) if is_boolean else value, total) for value, total, _ in rows],
        is_exact=subscribers <= MAX_SCANNED and counted <= MAX_COUNTED,
    )
