"""Finds the columns of files that options name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ..values.suggestions import did_you_mean
from ..values.texts import column_key
from .errors import Detail, ValidationError, invalid

Target = TypeVar("Target")

# The maximum number of columns of a file, and of characters of their names, because each column
# takes time and a line of 1 MiB can have a million.
MAX_COLUMNS = 2_000
MAX_HEADER_CHARACTERS = 256 * 1024

# Around the cells of a malformed line: the gateway keeps their quotes and replaces NUL.
AROUND_MALFORMED = '"\ufffd'

_POSITION = re.compile(r"#([1-9]\d{0,5})", re.ASCII)


def column_name(cells: Sequence[str], index: int) -> str:
    """Returns the name of a column, or its position if it has none."""
    return cells[index] if cells[index].strip() else f"#{index + 1}"


def check_header(cells: Sequence[str]) -> None:
    """Raises ValidationError if a header has too many columns, or their names are too long."""
    if len(cells) > MAX_COLUMNS:
        raise invalid("", "TOO_MANY", f"must have at most {MAX_COLUMNS:,} columns")
    if sum(map(len, cells)) > MAX_HEADER_CHARACTERS:
        names = f"must have column names of at most {MAX_HEADER_CHARACTERS:,} characters in total"
        raise invalid("", "TOO_LONG", names)


def mapped_columns(
    cells: Sequence[str],
    column_map: Sequence[str],
    target_of: Callable[[str], Target | None],
    targets: Iterable[str],
    remedy: str = "",
) -> dict[int, Target]:
    """Returns the targets of the mapped columns by index. Raises ValidationError.

    A column is named as it is written, by its column key, or by its position, such as #3. One of
    the `targets` is suggested for an unknown one, or else the `remedy`.
    """
    mapped: dict[int, Target] = {}
    faults: list[Detail] = []
    for number, entry in enumerate(column_map):
        path = f"columnMap[{number}]"
        column, equals, text = entry.rpartition("=")
        try:
            if not equals or not column:
                raise invalid(
                    path, "INVALID_FORMAT", "must be COLUMN=FIELD, such as Given Name=firstName"
                )
            indexes = columns_named(cells, column, path)
            target = target_of(text.strip())
            if target is None:
                hint = did_you_mean(text, filter(None, targets)) or remedy
                raise invalid(path, "INVALID_VALUE", f"names an unknown field: {text}{hint}")
        except ValidationError as error:
            faults += error.details
            continue
        mapped |= dict.fromkeys(indexes, target)
    if faults:
        raise ValidationError(faults)
    return mapped


def columns_named(cells: Sequence[str], column: str, path: str) -> list[int]:
    """Returns the indexes of the columns with a name or a position.

    Raises ValidationError, with the path of the option, if there is none.
    """
    key, position = column_key(column), _POSITION.fullmatch(column)
    indexes = [i for i, cell in enumerate(cells) if cell == column] or [
        i for i, cell in enumerate(cells) if column_key(cell) == key
    ]
    if not indexes and position and int(position[1]) <= len(cells):
        return [int(position[1]) - 1]
    if not indexes:
        raise invalid(path, "INVALID_VALUE", f"names a column that is missing: {column}")
    return indexes


def null_keys(tokens: Sequence[str]) -> frozenset[str]:
    """Returns the keys of null tokens: a cell whose `null_key` is one of them has no value."""
    return frozenset(null_key(token) for token in tokens)


def null_key(cell: str) -> str:
    return cell.strip().lower()
