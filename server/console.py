"""Prints for people on the terminal, and ends the program with a documented exit code."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from enum import IntEnum
from typing import Any, NoReturn

from rich.console import Console
from rich.markup import escape


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
