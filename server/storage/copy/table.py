"""Describes the tables of a copy, and computes their checksums."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import orjson
from peewee import Database

# A row in a form that is equal on both databases: booleans are 0 and 1.
Row = tuple[Any, ...]


class Table(NamedTuple):
    """A table; `key` is its primary key, `booleans` the indexes of its boolean columns."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    booleans: tuple[int, ...]

    def key_of(self, row: Row) -> Row:
        return tuple(row[self.columns.index(column)] for column in self.key)


class Sum(NamedTuple):
    """A row count, and the SHA-256 of all rows in key order."""

    rows: int
    checksum: str


class Checksum:
    """Computes a Sum of rows, added in key order; batch sizes make no difference."""

    def __init__(self) -> None:
        self._rows = 0
        self._hash = sha256()

    def add(self, rows: Sequence[Row]) -> None:
        self._rows += len(rows)
        self._hash.update(b"".join([orjson.dumps(row, default=bytes.hex) + b"\n" for row in rows]))

    def sum(self) -> Sum:
        return Sum(self._rows, self._hash.hexdigest())


def described(database: Database, name: str) -> Table:
    columns = database.get_columns(name)
    booleans = [at for at, column in enumerate(columns) if column.data_type.lower() == "boolean"]
    names = tuple(column.name for column in columns)
    return Table(name, names, tuple(database.get_primary_keys(name)), tuple(booleans))
