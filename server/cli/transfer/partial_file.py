"""The part of an export that is there already, and the file that it becomes.

Subscribers are written to FILE.part, which takes the name FILE when the last one is
there. What was asked for is kept in FILE.roster-export, so that a part is never gone
on with by an export of something else. A part ends in the middle of a row if the
program was killed: such a row is cut off and comes again. A file that is to be packed
is packed from its part in the end.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from ...console import ExitCode, say
from ...output_file import AtomicFile
from ..byte_progress import BytesBar
from .errors import TransferError
from .files import Form, write_whole
from .packing import Packing
from .service_client import PIECE

# The end of the name of a file that is being packed.
PACKING = ".packing"


@dataclass
class Found:
    """What a part holds: whole rows, up to the byte `end`; the header of a table is none."""

    header: bytes = b""
    rows: int = 0
    end: int = 0
    last_id: str = ""


class ExportPart:
    """A file that an export writes, or goes on writing."""

    hides_bar = False

    def __init__(
        self, path: Path, form: Form, job: Mapping[str, Any], packing: Packing | None
    ) -> None:
        self._path = path
        self._asked = path.with_name(f"{path.name}.roster-export")
        self._form = form
        self._job = dict(job)
        self._packing = packing
        self._part: AtomicFile | None = None

    def open(self, *, resume: bool) -> Found:
        """Opens the part, returns what it holds that can be gone on with, and cuts off the rest.

        Raises TransferError if it cannot be written.
        """
        with self._writing(ExitCode.USAGE):
            part = AtomicFile(self._path)
            found = self._found(part) if resume else Found()
            if not found.rows:
                write_whole(self._asked, self._job)
            part.cut(found.end)
            self._part = part
        return found

    def write(self, data: bytes) -> None:
        """Adds to the part. Raises TransferError if the disk does not take it."""
        assert self._part is not None
        with self._writing():
            self._part.file.write(data)

    def finish(self) -> None:
        """Gives the part its name, packed if it is to be, once it is on the disk."""
        assert self._part is not None
        with self._writing():
            if self._packing is None:
                self._publish(self._part)
            else:
                self._pack(self._packing)
                self._part.discard()
            self._asked.unlink(missing_ok=True)

    def leave(self) -> None:
        """Closes the part, for another run to go on with."""
        if self._part is not None:
            with self._writing():
                self._part.close()

    def hint(self) -> str:
        """Returns how an export that ended early can go on; empty if it had not begun."""
        if self._part is None:
            return ""
        return f"{self._part.path} holds what came; run the same command again to go on."

    def _publish(self, part: AtomicFile) -> None:
        if self._path.exists():
            part.belong_like(self._path)
        part.publish()

    def _pack(self, packing: Packing) -> None:
        """Writes the file from the part, which stays until that is done."""
        assert self._part is not None
        rows = self._part.file
        packed = AtomicFile(self._path, ending=PACKING)
        try:
            packed.cut(0)
            size = rows.seek(0, os.SEEK_END)
            rows.seek(0)
            with BytesBar() as bar, packing.pack(packed.file) as target:
                while piece := rows.read(PIECE):
                    target.write(piece)
                    bar.show("packing", rows.tell(), size)
            self._publish(packed)
        except BaseException:
            packed.discard()
            raise

    def _found(self, part: AtomicFile) -> Found:
        if not part.size:
            return Found()
        try:
            asked = orjson.loads(self._asked.read_bytes())
        except (OSError, ValueError):
            asked = None
        if asked != self._job:
            say(f"{part.path} belongs to another export; starts over.")
            return Found()
        try:
            return scan(part.file, self._form)
        except (OSError, ValueError, KeyError):
            say(f"{part.path} cannot be understood; starts over.")
            return Found()

    @contextmanager
    def _writing(self, ending: ExitCode = ExitCode.BROKEN) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TransferError(
                f"{self._path} cannot be written: {error.strerror}.", ending
            ) from error


def scan(file: BinaryIO, form: Form) -> Found:
    """Looks through a part for its whole rows. Raises ValueError or KeyError if it is not one."""
    found, row, last = Found(), b"", b""
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
