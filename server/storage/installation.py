"""Stores facts about the installation: its data keys, an unfinished copy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from peewee import BigIntegerField, BlobField, Model, SmallIntegerField, TextField

from .statements import Statement, param
from .transaction import Transaction


class Installation(Model):
    """A fact about the installation, by name."""

    name = TextField(primary_key=True)
    value = TextField()

    class Meta:
        table_name = "installation"
        without_rowid = True


class DataKeys(Model):
    """The data keys, encrypted with the secret key that has this fingerprint."""

    fingerprint = TextField(primary_key=True)
    encrypted = BlobField()
    link_key = SmallIntegerField()
    created_at = BigIntegerField()

    class Meta:
        table_name = "data_keys"
        without_rowid = True


class StoredKeys(NamedTuple):
    """The data keys, encrypted with the secret key that has a fingerprint.

    `link_key` is the number of the key of new links. `encrypted` is empty if the secret key itself
    is the data key, as in databases of releases without data keys. `created_at` is in milliseconds.
    """

    fingerprint: str
    encrypted: bytes = b""
    link_key: int = 0
    created_at: int = 0


_FIND = Statement(
    lambda _: Installation.select(Installation.value).where(Installation.name == param("name"))
)
_INSERT = Statement(
    lambda _: Installation.insert(
        {Installation.name: param("name"), Installation.value: param("value")}
    ).on_conflict_ignore()
)
_UPDATE = Statement(
    lambda _: Installation.update({Installation.value: param("value")}).where(
        Installation.name == param("name")
    )
)
_LOCK = Statement(
    lambda _: Installation.update({Installation.value: Installation.value}).where(
        Installation.name == param("name")
    )
)
_COLUMNS = (DataKeys.fingerprint, DataKeys.encrypted, DataKeys.link_key, DataKeys.created_at)
_ALL_KEYS = Statement(lambda _: DataKeys.select(*_COLUMNS).order_by(DataKeys.created_at.desc()))
_INSERT_KEYS = Statement(
    lambda _: DataKeys.insert({column: param(column.name) for column in _COLUMNS})
)
_DELETE_KEYS = Statement(lambda _: DataKeys.delete())
SECRET_KEY = "secret_key_fingerprint"  # noqa: S105 - the name of the fact
# The value of this fact if there are data keys. Releases without data keys compare it with the
# fingerprint of their secret key, and therefore do not start.
IN_TABLE = DataKeys._meta.table_name
# Names the source while the database is an unfinished copy.
UNFINISHED_COPY = "unfinished_copy_of"


def stored_keys(tx: Transaction) -> list[StoredKeys]:
    """Returns the data keys for each secret key that opens the database, the newest first.

    The list is empty if the database was never served.
    """
    row = tx.one(_FIND, name=SECRET_KEY)
    if row is None or row[0] != IN_TABLE:
        return [StoredKeys(row[0])] if row else []
    return [StoredKeys(row[0], bytes(row[1]), *row[2:]) for row in tx.all(_ALL_KEYS)]


def save_keys(keys: StoredKeys, tx: Transaction) -> None:
    """Stores the data keys of a new database, unless others are stored."""
    if tx.run(_INSERT, name=SECRET_KEY, value=IN_TABLE):
        tx.run(_INSERT_KEYS, **keys._asdict())


def lock_keys(tx: Transaction) -> None:
    """Waits for other changes of the stored keys, and excludes them until the transaction ends."""
    tx.run(_LOCK, name=SECRET_KEY)


def replace_keys(keys: Iterable[StoredKeys], tx: Transaction) -> None:
    """Replaces the stored keys by others."""
    tx.run(_UPDATE, name=SECRET_KEY, value=IN_TABLE)
    tx.run(_DELETE_KEYS)
    for each in keys:
        tx.run(_INSERT_KEYS, **each._asdict())


def unfinished_copy_of(tx: Transaction) -> str | None:
    """Returns the source if the database is an unfinished copy, or None if it is complete."""
    row = tx.one(_FIND, name=UNFINISHED_COPY)
    return row[0] if row else None
