"""Parses filter expressions to trees of comparisons.

The grammar is that of AIP-160 without values that are searched in all fields:

    expression = sequence { "AND" sequence }
    sequence   = factor { factor }
    factor     = term { "OR" term }
    term       = [ "NOT" | "-" ] ( comparison | "(" expression ")" )
    comparison = FIELD OPERATOR ( value | "(" arguments ")" )
    value      = TEXT | STRING | NAME "(" TEXT ")"

The arguments are an expression with values in place of comparisons. Each value is compared, so that
`a = (b OR c)` is `a = b OR a = c`, and `a != (b OR c)` is `NOT a = (b OR c)`. A minus sign before a
text is a part of it there.

OR binds more tightly than AND. Expressions without an operator between them are joined by AND. A
backslash removes the special meaning of the next character in quotes.

Filters are parsed on the event loop, which all accounts share. Parsing therefore ends at the first
comparison or parenthesis above a limit.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ....rpc.errors import ValidationError
from .faults import LOGICAL, fault, unexpected
from .tree import And, Not, Or, comparisons, joined

MAX_TERMS = 50
MAX_DEPTH = 32
_FIELD = r"(?!(?:AND|OR|NOT)\b)[A-Za-z_][A-Za-z0-9_]*+(?:\.[A-Za-z0-9_]++)*+"
_OPERATOR = r"<=|>=|!=|=|<|>|:"
_STRING = r""""(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'"""
_VALUE = rf"""(?:(?P<function>[A-Za-z_]\w*+)\((?P<argument>[^()"'<>=!:,]*+)\)
    |(?P<value>[^\s()"'<>=!:,\\]++|{_STRING}))"""
_TOKEN = re.compile(
    rf"""\s*+(?:(?P<sign>(?:AND|OR|NOT)\b|[()-])
    |(?P<field>{_FIELD})\s*+(?P<operator>{_OPERATOR})\s*+(?:{_VALUE}|(?=\()))""",
    re.VERBOSE | re.DOTALL,
)
_ARGUMENT = re.compile(
    rf"""\s*+(?:(?P<sign>(?:AND|OR|NOT)\b|[()]|-(?=["'(]))|{_VALUE})""", re.VERBOSE | re.DOTALL
)
# A comparison up to the part that is missing.
_INCOMPLETE = re.compile(rf"\s*+(?:(?P<field>{_FIELD})\s*+(?:(?P<operator>{_OPERATOR})\s*+)?+)?+")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TYPOGRAPHIC = frozenset("“”„‘’‚«»")
# An asterisk that is not escaped.
_WILDCARD = re.compile(r"(?<!\\)(?:\\\\)*+\*")


class Comparison(NamedTuple):
    """A comparison of a field with a value. Columns are characters from 1.

    `is_prefix` is whether the value ends with an asterisk, which it then does not contain.
    `value_length` is the length of the value in the text, with quotes if `is_quoted`. If the value
    is the call of a `function`, it contains the argument.
    """

    field: str
    operator: str
    value: str
    is_prefix: bool
    column: int
    value_column: int
    value_length: int
    is_quoted: bool
    function: str = ""


def parse(text: str) -> Comparison | Not | And | Or:
    """Returns the tree of a filter. Raises ValidationError for `filter` with the column."""
    parser = _Parser(text)
    tree = parser.expression(0)
    if not parser.is_at_end:
        # Only a closing parenthesis ends an expression before the end of the text.
        column = parser.column
        raise fault("INVALID_FORMAT", "has a closing parenthesis that is not opened", column)
    return tree  # type: ignore[no-any-return]


def check_quotes(text: str) -> None:
    """Raises ValidationError if a value in a new filter begins with a typographic quote.

    Word processors write them in place of straight ones. Stored filters can have such values.
    """
    if _TYPOGRAPHIC.isdisjoint(text):
        return
    for each in comparisons(parse(text)):
        if not each.is_quoted and each.value[:1] in _TYPOGRAPHIC:
            message = "has a typographic quote; use a straight one"
            raise fault("INVALID_FORMAT", message, each.value_column)


class _Parser:
    """Reads a text with one token of lookahead, which is None at the end and for other texts."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._end = 0
        self._terms = 0
        self._follows_text = False
        # The comparison whose arguments are read.
        self._compared: re.Match[str] | None = None
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
        expected = "value" if self._compared else "comparison"
        return unexpected(self._text, found, expected, follows_text=self._follows_text)

    def _advance(self) -> None:
        self._start = self._end
        tokens = _ARGUMENT if self._compared else _TOKEN
        self._token = token = tokens.match(self._text, self._start)
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
        return _negated(self._simple(depth)) if self._takes("NOT", "-") else self._simple(depth)

    def _simple(self, depth: int) -> Any:
        token = self._token
        if token is None or self._sign not in (None, "("):
            raise self._unexpected()
        if self._sign is None:
            is_value = self._compared or token["value"] or token["function"]
            return self._comparison(token) if is_value else self._arguments(token, depth)
        if depth == MAX_DEPTH:
            message = f"must have at most {MAX_DEPTH} levels of parentheses"
            raise fault("TOO_MANY", message, self._end)
        self._takes("(")
        expression = self.expression(depth + 1)
        if not self._takes(")"):
            raise fault("INVALID_FORMAT", "needs a closing parenthesis", self.column)
        return expression

    def _arguments(self, token: re.Match[str], depth: int) -> Any:
        self._compared = token
        self._advance()
        expression = self._simple(depth)
        # The next token was read as an argument.
        self._compared, self._end = None, self._start
        self._advance()
        return _negated(expression) if token["operator"] == "!=" else expression

    def _comparison(self, token: re.Match[str]) -> Comparison:
        self._terms += 1
        if self._terms > MAX_TERMS:
            raise fault("TOO_MANY", f"must have at most {MAX_TERMS} comparisons", self.column)
        head = self._compared or token
        is_equal = self._compared and head["operator"] == "!="
        operator = "=" if is_equal else head["operator"]
        compared = _value(token, head["field"], operator, head.start("field") + 1)
        if self._compared and not compared.is_quoted and compared.value.upper() in LOGICAL:
            message = f"operators are upper case: {compared.value.upper()}"
            raise fault("INVALID_FORMAT", message, compared.value_column)
        self._advance()
        self._follows_text = not compared.is_quoted
        return compared


def _value(token: re.Match[str], field: str, operator: str, start: int) -> Comparison:
    """Returns a comparison with the value in a token."""
    if token["function"]:
        name, column = token["function"], token.start("function") + 1
        argument, length = token["argument"].strip(), token.end() + 1 - column
        return Comparison(field, operator, argument, False, start, column, length, False, name)
    value, column = token["value"], token.start("value") + 1
    is_quoted = value[0] in "\"'"
    text = value[1:-1] if is_quoted else value
    wildcard = _WILDCARD.search(text)
    if wildcard is not None and wildcard.end() < len(text):
        message = "can contain * only at the end of a value; \\* is an asterisk"
        raise fault("INVALID_FORMAT", message, column)
    is_prefix = wildcard is not None
    plain = _ESCAPED.sub(r"\1", text[:-1] if is_prefix else text)
    return Comparison(field, operator, plain, is_prefix, start, column, len(value), is_quoted)


def _negated(condition: Any) -> Any:
    return condition.condition if isinstance(condition, Not) else Not(condition)
