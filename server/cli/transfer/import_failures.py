"""The table of rows that an import did not take."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace
from typing import Any, BinaryIO

from ...console import ExitCode
from ...output_file import AtomicFile, opened, replaceable, standard_stream
from .errors import TransferError


class Failures:
    """A table that replaces a file when the import is complete, if a row failed.

    Until then a file is what it was, and the table is in FILE.part. A device or FIFO is
    written to as rows fail.
    """

    def __init__(self, name: str) -> None:
        """Opens what is not replaced; a FIFO waits for its reader. Raises TransferError."""
        self.name = name
        self.is_standard_output = standard_stream(name) is sys.stdout
        self._stack = ExitStack()
        self._part: AtomicFile | None = None
        self._file: BinaryIO | None = None
        self._has_header = False
        # What csv writes to.
        self._writer = csv.writer(SimpleNamespace(write=self._write))
        with self._unusable():
            self._target = replaceable(name)
            if self._target is None:
                self._file = self._stack.enter_context(opened(name))

    def open(self, keep: int) -> None:
        """Opens the part of a file, and keeps the first bytes, which an earlier run wrote.

        Raises TransferError if it cannot be written.
        """
        if self._target is None:
            return
        with self._unusable():
            part = self._part = AtomicFile(self._target)
            if self._target.exists():
                part.belong_like(self._target)
            part.cut(keep if keep <= part.size else 0)
            self._file, self._has_header = part.file, part.size > 0

    def add(self, result: dict[str, Any]) -> None:
        """Writes a row that failed. Raises TransferError."""
        with self._broken():
            if not self._has_header:
                self._writer.writerow(("line", "email", "reason", "field"))
                self._has_header = True
            self._writer.writerow(
                (result["line"], result["email"], result["reason"], result.get("field", ""))
            )

    def flush(self) -> int:
        """Hands everything to the system and returns how many bytes a file has.

        Raises TransferError.
        """
        if self._file is None:
            return 0
        with self._broken():
            self._file.flush()
            return self._part.size if self._part else 0

    def finish(self) -> None:
        """Ends the table: if it has rows, it replaces the file. Raises TransferError."""
        with self._broken():
            if self._part is None:
                self._stack.close()
            elif self._has_header:
                self._part.publish()
            else:
                self._part.discard()

    def leave(self) -> str:
        """Closes the table of an import that ended early, and returns where its rows are."""
        if self._part is None:
            self._stack.close()
            return ""
        if not self._has_header:
            self._part.discard()
            return ""
        self._part.close()
        return str(self._part.path)

    def _write(self, text: str) -> None:
        assert self._file is not None
        self._file.write(text.encode())

    @contextmanager
    def _unusable(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TransferError(
                f"{self.name} cannot be written: {error.strerror}. Name another file with"
                " --failures.",
                ExitCode.USAGE,
            ) from error

    @contextmanager
    def _broken(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TransferError(
                f"{self.name} cannot be written: {error.strerror}.", ExitCode.BROKEN
            ) from error
