"""The tree of a filter expression."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ....rpc.errors import ValidationError, invalid


class Comparison(NamedTuple):
    """A comparison of a field with a value. Columns are characters from 1.

    `is_prefix` is whether the value ends with an asterisk, which it then does not contain.
    `value_length` is the length of the value in the text, with quotes if `is_quoted`.
    """

    field: str
    operator: str
    value: str
    is_prefix: bool
    column: int
    value_column: int
    value_length: int
    is_quoted: bool


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


def comparisons(tree: Any) -> Iterator[Any]:
    """Yields the comparisons of a tree in their order, or its conditions after a conversion."""
    if isinstance(tree, Not):
        yield from comparisons(tree.condition)
    elif isinstance(tree, (And, Or)):
        for condition in tree.conditions:
            yield from comparisons(condition)
    else:
        yield tree


def mapped(tree: Any, convert: Callable[[Any], Any]) -> Any:
    """Returns the tree with each comparison replaced by what `convert` returns for it."""
    if isinstance(tree, Not):
        return Not(mapped(tree.condition, convert))
    if isinstance(tree, (And, Or)):
        return type(tree)(tuple(mapped(condition, convert) for condition in tree.conditions))
    return convert(tree)


def is_true(tree: Any, is_met: Callable[[Any], bool]) -> bool:
    """Evaluates a tree, given a function that evaluates a comparison."""
    if isinstance(tree, Not):
        return not is_true(tree.condition, is_met)
    if isinstance(tree, And):
        return all(is_true(condition, is_met) for condition in tree.conditions)
    if isinstance(tree, Or):
        return any(is_true(condition, is_met) for condition in tree.conditions)
    return is_met(tree)


def fault(code: str, message: str, column: int) -> ValidationError:
    """Returns the error for a filter, with the column of the fault."""
    return invalid("filter", code, f"{message} (column {column})")
