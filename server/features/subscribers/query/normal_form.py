"""Writes parsed filters in one form: `a = "b" AND (c > 1 OR NOT tags:"d")`.

An OR is in parentheses, which a reader who expects AND to bind more tightly needs. Texts have
double quotes if they had quotes, and values in parentheses are a comparison each.
"""

from __future__ import annotations

from typing import Any

from ....rpc.errors import ValidationError
from .syntax import Comparison, parse
from .tree import And, Not, Or


def normal_form(tree: Any) -> str:
    """Returns the filter of a tree, which `parse` returns the same tree for, apart from columns."""
    text = _text(tree, is_explicit=True)
    try:
        parse(text)
    except ValidationError:
        # It has too many levels of parentheses. Without those of an OR, it has at most as many as
        # the filter that was parsed.
        return _text(tree, is_explicit=False)
    return text


def quoted(text: str) -> str:
    """Returns a text as a string of a filter."""
    for special in ("\\", '"', "*"):
        text = text.replace(special, f"\\{special}")
    return f'"{text}"'


def _text(tree: Any, *, is_explicit: bool) -> str:
    if isinstance(tree, Not):
        text = _text(tree.condition, is_explicit=is_explicit)
        has_parentheses = isinstance(tree.condition, Or) and is_explicit
        is_simple = has_parentheses or isinstance(tree.condition, Comparison)
        return f"NOT {text}" if is_simple else f"NOT ({text})"
    if isinstance(tree, And):
        return " AND ".join(_text(each, is_explicit=is_explicit) for each in tree.conditions)
    if isinstance(tree, Or):
        texts = [_text(each, is_explicit=is_explicit) for each in tree.conditions]
        parts = [
            f"({text})" if isinstance(each, And) else text
            for each, text in zip(tree.conditions, texts, strict=True)
        ]
        text = " OR ".join(parts)
        return f"({text})" if is_explicit else text
    return _comparison(tree)


def _comparison(comparison: Comparison) -> str:
    value, operator = comparison.value, comparison.operator
    if comparison.function:
        value = f"{comparison.function}({value})"
    else:
        end = "*" if comparison.is_prefix else ""
        value = f'{quoted(value)[:-1]}{end}"' if comparison.is_quoted else f"{value}{end}"
    space = "" if operator == ":" else " "
    return f"{comparison.field}{space}{operator}{space}{value}"
