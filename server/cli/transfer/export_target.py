"""An export to standard output, a device or a FIFO, which cannot be resumed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from ...storage.output_file import open_stream, standard_stream
from ..common.endings import writing
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


class StreamTarget:
    """Standard output, a device or a FIFO as the target of an export. See `ExportFile`."""

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

    def open(self, *, resume: bool) -> PartialExport:  # noqa: ARG002 - of ExportFile
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
        with writing(self._name):
            try:
                yield
            except BrokenPipeError:
                raise SystemExit(1) from None
