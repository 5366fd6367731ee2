"""What commands print, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Annotated, Any, NoReturn

import orjson
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..accounts.store import AccountRow, ApiKeyRow
from ..clock import written
from ..config import SETTINGS, unknown_variables


class _StandardOutput(Console):
    """Ends the program if standard output is broken, such as a full disk."""

    def print(self, *objects: Any, **options: Any) -> None:
        try:
            super().print(*objects, **options)
        except OSError as error:
            _end_output(error)

    def out(self, *objects: Any, **options: Any) -> None:
        try:
            super().out(*objects, **options)
        except OSError as error:
            _end_output(error)


console = _StandardOutput(highlight=False, markup=False)
errors = Console(stderr=True, highlight=False)
# Wider than any table.
_BOUNDLESS = 1_000_000


class ExitCode(IntEnum):
    """How a command ends when it cannot do what it was asked.

    Of a command that moves many rows, the same goes on after BROKEN and INTERRUPTED
    where it came to.
    """

    ROWS_FAILED = 1
    USAGE = 2
    PORT_IN_USE = 3
    DATABASE = 4
    NOT_FOUND = 5
    UNREACHABLE = 6
    REFUSED = 7
    BROKEN = 8
    EXISTS = 9
    INTERRUPTED = 130


def counted(number: int, noun: str) -> str:
    """Returns a number with its noun, which takes an -s unless the number is 1: 1,200 rows."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def unknown_settings() -> list[str]:
    """Returns a sentence for each variable of the environment that looks like a setting.

    Such a variable is removed from the environment, so that a worker process, which inherits
    it, does not report it again.
    """
    sentences = []
    for name, similar in unknown_variables(os.environ).items():
        del os.environ[name]
        hint = f" Did you mean {similar}?" if similar else ""
        sentences.append(f"{name} is not a setting and is ignored.{hint}")
    return sentences


def say(sentence: str) -> None:
    """Says on standard error what a person should know; standard output may hold data."""
    errors.print(f"[bold]roster:[/] {escape(sentence)}", soft_wrap=True)


def flush(*, failed: bool) -> None:
    """Hands what was printed to the system. Ends the program with an error if that fails.

    A command that has `failed` has said why.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        _end_output(error, failed=failed)


def _end_output(error: OSError, *, failed: bool = False) -> None:
    """Ends the program since standard output is broken; a reader that left needs no reason."""
    with suppress(OSError), open(os.devnull, "wb") as nowhere:
        # Python would try again at exit, and complain.
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
    if failed:
        return
    if isinstance(error, BrokenPipeError):
        raise SystemExit(1)
    complain(f"Standard output cannot be written: {error.strerror}.", ExitCode.BROKEN)


def complain(sentence: str, code: ExitCode) -> NoReturn:
    """Says on standard error what is wrong, and ends the program."""
    errors.print(f"[bold red]roster:[/] {escape(sentence)}", soft_wrap=True)
    raise SystemExit(code)


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
