"""Prints tables and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import Any

import orjson

from ...serving.console import echo

# Wider than any table.
_UNLIMITED_WIDTH = 1_000_000


def print_json(value: Any, *, err: bool = False) -> None:
    echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode(), err=err)


def print_json_list(name: str, items: Sequence[Any]) -> None:
    """Prints a list as the API returns it, with its total."""
    print_json({name: items, "total": len(items)})


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints a table without truncation, regardless of the width of the terminal."""
    # Imported here because a service, and most commands, print no tables.
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ignore")
    for row in rows:
        table.add_row(*map(Text, row))
    text = StringIO()
    Console(file=text, force_terminal=True, width=_UNLIMITED_WIDTH).print(table)
    echo(text.getvalue().removesuffix("\n"))
