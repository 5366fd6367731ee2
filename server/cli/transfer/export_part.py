"""The part of an export that is there already, and the file that it becomes.

Subscribers are written to FILE.part, which takes the name FILE when the last one is
there. What was asked for is kept in FILE.roster-export, so that a part is never gone
on with by an export of something else. A part ends in the middle of a row if the
program was killed: such a row is cut off and comes again.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from ..output import ExitCode, say
from .failing import TransferError
from .files import Form, write_whole


@dataclass
class Found:
    """What a part holds: whole rows, up to the byte `end`; the header of a table is none."""

    header: bytes = b""
    rows: int = 0
    end: int = 0
    last_id: str = ""


class Part:
    """A file that an export writes, or goes on writing."""

    def __init__(self, path: Path, form: Form, job: Mapping[str, Any]) -> None:
        self.path = path
        self._part = path.with_name(f"{path.name}.part")
        self._asked = path.with_name(f"{path.name}.roster-export")
        self._form = form
        self._job = dict(job)
        self._file: BinaryIO | None = None
        self.hides_bar = False

    def open(self, *, resume: bool) -> Found:
        """Opens the part, returns what it holds that can be gone on with, and cuts off the rest.

        Raises TransferError if it cannot be written.
        """
        found = self._found() if resume else Found()
        try:
            if not found.rows:
                write_whole(self._asked, self._job)
            self._file = self._part.open("r+b" if found.rows else "wb")
            self._file.truncate(found.end)
            self._file.seek(found.end)
        except OSError as error:
            raise self._unwritable(error) from error
        return found

    def write(self, data: bytes) -> None:
        """Adds to the part. Raises TransferError if the disk does not take it."""
        assert self._file is not None
        try:
            self._file.write(data)
        except OSError as error:
            raise self._unwritable(error) from error

    def finish(self) -> None:
        """Gives the part its name, once it is on the disk."""
        assert self._file is not None
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._part.replace(self.path)
            self._asked.unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error

    def leave(self) -> None:
        """Closes the part, for another run to go on with."""
        if self._file is not None:
            self._file.close()

    def hint(self) -> str:
        """Returns how an export that ended early can go on; empty if it had not begun."""
        if self._file is None:
            return ""
        return f"{self._part} holds what came; run the same command again to go on."

    def _found(self) -> Found:
        if not self._part.exists():
            return Found()
        try:
            asked = orjson.loads(self._asked.read_bytes())
        except (OSError, ValueError):
            asked = None
        if asked != self._job:
            say(f"{self._part} belongs to another export; starts over.")
            return Found()
        try:
            return scan(self._part, self._form)
        except (OSError, ValueError, KeyError):
            say(f"{self._part} cannot be understood; starts over.")
            return Found()

    def _unwritable(self, error: OSError) -> TransferError:
        ending = ExitCode.USAGE if self._file is None else ExitCode.BROKEN
        return TransferError(f"{self._part} cannot be written: {error.strerror}.", ending)


def scan(path: Path, form: Form) -> Found:
    """Looks through a part for its whole rows. Raises ValueError or KeyError if it is not one."""
    found, row, last = Found(), b"", b""
    with path.open("rb") as file:
        for line in file:
            row += line
            if not row.endswith(b"\n") or (form is Form.CSV and row.count(b'"') % 2):
                continue
            found.end += len(row)
            if form is Form.CSV and not found.header:
                found.header = row
            else:
                found.rows, last = found.rows + 1, row
            row = b""
    if last:
        found.last_id = _id_of(last, found.header)
    return found


def _id_of(row: bytes, header: bytes) -> str:
    if not header:
        return str(orjson.loads(row)["id"])
    table = csv.DictReader(io.StringIO((header + row).decode(), newline=""))
    return str(next(table)["id"])


class RowCounter:
    """Counts the rows that end in what it is shown: line breaks that are not within quotes."""

    def __init__(self, form: Form) -> None:
        self._quotes = form is Form.CSV
        self._within = 0

    def count(self, data: bytes) -> int:
        """Returns how many rows end in the next bytes."""
        if not self._quotes:
            return data.count(b"\n")
        parts = data.split(b'"')
        outside = parts[self._within :: 2]
        self._within = (self._within + len(parts) - 1) % 2
        return sum(part.count(b"\n") for part in outside)
