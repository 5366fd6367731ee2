"""Reads and writes the rows of a resource by their account and key.

The stores add what is specific to a resource: rules for names and limits, events, searches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from peewee import SQL, Expression, Field, ModelDelete, Tuple, fn

from ..rpc.errors import RosterError
from ..rpc.paging import Page
from ..values.texts import DELETED_KEY
from .statements import Dialect, Statement, param, params
from .transaction import Transaction

# The rows that one transaction of a large deletion removes.
REMOVED_PER_TRANSACTION = 2_000
# A stored row, whose fields are columns.
Row = TypeVar("Row", bound=NamedTuple)


class Resource(Generic[Row]):
    """A table whose rows have an account and a key.

    Pages are sorted by `order`: a text, or a number and a text, which differ in all rows of an
    account. Default: the key. The column `unique` has different values in all rows of an account.
    `hidden` columns are written but not read. An update writes the columns `changed`; default: all
    but the key. Only rows that match the condition `among` are read, which can have the parameter
    `now`, and others that are passed to `page`. `load` and `dump` convert between rows and column
    values.
    """

    def __init__(
        self,
        row: type[Row],
        key: Field,
        not_found: type[RosterError],
        *,
        order: Sequence[Field] = (),
        descending: bool = False,
        unique: Field | None = None,
        hidden: Sequence[Field] = (),
        changed: Sequence[Field] = (),
        among: Expression | None = None,
        load: Callable[[Sequence[Any]], Row] | None = None,
        dump: Callable[[Row], dict[str, Any]] | None = None,
    ) -> None:
        table: Any = key.model
        self.columns = columns = tuple(getattr(table, name) for name in row._fields)
        self.in_account = table.account_id == param("account_id")
        self.one = self.in_account & (key == param(key.name))
        self._key, self._not_found = key.name, not_found
        self.load = load or row._make
        self._dump = dump or row._asdict
        rows = self.in_account if among is None else self.in_account & among
        found = self.one if among is None else self.one & among
        self._find = Statement(lambda _: table.select(*columns).where(found), has_one_plan=True)
        self._count = Statement(lambda _: table.select(fn.COUNT(key)).where(rows))
        order = order or (key,)
        # The names of these columns in a page token.
        self._position = ("revision", "after")[-len(order) :]
        position, last = Tuple(*order), Tuple(*map(param, self._position))
        rest = rows & (position < last if descending else position > last)
        by = [each.desc() if descending else each for each in (table.account_id, *order)]
        page = table.select(*columns, *order).order_by(*by).limit(param("limit"))
        self._page = Statement(lambda _: page.where(rows).offset(param("offset")))
        self._page_after = Statement(lambda _: page.where(rest))
        self._insert = Statement(
            lambda _: table.insert(
                params(table.account_id, *columns, *hidden)
            ).on_conflict_ignore(),
            has_one_plan=True,
        )
        changed = changed or [column for column in columns if column is not key]
        self._update = Statement(
            lambda _: table.update(params(*changed)).where(self.one), has_one_plan=True
        )
        self._delete = Statement(lambda _: table.delete().where(self.one), has_one_plan=True)
        self._newest = Statement(lambda _: table.select(fn.MAX(key)))
        if unique is not None:
            is_holder = self.in_account & (unique == param(unique.name))
            self._holder = Statement(
                lambda _: table.select(key).where(is_holder), has_one_plan=True
            )

    def find_or_none(self, account_id: str, key: str, tx: Transaction) -> Row | None:
        row = tx.one(self._find, account_id=account_id, now=tx.now, **{self._key: key})
        return None if row is None else self.load(row)

    def find(self, account_id: str, key: str, tx: Transaction) -> Row:
        """Returns one row. Raises the error of a missing one."""
        row = self.find_or_none(account_id, key, tx)
        if row is None:
            raise self._not_found
        return row

    def is_taken(self, account_id: str, key: str, tx: Transaction, **unique: str) -> bool:
        """Whether another row has this value of the unique column."""
        return tx.scalar(self._holder, account_id=account_id, **unique) not in (None, key)

    def count(self, account_id: str, tx: Transaction, **among: Any) -> int:
        return int(tx.scalar(self._count, account_id=account_id, now=tx.now, **among))

    def page(
        self, account_id: str, page: Page, tx: Transaction, **among: Any
    ) -> tuple[list[Row], int, Page | None]:
        """Returns the rows of a page, the number of all rows, and the next page if there is one."""
        rows, following = self.rows(account_id, page, tx, **among)
        return rows, self.count(account_id, tx, **among), following

    def rows(
        self, account_id: str, page: Page, tx: Transaction, **among: Any
    ) -> tuple[list[Row], Page | None]:
        """Returns the rows of a page, and the next page if there is one."""
        # One row more than the page shows whether more follow.
        values = {"account_id": account_id, "limit": page.limit + 1, "now": tx.now, **among}
        if page.token is None:
            found = tx.all(self._page, offset=page.offset, **values)
        else:
            found = tx.all(self._page_after, **page.token._asdict(), **values)
        width = len(self.columns)
        rows = [self.load(row[:width]) for row in found[: page.limit]]
        if len(found) <= page.limit:
            return rows, None
        last = found[page.limit - 1][width:]
        return rows, page.following(**dict(zip(self._position, last, strict=True)))

    def insert(self, account_id: str, row: Row, tx: Transaction, **hidden: Any) -> bool:
        """Stores a new row. Returns False if one of its unique columns is taken."""
        return tx.run(self._insert, account_id=account_id, **self._dump(row), **hidden) > 0

    def update(self, account_id: str, row: Row, tx: Transaction, **hidden: Any) -> None:
        """Stores the changed columns of a row."""
        tx.run(self._update, account_id=account_id, **self._dump(row), **hidden)

    def delete(self, account_id: str, key: str, tx: Transaction) -> None:
        """Deletes a row. Raises the error of a missing one."""
        if not tx.run(self._delete, account_id=account_id, **{self._key: key}):
            raise self._not_found

    def newest_id_of_any_account(self, tx: Transaction) -> str | None:
        """Returns the greatest key of all accounts, or None. For the start of the service."""
        newest: str | None = tx.greatest(self._newest)
        return newest


class LargeDeletion(Generic[Row]):
    """Deletes rows and the rows attached to them, in several transactions if there are many.

    A deleted row is marked in its unique column, and no statement reads it or the attached rows
    afterwards. The column `attached` of an attached row has the value of the deleted row's column
    `value`; `member` orders these rows. `after` runs after a row is deleted, with its key.
    """

    def __init__(
        self,
        resource: Resource[Row],
        key: Field,
        unique: Field,
        is_deleted: Expression,
        *,
        value: Field,
        attached: Field,
        member: Field,
        after: Callable[[str, str, Transaction], None] | None = None,
    ) -> None:
        table: Any = key.model
        self._key, self._unique, self._attached = key.name, unique.name, attached.name
        self._after = after
        self._mark = Statement(
            lambda _: table.update(params(unique)).where(resource.one), has_one_plan=True
        )
        self._delete = Statement(lambda _: table.delete().where(resource.one), has_one_plan=True)
        self._first = Statement(
            lambda _: (
                table.select(key, value)
                .where(resource.in_account & is_deleted)
                .order_by(table.account_id, key)
                .limit(SQL("1"))
            ),
            has_one_plan=True,
        )
        self._remove = Statement(
            lambda dialect: _delete_first(dialect, attached, member), has_one_plan=True
        )
        # A search across accounts.
        self._accounts = Statement(
            lambda _: table.select(table.account_id).where(is_deleted).limit(param("limit"))
        )

    def delete(self, account_id: str, key: str, value: str, tx: Transaction) -> None:
        """Deletes a row and its first attached rows. `remove_deleted` removes the others."""
        mark = {self._key: key, self._unique: f"{DELETED_KEY}{key}"}
        tx.run(self._mark, account_id=account_id, **mark)
        self._remove_rows(account_id, key, value, tx)

    def remove_deleted(self, account_id: str, tx: Transaction) -> int:
        """Removes some rows that are attached to a deleted row, then the deleted row itself.

        Returns the number of removed rows, which is 0 if the account has no deleted row.
        """
        row = tx.one(self._first, account_id=account_id)
        if row is None:
            return 0
        key, value = row
        return self._remove_rows(account_id, key, value, tx)

    def ids_of_any_account_with_deleted(self, limit: int, tx: Transaction) -> list[str]:
        """Returns accounts with deleted rows."""
        return [account_id for (account_id,) in tx.all(self._accounts, limit=limit)]

    def _remove_rows(self, account_id: str, key: str, value: str, tx: Transaction) -> int:
        of_row = {self._attached: value, "limit": REMOVED_PER_TRANSACTION}
        removed = tx.run(self._remove, account_id=account_id, **of_row)
        if removed < REMOVED_PER_TRANSACTION:
            removed += tx.run(self._delete, account_id=account_id, **{self._key: key})
            if self._after is not None:
                self._after(account_id, key, tx)
        return removed


def _delete_first(dialect: Dialect, key: Field, member: Field) -> ModelDelete:
    """Returns a deletion of the first rows of an account with a value of `key`, by `member`."""
    model = key.model
    rows = model.alias()
    account_id, of_key, of_member = (
        getattr(rows, name) for name in ("account_id", key.name, member.name)
    )
    first = (
        rows.select(of_member)
        .where((account_id == param("account_id")) & (of_key == param(key.name)))
        .order_by(account_id, of_key, of_member)
        .limit(param("limit"))
    )
    query: ModelDelete = model.delete().where(
        (model.account_id == param("account_id"))
        & dialect.within(member, first)
        & (key == param(key.name))
    )
    return query
