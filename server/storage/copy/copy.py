"""Copies all tables of a database but those of files and exports into another one.

The source is read in one snapshot, table by table in primary key order, referenced tables
first. The target is migrated and then filled in batches, one transaction each. A mark in
its `installation` table says that the copy is unfinished. Servers and further copies reject
a database with this mark. It is removed after verification.

A repeated copy compares each batch with the target's rows and skips equal batches. After
the first difference it copies the rest of the table again, because the source may have
changed in the meantime.

Verification reads every table of the target again and compares row counts and checksums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from peewee import PeeweeException

from ..database import StorageError
from ..migrate import FILE_TABLES, tables_in_dependency_order
from .endpoint import CopyEndpoint
from .table import Checksum, Row, Sum, Table, described


class Copied(NamedTuple):
    """A copied table, and its row count and checksum on both sides."""

    table: str
    source: Sum
    target: Sum


# Receives the number of rows read so far and the total.
ReportProgress = Callable[[int, int], None]


class Copy:
    """Copies a source to a target; the target's mark records `name` as its source."""

    def __init__(
        self, source: CopyEndpoint, target: CopyEndpoint, name: str, report_progress: ReportProgress
    ) -> None:
        self._source, self._target, self._name, self._report_progress = (
            source,
            target,
            name,
            report_progress,
        )
        self._rows = self._total = 0

    def run(self) -> list[Copied]:
        """Copies and verifies all tables, and returns their checksums on both sides.

        Marks the target as finished if all of them match. Raises StorageError and leaves the
        target unchanged if the source is an unfinished copy or the target has other data.
        """
        tables = self._tables()
        self._claim(tables)
        sums = self._fill(tables)
        with self._target.view():
            copied = [Copied(table.name, sums[table], self._target.sum(table)) for table in tables]
        if all(item.source == item.target for item in copied):
            # Citus rejects ANALYZE in a transaction that has changed a reference table.
            self._target.analyze(tables)
            with self._target.transaction():
                self._target.finish()
        return copied

    def _tables(self) -> list[Table]:
        """Returns the tables to copy. Only PostgreSQL reports which columns are boolean."""
        tables = tables_in_dependency_order(self._source.database)
        names = [name for name in tables if name not in FILE_TABLES]
        sides = (self._source, self._target)
        pairs = [[described(side.database, name) for side in sides] for name in names]
        return [max(pair, key=lambda table: len(table.booleans)) for pair in pairs]

    def _claim(self, tables: list[Table]) -> None:
        """Marks the target as an unfinished copy of the source. Raises StorageError."""
        original = self._source.unfinished_source()
        if original is not None:
            raise StorageError(
                f"{self._name} is an unfinished copy of {original}. Finish that copy first."
            )
        with self._target.transaction():
            original = self._target.unfinished_source()
            if original == self._name:
                return
            if original is not None:
                raise StorageError(
                    f"The target is an unfinished copy of {original}. Use an empty database."
                )
            filled = [table.name for table in tables if self._target.rows_of(table)]
            if filled:
                raise StorageError(
                    f"The target has data in {', '.join(filled)}. Use an empty database."
                )
            self._target.mark(self._name)

    def _fill(self, tables: list[Table]) -> dict[Table, Sum]:
        """Copies all tables in one snapshot of the source, and returns their checksums there."""
        with self._source.view():
            self._total = sum(self._source.rows_of(table) for table in tables)
            return {table: self._fill_table(table) for table in tables}

    def _fill_table(self, table: Table) -> Sum:
        checksum, after, same = Checksum(), None, True
        while rows := self._source.batch(table, after):
            last = table.key_of(rows[-1])
            if same and self._target.batch(table, after, last) != rows:
                self._clear(table, after)
                same = False
            if not same:
                self._insert(table, rows)
            checksum.add(rows)
            after = last
            self._rows += len(rows)
            self._report_progress(self._rows, self._total)
        if same:
            self._clear(table, after)
        return checksum.sum()

    def _clear(self, table: Table, after: Row | None) -> None:
        """Deletes the target's rows after a key, and by cascade the rows that reference them."""
        with self._target.transaction():
            self._target.clear(table, after)

    def _insert(self, table: Table, rows: list[Row]) -> None:
        with _naming(table, rows), self._target.transaction():
            self._target.insert(table, rows)


@contextmanager
def _naming(table: Table, rows: list[Row]) -> Iterator[None]:
    """Adds the table and key range to an error of the target."""
    try:
        yield
    except StorageError:
        raise
    except Exception as error:
        first, last = (" ".join(map(str, table.key_of(row))) for row in (rows[0], rows[-1]))
        cause = error.__context__ if isinstance(error, PeeweeException) else error
        reason = " ".join(str(cause or error).split())
        raise StorageError(
            f"The target rejected rows of {table.name}, from {first} to {last}: {reason}"
        ) from error
