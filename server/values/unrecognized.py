"""Counts the unknown values in each column of an imported file."""

from __future__ import annotations

from typing import NamedTuple

MAX_EXAMPLE_LENGTH = 100


class Unrecognized(NamedTuple):
    """The number of unknown values in a column, the first one, and what to do about them."""

    rows: int
    example: str
    hint: str | None


class UnrecognizedCells:
    """The cells with unknown values, by column."""

    def __init__(self) -> None:
        self.by_column: dict[str, Unrecognized] = {}

    def add(self, column: str, cell: str, hint: str | None = None) -> None:
        found = self.by_column.get(column) or Unrecognized(0, cell[:MAX_EXAMPLE_LENGTH], hint)
        self.by_column[column] = found._replace(rows=found.rows + 1)
