"""Stores the addresses that a dry run would have created, in a temporary file."""

from __future__ import annotations

from collections.abc import Iterable

import apsw

from ..fields import Status

_CREATE = "CREATE TABLE seen (email_key TEXT PRIMARY KEY, status INTEGER) WITHOUT ROWID"
_FIND = "SELECT status FROM seen WHERE email_key = ?"
_ADD = "INSERT OR REPLACE INTO seen VALUES (?, ?)"


class SeenAddresses:
    """The statuses of addresses. SQLite moves them from memory to a file as they grow.

    The file is deleted with this object.
    """

    def __init__(self) -> None:
        self._connection = apsw.Connection("")
        self._connection.execute(_CREATE)

    def status(self, email_key: str) -> Status | None:
        """Returns the status of an address, or None if it was not added."""
        status = self._connection.execute(_FIND, (email_key,)).get
        return None if status is None else Status(status)

    def add(self, statuses: Iterable[tuple[str, Status]]) -> None:
        with self._connection:
            self._connection.executemany(_ADD, [(key, int(status)) for key, status in statuses])
