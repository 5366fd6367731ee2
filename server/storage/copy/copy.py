"""Copies everything that a database holds into another, of either kind.

The source is read on one view, table by table in the order of the primary key, those that
others refer to first. The target takes the schema, then batches, each durable before the
next. It carries a note that it is unfinished until all of it is verified, and is neither
served nor copied from as long as that is there.

When the same copy is begun again, each batch is compared with what the target holds of it,
and passed over where it is the same. From the first difference on, the rest of the table
is copied anew: the source may have been written to in the meantime.

At the end every table of the target is read back. Its rows have to be as many as those of
the source, and to have the same checksum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from peewee import PeeweeException

from ..database import StorageError
from ..tables import in_dependency_order
from .endpoint import CopyEndpoint
from .table import Checksum, Row, Sum, Table, described


class Copied(NamedTuple):
    """A table, what it adds up to in the source, and what it does in the target."""

    table: str
    source: Sum
    target: Sum


# Is told how many rows have been read, and how many there are.
ReportProgress = Callable[[int, int], None]


class Copy:
    """One copy from a source to a target; `name` is what the target calls the source."""

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
        """Copies, verifies and returns what every table adds up to on both sides.

        The target is finished if these agree. Raises StorageError, with the target as it
        was, if the source is not whole or the target holds other data.
        """
        tables = self._tables()
        self._claim(tables)
        sums = self._fill(tables)
        with self._target.view():
            copied = [Copied(table.name, sums[table], self._target.sum(table)) for table in tables]
        if all(each.source == each.target for each in copied):
            with self._target.transaction():
                self._target.finish(tables)
        return copied

    def _tables(self) -> list[Table]:
        """Returns the tables of both. Which columns are boolean PostgreSQL alone can tell."""
        names = in_dependency_order(self._source.database)
        sides = (self._source, self._target)
        pairs = [[described(side.database, name) for side in sides] for name in names]
        return [max(pair, key=lambda table: len(table.booleans)) for pair in pairs]

    def _claim(self, tables: list[Table]) -> None:
        """Notes in the target what it is to be a copy of. Raises StorageError."""
        original = self._source.marked()
        if original is not None:
            raise StorageError(f"{self._name} is itself an unfinished copy, of {original}.")
        with self._target.transaction():
            marked = self._target.marked()
            if marked == self._name:
                return
            if marked is not None:
                raise StorageError(
                    f"The target is an unfinished copy of {marked}. Take an empty one."
                )
            filled = [table.name for table in tables if self._target.rows_of(table)]
            if filled:
                raise StorageError(
                    f"The target holds data already, in {', '.join(filled)}. Take an empty one."
                )
            self._target.mark(self._name)

    def _fill(self, tables: list[Table]) -> dict[Table, Sum]:
        """Copies all tables on one view of the source, and returns what they add up to there."""
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
        """Deletes what the target has beyond a key; what refers to it goes with it."""
        with self._target.transaction():
            self._target.clear(table, after)

    def _insert(self, table: Table, rows: list[Row]) -> None:
        with _naming(table, rows), self._target.transaction():
            self._target.insert(table, rows)


@contextmanager
def _naming(table: Table, rows: list[Row]) -> Iterator[None]:
    """Says of rows that the target does not take which they are."""
    try:
        yield
    except StorageError:
        raise
    except Exception as error:
        first, last = (" ".join(map(str, table.key_of(row))) for row in (rows[0], rows[-1]))
        cause = error.__context__ if isinstance(error, PeeweeException) else error
        reason = " ".join(str(cause or error).split())
        raise StorageError(
            f"The target does not take rows of {table.name}, from {first} to {last}: {reason}"
        ) from error
