"""Counts the unknown values in each column of an imported file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

MAX_EXAMPLE_LENGTH = 100
_MAX_EXAMPLES = 3
# As many as a file of CSV can have. JSON rows can each have others.
_MAX_COLUMNS = 2_000


class Unrecognized(NamedTuple):
    """The number of unknown values in a column, the first ones, and what to do about them."""

    rows: int
    example: str
    hint: str | None
    examples: Sequence[str]


class UnrecognizedCells:
    """The cells with unknown values, by column."""

    def __init__(self) -> None:
        self.by_column: dict[str, Unrecognized] = {}

    def add(self, column: str, cell: str, hint: str | None = None) -> None:
        if column not in self.by_column and len(self.by_column) >= _MAX_COLUMNS:
            return
        example = cell[:MAX_EXAMPLE_LENGTH]
        found = self.by_column.get(column) or Unrecognized(0, example, hint, ())
        self.by_column[column] = found._replace(
            rows=found.rows + 1,
            hint=found.hint or hint,
            examples=first_examples(found.examples, (example,)),
        )


def first_examples(known: Sequence[str], more: Iterable[str]) -> Sequence[str]:
    """Returns known examples and more of them, as many as are returned."""
    if len(known) >= _MAX_EXAMPLES:
        return known
    return [*dict.fromkeys((*known, *more))][:_MAX_EXAMPLES]
