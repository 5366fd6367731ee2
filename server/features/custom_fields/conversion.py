"""Checks that all values of a custom field convert to another data type, and changes the type.

The check reads the values in chunks, each in a transaction of its own, so that calls of the account
wait for none of them. Values that are stored meanwhile belong to subscribers with a later revision;
they are checked after the others, and the last of them in the transaction of the change.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, Protocol

from ...rpc.errors import ValuesNotConvertible
from ...storage.database import Database
from ...storage.transaction import Transaction
from . import store
from .rules import DataType
from .store_conversion import CHUNK, Differing, put_dates, values_after, values_of

# The position after all subscribers with a revision: no ID is greater.
_LAST_ID = "~"


class Revisions(Protocol):
    """The revisions of the subscribers of an account."""

    def last_revision(self, account_id: str, tx: Transaction) -> int: ...

    def changed_after(
        self, account_id: str, position: tuple[int, str], limit: int, tx: Transaction
    ) -> list[tuple[int, str]]: ...


class CheckAgain(Exception):
    """The field has another type than the one that was checked, or many values changed."""


class Checked(NamedTuple):
    """A field all of whose values convert, up to the position of the last changed subscriber.

    `undated` are those of `Chunk`, which get their numbers with the change.
    """

    account_id: str
    key: str
    before: DataType
    data_type: DataType
    position: tuple[int, str]
    undated: Sequence[tuple[str, str]] = ()

    @property
    def needs_check(self) -> bool:
        # Every value is a text.
        return self.data_type not in (self.before, DataType.TEXT)

    def confirm(self, row: store.CustomFieldRow, revisions: Revisions, tx: Transaction) -> None:
        """Checks what changed since, in the transaction of the change.

        Raises ValuesNotConvertible or CheckAgain.
        """
        if row.type != self.before:
            raise CheckAgain
        if not self.needs_check:
            return
        rest = revisions.changed_after(self.account_id, self.position, CHUNK, tx)
        if len(rest) == CHUNK:
            raise CheckAgain
        ids = [subscriber_id for _, subscriber_id in rest]
        values = values_of(self.account_id, self.key, ids, tx)
        _raise_any(Differing().with_values(values, self.data_type), self.data_type)
        put_dates(self.account_id, self.key, self.undated, tx)


async def check(
    account_id: str, field_id: str, data_type: DataType, revisions: Revisions, database: Database
) -> Checked:
    """Checks all values of a field. Raises CustomFieldNotFound and ValuesNotConvertible."""

    def begin(tx: Transaction) -> Checked:
        row = store.find(account_id, field_id, tx)
        position = (revisions.last_revision(account_id, tx), _LAST_ID)
        return Checked(account_id, row.key, row.type, data_type, position)

    checked = await database.read(begin)
    if not checked.needs_check:
        return checked
    differing, after, undated = Differing(), "", list[tuple[str, str]]()
    while True:
        read = partial(values_after, account_id, checked.key, after)
        chunk = await database.read(read)
        differing = differing.with_values(chunk.values, data_type)
        if data_type is DataType.DATE:
            undated.extend(chunk.undated)
        if chunk.last is None:
            break
        after = chunk.last
    _raise_any(differing, data_type)
    checked = checked._replace(undated=undated)
    return await check_changes(checked, revisions, database)


async def check_changes(checked: Checked, revisions: Revisions, database: Database) -> Checked:
    """Checks the values of the subscribers that changed since. Raises ValuesNotConvertible."""

    def changed(
        position: tuple[int, str], tx: Transaction
    ) -> tuple[list[tuple[int, str]], Differing]:
        rows = revisions.changed_after(checked.account_id, position, CHUNK, tx)
        values = values_of(checked.account_id, checked.key, [each for _, each in rows], tx)
        return rows, Differing().with_values(values, checked.data_type)

    while True:
        rows, differing = await database.read(partial(changed, checked.position))
        _raise_any(differing, checked.data_type)
        if rows:
            checked = checked._replace(position=rows[-1])
        if len(rows) < CHUNK:
            return checked


def _raise_any(differing: Differing, data_type: DataType) -> None:
    if differing.total:
        raise ValuesNotConvertible(data_type.name, differing.total, differing.examples)
