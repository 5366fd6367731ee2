"""Cells of a table that a spreadsheet would take for a formula, and run.

Such a cell is written behind an apostrophe, by which spreadsheets know a text, and the
apostrophe is taken off again when a table is read. A cell that has apostrophes of its
own before what would be a formula gets one more, so that every text comes back as it was.
"""

from __future__ import annotations

import re

# What makes spreadsheets calculate, where a cell begins with it.
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_QUOTED = re.compile(r"'+[=+\-@\t\r\n]")
# Nothing happens to a plain number, and it shall stay one.
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?", re.ASCII)


def neutralised(cell: str) -> str:
    """Returns a cell as it can be written without harm."""
    if _FORMULA.match(cell) and not _NUMBER.fullmatch(cell):
        return f"'{cell}"
    return cell


def original(cell: str) -> str:
    """Returns what a cell held before `neutralised`."""
    return cell[1:] if _QUOTED.match(cell) else cell
