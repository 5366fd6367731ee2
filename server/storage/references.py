"""Finds rows that name rows of another table which do not exist."""

from __future__ import annotations

from collections.abc import Mapping

from peewee import SQL, Expression, Field, fn

from .statements import Statement, param
from .transaction import Transaction


class Reference:
    """A reference of a table to another one of the same account, by pairs of columns.

    Only rows that match the condition `among` are checked.
    """

    def __init__(self, columns: Mapping[Field, Field], among: Expression | None = None) -> None:
        (first, target), *_ = columns.items()
        table, other = first.model, target.model.alias()
        self.name = f"{table._meta.table_name}.{first.column_name}"
        in_account = table.account_id == param("account_id")
        rows = in_account if among is None else in_account & among
        matches = other.account_id == param("account_id")
        for column, referenced in columns.items():
            matches &= getattr(other, referenced.name) == column
        found = other.select(SQL("1")).where(matches)
        self._missing = Statement(
            lambda _: table.select(fn.COUNT(SQL("1")), fn.MIN(first)).where(
                rows & ~fn.EXISTS(found)
            )
        )

    def missing(self, account_id: str, tx: Transaction) -> tuple[int, str]:
        """Returns the number of rows without their target, and one of the missing targets."""
        ((count, example),) = tx.all(self._missing, account_id=account_id)
        return count, str(example)
