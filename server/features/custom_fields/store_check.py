"""Compares the stored values of custom fields with the data types of the fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...storage.findings import Check, Findings
from ...storage.transaction import Transaction
from .rules import DataType
from .store import types
from .store_conversion import values_after
from .value_conversion import has_type


def check_values(account_id: str, tx: Transaction, findings: Findings) -> None:
    """Adds the values of an account that do not have the type of their field."""
    found = types(account_id, tx)
    for key, number in found.items():
        data_type, is_converted = DataType(number), key in found.converted
        others = sum(
            not has_type(value, data_type, is_converted=is_converted)
            for value in _values(account_id, key, tx)
        )
        if others:
            text = f"{key} has {others} values that are not of its type {data_type.name}"
            findings.add(Check.VALUES, text, others)


def _values(account_id: str, key: str, tx: Transaction) -> Iterator[Any]:
    after: str | None = ""
    while after is not None:
        chunk = values_after(account_id, key, after, tx)
        yield from chunk.values
        after = chunk.last
