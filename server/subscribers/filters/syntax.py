"""Parses filter expressions to trees of comparisons.

The grammar is that of AIP-160 without functions, and without values that are searched in all
fields. OR binds more tightly than AND. Expressions without an operator between them are joined by
AND. A backslash removes the special meaning of the next character in quotes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedToken, v_args

from ...errors import ValidationError
from .tree import And, Comparison, Not, Or, comparisons, fault, joined

MAX_TERMS = 50
_GRAMMAR = r"""
    start: expression
    expression: sequence ("AND" sequence)*
    sequence: factor+
    factor: term ("OR" term)*
    ?term: ("NOT" | "-") simple -> negation
         | simple
    ?simple: FIELD OPERATOR (TEXT | STRING) -> comparison
           | "(" expression ")"

    OPERATOR: "<=" | ">=" | "!=" | "=" | "<" | ">" | ":"
    FIELD: /(?!(AND|OR|NOT)\b)[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*/
    TEXT: /[^\s()"'<>=!:,\\]+/
    STRING: /"([^"\\]|\\.)*"|'([^'\\]|\\.)*'/s
    WHITESPACE: /\s+/
    %ignore WHITESPACE
"""
_WORD = re.compile(r"\w{1,40}|.", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# An asterisk that is not escaped.
_WILDCARD = re.compile(r"(?<!\\)(?:\\\\)*+\*")


def parse(text: str) -> Comparison | Not | And | Or:
    """Returns the tree of a filter. Raises ValidationError for `filter` with the column."""
    try:
        tree: Any = _parser().parse(text)
    except UnexpectedToken as error:
        position = len(text) if error.token.type == "$END" else error.token.start_pos or 0
        raise _unexpected(text, position) from None
    except UnexpectedCharacters as error:
        raise _unexpected(text, error.pos_in_stream or 0) from None
    all_comparisons = list(comparisons(tree))
    if len(all_comparisons) > MAX_TERMS:
        column = all_comparisons[MAX_TERMS].column
        raise fault("TOO_MANY", f"must have at most {MAX_TERMS} comparisons", column)
    return tree  # type: ignore[no-any-return]


def _unexpected(text: str, position: int) -> ValidationError:
    word = _WORD.match(text, position)
    message = f"has an unexpected {word[0]}" if word else "is incomplete"
    return fault("INVALID_FORMAT", message, position + 1)


@v_args(inline=True)
class _Tree(Transformer[Token, Any]):
    """Builds the tree while the parser reads, so that its depth does not limit the input."""

    def start(self, expression: Any) -> Any:
        return expression

    def expression(self, *conditions: Any) -> Any:
        return joined(And, conditions)

    def sequence(self, *conditions: Any) -> Any:
        return joined(And, conditions)

    def factor(self, *conditions: Any) -> Any:
        return joined(Or, conditions)

    def negation(self, condition: Any) -> Any:
        return condition.condition if isinstance(condition, Not) else Not(condition)

    def comparison(self, field: Token, operator: Token, value: Token) -> Comparison:
        column = (value.start_pos or 0) + 1
        is_quoted = value.type == "STRING"
        text = value.value[1:-1] if is_quoted else value.value
        wildcard = _WILDCARD.search(text)
        if wildcard is not None and wildcard.end() < len(text):
            message = "can contain * only at the end of a value; \\* is an asterisk"
            raise fault("INVALID_FORMAT", message, column)
        is_prefix = wildcard is not None
        plain = _ESCAPED.sub(r"\1", text[:-1] if is_prefix else text)
        start = (field.start_pos or 0) + 1
        return Comparison(
            field.value,
            operator.value,
            plain,
            is_prefix,
            start,
            column,
            len(value.value),
            is_quoted,
        )


@cache
def _parser() -> Lark:
    """Returns the parser, which takes some milliseconds to build."""
    return Lark(_GRAMMAR, parser="lalr", transformer=_Tree(), maybe_placeholders=False)
