"""What a database says of the installation that it belongs to."""

from __future__ import annotations

from peewee import Model, TextField

from .statements import Statement, param
from .transaction import Transaction


class Installation(Model):
    """A fact by its name."""

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
_SECRET_KEY = "secret_key_fingerprint"  # noqa: S105 - the name of the fact
# There while the database is being filled with what another one holds: of which.
UNFINISHED_COPY = "unfinished_copy_of"


def key_fingerprint(tx: Transaction) -> str | None:
    """Returns the fingerprint of the secret key that the database was written with, or None."""
    row = tx.one(_FIND, name=_SECRET_KEY)
    return row[0] if row else None


def save_key_fingerprint(fingerprint: str, tx: Transaction) -> None:
    """Notes the fingerprint of the secret key, the first time; it stays for good."""
    tx.run(_INSERT, name=_SECRET_KEY, value=fingerprint)


def unfinished_copy_of(tx: Transaction) -> str | None:
    """Returns which database this one is to be a copy of and is not yet, or None if it is whole."""
    row = tx.one(_FIND, name=UNFINISHED_COPY)
    return row[0] if row else None
