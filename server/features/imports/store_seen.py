"""Stores rows of one import by their address, in a temporary file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw
import orjson

from ...values.emails import Email
from ..subscribers.fields import NO_PROFILE, Status
from ..subscribers.rules import ConsentRecord, NewSubscriber, Validated, subscriber_of

_CREATE = "CREATE TABLE seen (email_key TEXT PRIMARY KEY, row BLOB) WITHOUT ROWID"
_FIND = "SELECT row FROM seen WHERE email_key = ?"
_ADD = "INSERT OR REPLACE INTO seen VALUES (?, ?)"


class SeenRows:
    """Rows by address. SQLite moves them from memory to a file as they grow.

    The file is deleted with this object.
    """

    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        self._connection.execute(_CREATE)

    def rows_of(self, rows: Iterable[Validated]) -> list[NewSubscriber]:
        """Returns the stored rows with the addresses of these rows."""
        addresses = {
            row.email.key: row.email for each in rows if (row := subscriber_of(each)) is not None
        }
        return [found for email in addresses.values() if (found := self.find(email)) is not None]

    def find(self, email: Email) -> NewSubscriber | None:
        text = self._connection.execute(_FIND, (email.key,)).get
        if text is None:
            return None
        status, has_status, tags, values, record = orjson.loads(text)
        return NewSubscriber(
            email,
            NO_PROFILE,  # the results of later rows do not depend on it
            Status(status),
            tags,
            values,
            ConsentRecord(*record),
            has_status=has_status,
        )

    def add(self, rows: Iterable[NewSubscriber]) -> None:
        """Stores rows, and replaces stored rows with the same addresses."""
        with self._connection:
            self._connection.executemany(_ADD, [(row.email.key, _text(row)) for row in rows])


def _text(row: NewSubscriber) -> bytes:
    state: Sequence[object] = (
        int(row.status),
        row.has_status,
        row.tags,
        dict(row.values),
        tuple(row.consent_record),
    )
    return orjson.dumps(state)
