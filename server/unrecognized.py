"""Collects the cells of imported files with unknown values."""

from __future__ import annotations

MAX_EXAMPLE = 100


class UnrecognizedCells:
    """The number of such cells, and the first one, by column."""

    def __init__(self) -> None:
        self.by_column: dict[str, tuple[int, str]] = {}

    def add(self, column: str, cell: str) -> None:
        count, example = self.by_column.get(column, (0, cell[:MAX_EXAMPLE]))
        self.by_column[column] = (count + 1, example)
