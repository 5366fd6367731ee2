"""The interface of export targets, and targets that cannot be replaced, such as pipes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

from ...serving.console import CommandError, ExitCode
from ...storage.output_file import open_stream, standard_stream
from .compression import Compression


@dataclass
class PartialExport:
    """The complete rows that an earlier run wrote: their number and the ID of the last one.

    `end` is the size in bytes of these rows and the CSV header, which is not a row.
    """

    header: bytes = b""
    rows: int = 0
    end: int = 0
    last_id: str = ""


class ExportTarget(Protocol):
    """The target of an export."""

    # True if a progress bar on the same terminal would mix with the data.
    hides_progress: bool

    def open(self, *, resume: bool) -> PartialExport:
        """Returns the rows of an earlier run that this export continues."""

    def write(self, data: bytes) -> None:
        """Appends data. Raises CommandError on failure."""

    def finish(self) -> None:
        """Completes the export."""

    def abort(self) -> None:
        """Closes the target of an incomplete export."""

    def hint(self) -> str:
        """Returns how to resume an incomplete export; empty if it has not started."""


class StreamTarget:
    """Standard output, a device or a FIFO. An export to it cannot be resumed."""

    def __init__(self, name: str, compression: Compression | None) -> None:
        """Opens the target; a FIFO waits for its reader. Raises CommandError."""
        stream = standard_stream(name)
        self._name = "Standard output" if stream is sys.stdout else name
        self.hides_progress = stream is not None and stream.isatty()
        self._has_started = False
        self._stack = ExitStack()
        with self._writing():
            self._file = self._stack.enter_context(open_stream(name))
            if compression:
                self._file = self._stack.enter_context(compression.compress(self._file))

    def open(self, *, resume: bool) -> PartialExport:  # noqa: ARG002 - of the protocol
        self._has_started = True
        return PartialExport()

    def write(self, data: bytes) -> None:
        with self._writing():
            self._file.write(data)

    def finish(self) -> None:
        with self._writing():
            self._stack.close()

    def abort(self) -> None:
        self.finish()

    def hint(self) -> str:
        if not self._has_started:
            return ""
        return "The output is incomplete. Only an export to a file can be resumed."

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Ends the program without a message if the reader, such as `head`, has closed the pipe."""
        try:
            yield
        except BrokenPipeError:
            raise SystemExit(1) from None
        except OSError as error:
            raise CommandError(
                f"{self._name} cannot be written: {error.strerror}.", ExitCode.INCOMPLETE
            ) from error
