"""Where an export goes: a part of a file (export_part.py), or standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from ..output import ExitCode
from .export_part import Found
from .failing import TransferError


class Target(Protocol):
    """Where an export goes."""

    # Whether a bar on the same terminal would mix with the data.
    hides_bar: bool

    def open(self, *, resume: bool) -> Found:
        """Returns what is there already, and can be gone on with."""

    def write(self, data: bytes) -> None:
        """Adds data. Raises TransferError if that fails."""

    def finish(self) -> None:
        """Called when all is written."""

    def leave(self) -> None:
        """Called when the export ended early."""

    def hint(self) -> str:
        """Returns how an export that ended early can go on; empty if it had not begun."""


class StandardOutput:
    """Standard output, which cannot be gone on with."""

    def __init__(self) -> None:
        self.hides_bar = sys.stdout.isatty()
        self._has_begun = False

    def open(self, *, resume: bool) -> Found:
        self._has_begun = True
        return Found()

    def write(self, data: bytes) -> None:
        with _writing():
            sys.stdout.buffer.write(data)

    def finish(self) -> None:
        with _writing():
            sys.stdout.flush()

    def leave(self) -> None:
        self.finish()

    def hint(self) -> str:
        return "What was written is not all; only an export to a file goes on." * self._has_begun


@contextmanager
def _writing() -> Iterator[None]:
    """Ends the program without a word if who reads, such as `head`, has enough."""
    try:
        yield
    except BrokenPipeError:
        # Nothing is left for Python to flush at its end, which it would complain of.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    except OSError as error:
        raise TransferError(
            f"Standard output cannot be written: {error.strerror}.", ExitCode.BROKEN
        ) from error
