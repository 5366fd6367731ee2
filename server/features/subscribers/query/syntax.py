"""Parses filter expressions to trees of comparisons.

The grammar is that of AIP-160 without functions, and without values that are searched in all
fields:

    expression = sequence { "AND" sequence }
    sequence   = factor { factor }
    factor     = term { "OR" term }
    term       = [ "NOT" | "-" ] ( comparison | "(" expression ")" )
    comparison = FIELD OPERATOR ( TEXT | STRING )

OR binds more tightly than AND. Expressions without an operator between them are joined by AND. A
backslash removes the special meaning of the next character in quotes.

Filters are parsed on the event loop, which all accounts share. Parsing therefore ends at the first
comparison or parenthesis above a limit.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ....rpc.errors import ValidationError
from .faults import fault, unexpected
from .tree import And, Not, Or, joined

MAX_TERMS = 50
MAX_DEPTH = 32
_FIELD = r"(?!(?:AND|OR|NOT)\b)[A-Za-z_][A-Za-z0-9_]*+(?:\.[A-Za-z0-9_]++)*+"
_OPERATOR = r"<=|>=|!=|=|<|>|:"
_STRING = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'"""
_TOKEN = re.compile(
    rf"""\s*+(?:(?P<sign>(?:AND|OR|NOT)\b|[()-])
    |(?P<comparison>({_FIELD})\s*+({_OPERATOR})\s*+([^\s()"'<>=!:,\\]++|{_STRING})))""",
    re.VERBOSE | re.DOTALL,
)
# A comparison up to the part that is missing.
_INCOMPLETE = re.compile(rf"\s*+(?:(?P<field>{_FIELD})\s*+(?:(?P<operator>{_OPERATOR})\s*+)?+)?+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
# An asterisk that is not escaped.
_WILDCARD = re.compile(r"(?<!\\)(?:\\\\)*+\*")


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


def parse(text: str) -> Comparison | Not | And | Or:
    """Returns the tree of a filter. Raises ValidationError for `filter` with the column."""
    parser = _Parser(text)
    tree = parser.expression(0)
    if not parser.is_at_end:
        # Only a closing parenthesis ends an expression before the end of the text.
        column = parser.column
        raise fault("INVALID_FORMAT", "has a closing parenthesis that is not opened", column)
    return tree  # type: ignore[no-any-return]


class _Parser:
    """Reads a text with one token of lookahead, which is None at the end and for other texts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self._terms = 0
        self._follows_text = False
        self._advance()

    @property
    def is_at_end(self) -> bool:
        return self._token is None and not self._text[self._start :].strip()

    @property
    def column(self) -> int:
        """The column of the token."""
        return len(self._text) - len(self._text[self._start :].lstrip()) + 1

    def expression(self, depth: int) -> Any:
        sequences = [self._sequence(depth)]
        while self._takes("AND"):
            sequences.append(self._sequence(depth))
        return joined(And, sequences)

    def _unexpected(self) -> ValidationError:
        found = _INCOMPLETE.match(self._text, self._start)
        assert found is not None
        return unexpected(self._text, found, follows_text=self._follows_text)

    def _advance(self) -> None:
        self._start = self._end
        self._token = token = _TOKEN.match(self._text, self._start)
        self._sign = token["sign"] if token else None
        self._end = token.end() if token else self._start

    def _takes(self, *signs: str) -> bool:
        if self._sign not in signs:
            return False
        self._advance()
        self._follows_text = False
        return True

    def _sequence(self, depth: int) -> Any:
        factors = [self._factor(depth)]
        while self._sign not in ("AND", ")") and not self.is_at_end:
            factors.append(self._factor(depth))
        return joined(And, factors)

    def _factor(self, depth: int) -> Any:
        terms = [self._term(depth)]
        while self._takes("OR"):
            terms.append(self._term(depth))
        return joined(Or, terms)

    def _term(self, depth: int) -> Any:
        if self._takes("NOT", "-"):
            simple = self._simple(depth)
            return simple.condition if isinstance(simple, Not) else Not(simple)
        return self._simple(depth)

    def _simple(self, depth: int) -> Any:
        if self._sign is None and self._token is not None:
            return self._comparison(self._token)
        if self._sign != "(":
            raise self._unexpected()
        if depth == MAX_DEPTH:
            message = f"must have at most {MAX_DEPTH} levels of parentheses"
            raise fault("TOO_MANY", message, self._end)
        self._takes("(")
        expression = self.expression(depth + 1)
        if not self._takes(")"):
            raise fault("INVALID_FORMAT", "needs a closing parenthesis", self.column)
        return expression

    def _comparison(self, token: re.Match[str]) -> Comparison:
        field, operator, value = token.group(3, 4, 5)
        start, column = token.start(3) + 1, token.start(5) + 1
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise fault("TOO_MANY", f"must have at most {MAX_TERMS} comparisons", start)
        is_quoted = value[0] in "\"'"
        text = value[1:-1] if is_quoted else value
        wildcard = _WILDCARD.search(text)
        if wildcard is not None and wildcard.end() < len(text):
            message = "can contain * only at the end of a value; \\* is an asterisk"
            raise fault("INVALID_FORMAT", message, column)
        is_prefix = wildcard is not None
        plain = _ESCAPED.sub(r"\1", text[:-1] if is_prefix else text)
        self._advance()
        self._follows_text = not is_quoted
        return Comparison(field, operator, plain, is_prefix, start, column, len(value), is_quoted)
