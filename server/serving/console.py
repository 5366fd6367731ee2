"""Prints messages for people, and defines how commands end."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import IntEnum
from typing import Any, NoReturn

import click
import orjson


class ExitCode(IntEnum):
    """Exit codes of commands that fail.

    After INCOMPLETE and INTERRUPTED, the same command resumes an import, an export or a copy.
    """

    ROWS_FAILED = 1
    DIFFERENCES = 1
    USAGE = 2
    PORT_IN_USE = 3
    DATABASE = 4
    NOT_FOUND = 5
    UNREACHABLE = 6
    REJECTED = 7
    INCOMPLETE = 8
    ALREADY_EXISTS = 9
    OUTDATED = 10
    INTERRUPTED = 130

    @property
    def code(self) -> str:
        """The name of the exit code in JSON, such as AlreadyExists."""
        return self.name.title().replace("_", "")


class CommandError(Exception):
    """A command failed. The message is for the user: the cause, and the remedy if there is one.

    `response` is the error of the service that caused it, if there is one.
    """

    def __init__(
        self, message: str, exit_code: ExitCode, response: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.response = response

    def with_hint(self, hint: str) -> CommandError:
        """Returns the error with another sentence, such as how to resume."""
        return CommandError(f"{self} {hint}".rstrip(), self.exit_code, self.response)


def pluralized(number: int, noun: str) -> str:
    """Returns a number with its noun, which gets an -s unless the number is 1: 1,200 rows."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def echo(text: str, *, err: bool = False) -> None:
    """Prints a line, without its colors if it is not for a terminal or NO_COLOR is set.

    Ends the program if standard output cannot be written, for example on a full disk.
    """
    color = False if os.environ.get("NO_COLOR") else None
    try:
        click.echo(text, err=err, color=color)
    except OSError as error:
        if err:
            raise
        exit_without_output(error)


def is_terminal() -> bool:
    """Returns whether standard error is a terminal, on which questions and progress are shown."""
    return sys.stderr is not None and sys.stderr.isatty()


def notice(message: str) -> None:
    """Prints a message to standard error, because standard output may contain data."""
    echo(f"{click.style('roster:', bold=True)} {message}", err=True)


def fail(message: str, code: ExitCode, response: Mapping[str, Any] | None = None) -> NoReturn:
    """Prints an error to standard error and ends the program.

    With --json, which may be in arguments that cannot be parsed, it is an error object of the API:
    that in `response`, the error of the service, if there is one.
    """
    if "--json" in sys.argv:
        error = {"code": code.code, "details": [], **(response or {}), "message": message}
        echo(orjson.dumps({"error": error}).decode(), err=True)
    else:
        echo(f"{click.style('roster:', bold=True, fg='red')} {message}", err=True)
    raise SystemExit(code)


def flush(*, failed: bool) -> None:
    """Flushes standard output. Ends the program with an error if that fails.

    If the command has `failed`, its error is already printed, and no other is added.
    """
    if sys.stdout is None:  # It was closed before the start.
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        exit_without_output(error, failed=failed)


def exit_without_output(error: OSError, *, failed: bool = False) -> None:
    """Ends the program because standard output is broken; silently if its reader has closed it."""
    with suppress(OSError), open(os.devnull, "wb") as null:
        # Otherwise Python flushes again at exit and prints a traceback.
        os.dup2(null.fileno(), sys.stdout.fileno())
    if failed:
        return
    if isinstance(error, BrokenPipeError):
        raise SystemExit(1)
    fail(f"Standard output cannot be written: {error.strerror}.", ExitCode.INCOMPLETE)
