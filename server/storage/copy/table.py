"""A table as it is copied: its rows in the order of its key, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
from peewee import Database

# A row in the form that is the same on both databases: booleans as 0 and 1.
Row = tuple[Any, ...]


class Table(NamedTuple):
    """A table: its columns, those of its key, and which columns are boolean, by number."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    booleans: tuple[int, ...]

    def key_of(self, row: Row) -> Row:
        """Returns where a row is in the order of the key."""
        return tuple(row[self.columns.index(column)] for column in self.key)


class Sum(NamedTuple):
    """How many rows there are, and the SHA-256 of all of them in order."""

    rows: int
    checksum: str


class Checksum:
    """Adds rows up, in order of the key; it does not matter how many come at a time."""

    def __init__(self) -> None:
        self._rows = 0
        self._hash = sha256()

    def add(self, rows: Sequence[Row]) -> None:
        self._rows += len(rows)
        self._hash.update(b"".join([orjson.dumps(row, default=bytes.hex) + b"\n" for row in rows]))

    def sum(self) -> Sum:
        return Sum(self._rows, self._hash.hexdigest())


def described(database: Database, name: str) -> Table:
    """Returns what a database says of one of its tables."""
    columns = database.get_columns(name)
    booleans = [at for at, column in enumerate(columns) if column.data_type.lower() == "boolean"]
    names = tuple(column.name for column in columns)
    return Table(name, names, tuple(database.get_primary_keys(name)), tuple(booleans))
