"""Cells of a table that would not be read back as they were written, or would run as a formula.

A spreadsheet takes a cell that begins with `=` and the like for a formula, and an import
takes a blank cell for no value. A text like that is written behind an apostrophe, by which
spreadsheets mark text, and the apostrophe is removed when a table is read. A text that has
apostrophes of its own there gets one more, so that every text is read back exactly: an
empty text is written as a single apostrophe.
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
