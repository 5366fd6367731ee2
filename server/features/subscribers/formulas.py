"""Escapes CSV cells that a spreadsheet would run as a formula or an import would ignore.

A spreadsheet runs a cell that begins with a character such as `=` as a formula, and an import
reads a blank cell as no value. Such text is written after an apostrophe, which marks text in
spreadsheets. An import removes the apostrophe. Text that already starts with apostrophes gets
one more, so that every text is read back exactly. An empty text is a single apostrophe. Without
the protection from formulas, only blank text and what an import would change is escaped.

An address with an apostrophe would be another valid address, so it is in angle brackets instead.
"""

from __future__ import annotations

import re

# The start of a formula, after any spaces, or a blank cell.
_ESCAPED = r"(?:[\t\r\n]|\s*+(?:[=+\-@]|\Z))"
_TO_ESCAPE = re.compile(rf"'*+{_ESCAPED}")
_TO_UNESCAPE = re.compile(rf"'++{_ESCAPED}")
# A formula that spreadsheets write for text that they would otherwise change, such as ="007".
_TEXT_FORMULA = re.compile(r'="([^"]*+)"')
# A plain number is not a formula, and an escaped one would become text.
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)


def escape_formula(text: str) -> str:
    """Returns a cell that is neither a formula nor blank."""
    if text[:1].isalnum():  # much faster than the expressions, and true of most text
        return text
    if _TO_ESCAPE.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def escape_for_import(text: str) -> str:
    """Returns a cell that may be a formula, but that an import reads as this text."""
    is_changed = not text.strip() or unescape_formula(text) != text
    return f"'{text}" if is_changed else text


def unescape_formula(cell: str) -> str:
    """Returns the text of a cell from `escape_formula` or `escape_for_import`.

    Of a formula that is only a text in quotes, it returns the text.
    """
    if text := _TEXT_FORMULA.fullmatch(cell):
        return text[1]
    return cell[1:] if _TO_UNESCAPE.match(cell) else cell
