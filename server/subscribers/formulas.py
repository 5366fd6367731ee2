"""Escapes CSV cells that a spreadsheet would run as a formula or an import would ignore.

A spreadsheet runs a cell that begins with a character such as `=` as a formula, and an import
reads a blank cell as no value. Such text is written after an apostrophe, which marks text in
spreadsheets. An import removes the apostrophe. Text that already starts with apostrophes gets
one more, so that every text is read back exactly. An empty text is a single apostrophe.
"""

from __future__ import annotations

import re

# What makes spreadsheets calculate at the start of a cell, spaces aside, or nothing at all.
_MARKED = r"(?:[\t\r\n]|\s*+(?:[=+\-@]|\Z))"
_TO_MARK = re.compile(rf"'*+{_MARKED}")
_WITH_MARK = re.compile(rf"'++{_MARKED}")
# Nothing happens to a plain number, and it shall stay one.
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)


def escape_formula(text: str) -> str:
    """Returns the cell for a text: harmless in a spreadsheet, and never blank."""
    if _TO_MARK.match(text) and not _NUMBER.fullmatch(text):
        return f"'{text}"
    return text


def unescape_formula(cell: str) -> str:
    """Returns the text that a cell from `escape_formula` holds."""
    return cell[1:] if _WITH_MARK.match(cell) else cell
