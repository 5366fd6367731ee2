"""Prints tables and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...serving.console import console

# Wider than any table.
_UNLIMITED_WIDTH = 1_000_000


def print_json(value: Any, target: Console = console) -> None:
    target.out(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode(), highlight=False)


def print_json_list(name: str, items: Sequence[Any]) -> None:
    """Prints a list as the API returns it, with its total."""
    print_json({name: items, "total": len(items)})


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table without truncation, regardless of the width of the terminal."""
    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ignore")
    for row in rows:
        table.add_row(*map(Text, row))
    unlimited = console.options.update(max_width=_UNLIMITED_WIDTH)
    table.width = console.measure(table, options=unlimited).maximum
    console.print(table, soft_wrap=True)
