"""Writes the failed rows of an import to a file."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, ExitStack
from typing import BinaryIO

from ...serving.console import ExitCode
from ...storage.output_file import STANDARD, AtomicFile, open_stream, replaceable, standard_stream
from ..common.endings import writing


class Failures:
    """A file that replaces FILE when the import is complete, if a row failed or lost a cell.

    Until then, the rows are in FILE.part and FILE is unchanged. A device or a FIFO is written
    directly.
    """

    def __init__(self, name: str) -> None:
        """Opens a device or a FIFO, which waits for its reader. Raises CommandError."""
        self.name = name
        self.label = "standard output" if name == STANDARD else name
        self.is_standard_output = standard_stream(name) is sys.stdout
        self._stack = ExitStack()
        self._part: AtomicFile | None = None
        self._file: BinaryIO | None = None
        self._has_rows = False
        with self._opening():
            self._target = replaceable(name)
            if self._target is None:
                self._file = self._stack.enter_context(open_stream(name))

    def open(self, size: int) -> None:
        """Opens the partial file and keeps its first bytes, which an earlier run wrote.

        Raises CommandError if it cannot be written.
        """
        if self._target is None:
            return
        with self._opening():
            part = self._part = AtomicFile(self._target)
            if self._target.exists():
                part.copy_permissions(self._target)
            part.truncate(size if size <= part.size else 0)
            self._file, self._has_rows = part.file, part.size > 0

    def add(self, row: bytes, start: bytes) -> None:
        """Writes a failed row, and the start of the file before the first. Raises CommandError."""
        assert self._file is not None
        with writing(self.name):
            self._file.write(row if self._has_rows else start + row)
            self._has_rows = True

    def flush(self) -> int:
        """Flushes the rows and returns the size of the partial file. Raises CommandError."""
        if self._file is None:
            return 0
        with writing(self.name):
            self._file.flush()
            return self._part.size if self._part else 0

    def finish(self) -> None:
        """Replaces the file if a row is in it. Raises CommandError."""
        with writing(self.name):
            if self._part is None:
                self._stack.close()
            elif self._has_rows:
                self._part.publish()
            else:
                self._part.discard()

    def abort(self) -> str:
        """Closes the file of an incomplete import. Returns the path of the rows, if any."""
        if self._part is None:
            self._stack.close()
            return ""
        if not self._has_rows:
            self._part.discard()
            return ""
        self._part.close()
        return str(self._part.path)

    def _opening(self) -> AbstractContextManager[None]:
        return writing(self.name, ExitCode.USAGE, " Choose another file with --failures.")
