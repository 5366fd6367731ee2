"""Where an export goes: a part of a file (export_part.py), or what is opened and not replaced."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Protocol

from ...console import ExitCode
from ...output_file import opened, standard_stream
from .errors import TransferError
from .packing import Packing
from .partial_file import Found


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


class Stream:
    """Standard output, a device or a FIFO, which cannot be gone on with."""

    def __init__(self, name: str, packing: Packing | None) -> None:
        """Opens it; a FIFO waits for its reader. Raises TransferError."""
        stream = standard_stream(name)
        self._name = "Standard output" if stream is sys.stdout else name
        self.hides_bar = stream is not None and stream.isatty()
        self._has_begun = False
        self._stack = ExitStack()
        with self._writing():
            self._file = self._stack.enter_context(opened(name))
            if packing:
                self._file = self._stack.enter_context(packing.pack(self._file))

    def open(self, *, resume: bool) -> Found:
        self._has_begun = True
        return Found()

    def write(self, data: bytes) -> None:
        with self._writing():
            self._file.write(data)

    def finish(self) -> None:
        with self._writing():
            self._stack.close()

    def leave(self) -> None:
        self.finish()

    def hint(self) -> str:
        return "What was written is not all; only an export to a file goes on." * self._has_begun

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Ends the program without a message if the reader, such as `head`, has closed the pipe."""
        try:
            yield
        except BrokenPipeError:
            raise SystemExit(1) from None
        except OSError as error:
            raise TransferError(
                f"{self._name} cannot be written: {error.strerror}.", ExitCode.BROKEN
            ) from error
