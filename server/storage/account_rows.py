"""Counts and deletes the rows of an account in every table with data of accounts.

These are the tables with a column `account_id`, so a new table needs no entry here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from peewee import SQL, Database, Expression, Table, Tuple

from .migrate import tables_in_dependency_order
from .statements import Statement, param
from .transaction import Transaction

_ACCOUNT = "account_id"
# The rows of a table that one transaction deletes. Writers of the account wait for it, on SQLite
# all writers.
CHUNK = 2_000


class AccountTable:
    """A table with rows of accounts; `key` are the columns of its primary key."""

    def __init__(self, name: str, key: Sequence[str]) -> None:
        self.name = name
        self._key = [column for column in key if column != _ACCOUNT]
        table = Table(name)
        of_account: Expression = table.c.account_id == param(_ACCOUNT)
        self._delete = Statement(lambda _: table.delete().where(of_account))
        self._accounts = Statement(lambda _: table.select(table.c.account_id).distinct())
        if not self._key:
            return
        columns = [getattr(table.c, each) for each in self._key]
        precedes = Tuple(*columns) < Tuple(*map(param, self._key))
        in_order = table.select(*columns).where(of_account).order_by(table.c.account_id, *columns)
        self._end = Statement(lambda _: in_order.limit(SQL("1")).offset(param("rows")))
        self._delete_first = Statement(lambda _: table.delete().where(of_account & precedes))

    def delete_some(self, account_id: str, tx: Transaction) -> int:
        """Deletes the first rows of an account and returns their number, less than CHUNK at last.

        Rows of other tables that reference them are deleted too, so delete those first.
        """
        if self._key:
            end = tx.one(self._end, account_id=account_id, rows=CHUNK)
            if end is not None:
                key = dict(zip(self._key, end, strict=True))
                return tx.run(self._delete_first, account_id=account_id, **key)
        return tx.run(self._delete, account_id=account_id)

    def ids_of_all_accounts(self, tx: Transaction) -> list[str]:
        """Returns the accounts that have rows. For operators only."""
        return [account_id for (account_id,) in tx.all(self._accounts)]


def account_tables(database: Database) -> list[AccountTable]:
    """Returns the tables of an open database with rows of accounts, referencing tables first."""
    return [
        _table(name, tuple(database.get_primary_keys(name)))
        for name in reversed(tables_in_dependency_order(database))
        if _ACCOUNT in {column.name for column in database.get_columns(name)}
    ]


@cache
def _table(name: str, key: tuple[str, ...]) -> AccountTable:
    """Returns a table with statements that are built once."""
    return AccountTable(name, key)
