"""The tree of a filter expression."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import ValidationError, invalid


class Comparison(NamedTuple):
    """A comparison of a field with a value. Columns are characters from 1.

    `is_prefix` is whether the value ends with an asterisk, which it then does not contain.
    `value_length` is the length of the value in the text, with quotes.
    """

    field: str
    operator: str
    value: str
    is_prefix: bool
    column: int
    value_column: int
    value_length: int


@dataclass(frozen=True, slots=True)
class Not:
    """A negated condition. Unlike tuples, conditions of different classes are not equal."""

    condition: Any


@dataclass(frozen=True, slots=True)
class And:
    """Conditions of which all must be true."""

    conditions: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Conditions of which one must be true."""

    conditions: tuple[Any, ...]


def joined(kind: type[And | Or], conditions: Sequence[Any]) -> Any:
    """Returns one condition, or all of them without nesting."""
    if len(conditions) == 1:
        return conditions[0]
    flat: list[Any] = []
    for condition in conditions:
        flat.extend(condition.conditions if isinstance(condition, kind) else [condition])
    return kind(tuple(flat))


def comparisons(tree: Comparison | Not | And | Or) -> Iterator[Comparison]:
    """Yields the comparisons of a tree in their order."""
    if isinstance(tree, Comparison):
        yield tree
    elif isinstance(tree, Not):
        yield from comparisons(tree.condition)
    else:
        for condition in tree.conditions:
            yield from comparisons(condition)


def fault(code: str, message: str, column: int) -> ValidationError:
    """Returns the error for a filter, with the column of the fault."""
    return invalid("filter", code, f"{message} (column {column})")
