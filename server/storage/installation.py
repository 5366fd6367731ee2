"""Stores facts about the installation: the secret key's fingerprint, an unfinished copy."""

from __future__ import annotations

from peewee import Model, TextField

from .statements import Statement, param
from .transaction import Transaction


class Installation(Model):
    """A fact about the installation, by name."""

    name = TextField(primary_key=True)
    value = TextField()

    class Meta:
        table_name = "installation"
        without_rowid = True


_FIND = Statement(
    lambda _: Installation.select(Installation.value).where(Installation.name == param("name"))
)
_INSERT = Statement(
    lambda _: Installation.insert(
        {Installation.name: param("name"), Installation.value: param("value")}
    ).on_conflict_ignore()
)
SECRET_KEY = "secret_key_fingerprint"  # noqa: S105 - the name of the fact
# Names the source while the database is an unfinished copy.
UNFINISHED_COPY = "unfinished_copy_of"


def key_fingerprint(tx: Transaction) -> str | None:
    """Returns the fingerprint of the secret key that encrypts the database, or None."""
    row = tx.one(_FIND, name=SECRET_KEY)
    return row[0] if row else None


def save_key_fingerprint(fingerprint: str, tx: Transaction) -> None:
    """Stores the fingerprint of the secret key, unless one is stored."""
    tx.run(_INSERT, name=SECRET_KEY, value=fingerprint)


def unfinished_copy_of(tx: Transaction) -> str | None:
    """Returns the source if the database is an unfinished copy, or None if it is complete."""
    row = tx.one(_FIND, name=UNFINISHED_COPY)
    return row[0] if row else None
