"""Turns Ctrl-C and errors of the file system into errors of the command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...serving.console import CommandError, ExitCode


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
