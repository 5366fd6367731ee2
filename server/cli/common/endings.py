"""Turns Ctrl-C, file system errors and unconfirmed deletions into errors of the command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from ...serving.console import CommandError, ExitCode, is_terminal


@contextmanager
def interruptible(message: str) -> Iterator[None]:
    """Raises CommandError with this message if the block is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        raise CommandError(message, ExitCode.INTERRUPTED) from None


@contextmanager
def writing(name: str, code: ExitCode = ExitCode.INCOMPLETE, advice: str = "") -> Iterator[None]:
    """Raises CommandError, which names the file, if the block raises OSError."""
    try:
        yield
    except OSError as error:
        message = f"{name} cannot be written: {error.strerror}.{advice}"
        raise CommandError(message, code) from error


def check_terminal(action: str) -> None:
    """Raises CommandError if a deletion cannot be confirmed, because there is no terminal."""
    if not (sys.stdin.isatty() and is_terminal()):
        raise CommandError(f"{action} requires --yes without a terminal.", ExitCode.USAGE)


def confirm_deletion(what: str) -> None:
    """Asks whether to delete something. Raises CommandError if the answer is no."""
    if not click.confirm(f"Delete {what}?", err=True):
        raise CommandError("Nothing was deleted.", ExitCode.INTERRUPTED)
