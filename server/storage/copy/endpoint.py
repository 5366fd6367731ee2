"""Reads and writes tables in batches, as the source or the target of a copy.

A source is read in one snapshot. A target commits each batch in its own transaction, so
that after a crash it has a prefix of the table, in key order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from peewee import Database
from playhouse.postgres_ext import Psycopg3Database

from ..installation import UNFINISHED_COPY
from ..postgres.connection import remove_time_limits
from .table import Checksum, Row, Sum, Table

# Rows that are read, compared and stored at a time.
BATCH = 2_000
_MARK = f"name = '{UNFINISHED_COPY}'"


class CopyEndpoint:
    """An open database that is the source or the target of a copy."""

    begin_reading = begin_writing = ""

    def __init__(self, database: Database) -> None:
        self.database = database

    @contextmanager
    def view(self) -> Iterator[None]:
        """Runs a block in one read-only snapshot."""
        self._run(self.begin_reading)
        try:
            yield
        finally:
            self.database.rollback()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Runs a block as one durable transaction."""
        self._run(self.begin_writing)
        try:
            yield
        except BaseException:
            self.database.rollback()
            raise
        self._run("COMMIT")

    def batch(self, table: Table, after: Row | None, upto: Row | None = None) -> list[Row]:
        """Returns at most BATCH rows with keys after `after`, up to and including `upto`."""
        where, values = self._range(table, after, upto)
        columns, order = _names(table.columns), _names(table.key)
        text = f'SELECT {columns} FROM "{table.name}" WHERE {where} ORDER BY {order}'  # noqa: S608
        return self._read(table, f"{text} LIMIT {BATCH}", values)

    def rows_of(self, table: Table) -> int:
        ((count,),) = self._run(f'SELECT COUNT(*) FROM "{table.name}" WHERE {_without_mark(table)}')  # noqa: S608
        return int(count)

    def sum(self, table: Table) -> Sum:
        """Returns the row count and checksum of a table."""
        checksum, after = Checksum(), None
        while rows := self.batch(table, after):
            checksum.add(rows)
            after = table.key_of(rows[-1])
        return checksum.sum()

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Inserts rows in the current transaction."""
        raise NotImplementedError

    def clear(self, table: Table, after: Row | None) -> None:
        """Deletes all rows after a key in the current transaction."""
        where, values = self._range(table, after, None)
        self._run(f'DELETE FROM "{table.name}" WHERE {where}', values)  # noqa: S608

    def mark(self, source: str) -> None:
        """Marks this database as an unfinished copy of `source`."""
        self._run(f"DELETE FROM installation WHERE {_MARK}")  # noqa: S608
        values = (UNFINISHED_COPY, source)
        param = self.database.param
        self._run(f"INSERT INTO installation (name, value) VALUES ({param}, {param})", values)  # noqa: S608

    def unfinished_source(self) -> str | None:
        """Returns the source of an unfinished copy, or None if there is no mark."""
        rows = self._run(f"SELECT value FROM installation WHERE {_MARK}")  # noqa: S608
        return rows[0][0] if rows else None

    def analyze(self, tables: Sequence[Table]) -> None:
        """Updates the statistics of tables, outside of a transaction."""

    def finish(self) -> None:
        """Removes the mark in the current transaction: the copy is complete."""
        self._run(f"DELETE FROM installation WHERE {_MARK}")  # noqa: S608

    def _range(self, table: Table, after: Row | None, upto: Row | None) -> tuple[str, Row]:
        """Returns the condition for a key range: after `after`, up to and including `upto`."""
        places = ", ".join([self.database.param] * len(table.key))
        bounds = [(sign, key) for sign, key in ((">", after), ("<=", upto)) if key is not None]
        conditions = [f"({_names(table.key)}) {sign} ({places})" for sign, _ in bounds]
        values = tuple(value for _, key in bounds for value in key)
        return " AND ".join([_without_mark(table), *conditions]), values

    def _read(self, table: Table, text: str, values: Row) -> list[Row]:  # noqa: ARG002 - PostgreSQL uses it
        return self._run(text, values)

    def _run(self, text: str, values: Row = ()) -> list[Any]:
        cursor = self.database.execute_sql(text, values or None)
        return cursor.fetchall() if cursor.description else []


class SqliteEndpoint(CopyEndpoint):
    """A locked SQLite file."""

    begin_reading, begin_writing = "BEGIN", "BEGIN IMMEDIATE"

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        places = ", ".join("?" * len(table.columns))
        text = f'INSERT INTO "{table.name}" ({_names(table.columns)}) VALUES ({places})'  # noqa: S608
        self.database.connection().cursor().executemany(text, rows)

    def _run(self, text: str, values: Row = ()) -> list[Any]:
        return self.database.connection().execute(text, values).fetchall()  # type: ignore[no-any-return]


class PostgresEndpoint(CopyEndpoint):
    begin_reading = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
    begin_writing = "BEGIN"

    def __init__(self, database: Psycopg3Database) -> None:
        super().__init__(database)
        # A large table takes long, and each side waits for the other.
        remove_time_limits(database)

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        text = f'COPY "{table.name}" ({_names(table.columns)}) FROM STDIN'
        with self.database.connection().cursor() as cursor, cursor.copy(text) as target:
            for row in rows:
                target.write_row(_with(bool, table, row))

    def analyze(self, tables: Sequence[Table]) -> None:
        # Without statistics, PostgreSQL plans queries as if the tables were empty.
        self._run(f"ANALYZE {_names([table.name for table in tables])}")

    def _read(self, table: Table, text: str, values: Row) -> list[Row]:
        rows = super()._read(table, text, values)
        return [_with(int, table, row) for row in rows] if table.booleans else rows


def _with(kind: type, table: Table, row: Row) -> Row:
    """Converts the boolean columns of a row to `kind`."""
    if not table.booleans:
        return row
    return tuple(
        kind(value) if at in table.booleans and value is not None else value
        for at, value in enumerate(row)
    )


def _names(columns: Sequence[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _without_mark(table: Table) -> str:
    """Returns the condition that excludes the mark of an unfinished copy."""
    return f"NOT {_MARK}" if table.name == "installation" else "TRUE"
