"""Describes faults of filter expressions, and what to write instead.

People write filters as in SQL or a programming language, so their operators have messages.
"""

from __future__ import annotations

import re

from ....rpc.errors import ValidationError, invalid

# The longest name or word in a message.
_MAX_SHOWN = 40
_WORD = re.compile(r"\w{1,40}|.", re.DOTALL)
LOGICAL = ("AND", "OR", "NOT")
_PARTS = 'use name:"ada" for a part of a text, or firstName = "Ada*" for a prefix'
# What to write instead of the operators of other languages.
_WORDS = {
    "LIKE": _PARTS,
    "ILIKE": _PARTS,
    "CONTAINS": _PARTS,
    "IN": "use parentheses, such as status = (BOUNCED OR COMPLAINED)",
    "IS": "FIELD:* is true if the field has a value, and NOT FIELD:* if it has none",
    "NOT": "write it before the comparison, such as NOT status = BOUNCED",
    "BETWEEN": "use two comparisons, such as createdAt >= 2026-01-01 AND createdAt < 2026-02-01",
}
_SYMBOLS = {
    "&&": "AND",
    "||": "OR",
    "&": "AND",
    "|": "OR",
    "!": "NOT",
    ",": "AND or OR, or quote a value that contains it",
}
_EXAMPLES = {"comparison": "tags:vip", "value": "status = (BOUNCED OR COMPLAINED)"}
_QUOTE = "quote a value with spaces or punctuation"
_OPERATORS = {
    "==": "= is the operator for equality",
    "<>": "!= is the operator for inequality",
    "=<": "<= is the operator for less than or equal",
    "=>": ">= is the operator for greater than or equal",
}


def fault(code: str, message: str, column: int) -> ValidationError:
    """Returns the error for a filter, with the column of the fault."""
    return invalid("filter", code, f"{message} (column {column})")


def shown(name: str) -> str:
    """Returns the name of a field for a message, unless it would make the message too long."""
    return name if len(name) <= _MAX_SHOWN else "the field"


def unexpected(
    text: str, found: re.Match[str], expected: str, *, follows_text: bool
) -> ValidationError:
    """Returns the error for a text that is not a comparison, or not a value as an argument.

    `found` matches its part that is: a `field`, an `operator`, both or nothing. `expected` is the
    noun. `follows_text` is whether the value of a comparison without quotes precedes it.
    """
    field, operator, position = found["field"] or "", found["operator"] or "", found.end()
    rest = text[position : position + _MAX_SHOWN]
    if field.upper() in LOGICAL and not operator:
        message, position = f"operators are upper case: {field.upper()}", found.start("field")
    elif operator:
        message = _after_operator(operator, rest)
    elif field:
        message = _after_field(field, rest, follows_text=follows_text)
    else:
        message = _without_field(rest, expected, follows_text=follows_text)
    return fault("INVALID_FORMAT", message, position + 1)


def _after_operator(operator: str, rest: str) -> str:
    if operator + rest[:1] in _OPERATORS:
        return _OPERATORS[operator + rest[:1]]
    if not rest:
        return f"needs a value after {operator}"
    if rest[0] in "\"'":
        return "has a quote that is not closed"
    return f"has an unexpected {_word(rest)}; {_QUOTE}"


def _after_field(field: str, rest: str, *, follows_text: bool) -> str:
    word = _word(rest).upper()
    if word in _WORDS:
        return f"{word} is not an operator here; {_WORDS[word]}"
    alternative = f"; {_QUOTE}" if follows_text else ""
    return f"needs an operator and a value after {shown(field)}{alternative}"


def _without_field(rest: str, expected: str, *, follows_text: bool) -> str:
    word = _word(rest)
    if not word:
        return f"needs a {expected} at the end, such as {_EXAMPLES[expected]}"
    symbol = next((symbol for symbol in _SYMBOLS if rest.startswith(symbol)), "")
    if symbol and not rest.startswith("!="):
        return f"{symbol} is not an operator; use {_SYMBOLS[symbol]}"
    if word == ")" or word in LOGICAL:
        return f"needs a {expected} before {word}"
    advice = _QUOTE if follows_text else "a comparison is a field, an operator and a value"
    return f"has an unexpected {word}; {advice}"


def _word(rest: str) -> str:
    match = _WORD.match(rest)
    return match[0] if match else ""
