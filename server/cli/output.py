"""What commands print, and how they end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import orjson
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..accounts.store import AccountRow, ApiKeyRow
from ..clock import written
from ..config import SETTINGS
from ..console import console

# Wider than any table.
_BOUNDLESS = 1_000_000


def option(name: str) -> Any:
    """Returns the flag of a setting, for use in Annotated; its default is in SETTINGS."""
    setting = SETTINGS[name]
    return typer.Option(setting.flag, envvar=setting.environment, help=setting.help)


Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]
DatabaseUrl = Annotated[str, option("database_url")]


def print_json(value: Any, target: Console = console) -> None:
    """Prints JSON as a script reads it."""
    target.out(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode(), highlight=False)


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Prints rows as people read them; whole, whatever the width of the terminal."""
    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=True, overflow="ignore")
    for row in rows:
        table.add_row(*map(Text, row))
    boundless = console.options.update(max_width=_BOUNDLESS)
    table.width = console.measure(table, options=boundless).maximum
    console.print(table, soft_wrap=True)


def account_json(row: AccountRow) -> dict[str, Any]:
    """Returns an account as JSON."""
    return {
        "id": row.id,
        "email": row.email,
        "emailVerified": row.email_verified,
        "createdAt": written(row.created_at),
    }


def api_key_json(row: ApiKeyRow) -> dict[str, Any]:
    """Returns a key as JSON, in the form in which the API prints it."""
    key = {
        "id": row.id,
        "name": row.name,
        "scope": row.scope,
        "createdAt": written(row.created_at),
    }
    return key if row.expires_at is None else {**key, "expiresAt": written(row.expires_at)}
