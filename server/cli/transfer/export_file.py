"""An export to a file, which can be resumed.

Rows are written to FILE.part, which is renamed to FILE when it is complete. FILE.roster-export
contains the parameters of the export, so that another export does not continue the partial file.
If the program was killed, the partial file can end with an incomplete row, which is removed and
received again. A compressed file is created from the partial file at the end.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from ...serving.console import ExitCode, notice
from ...storage.output_file import AtomicFile
from ..common.endings import writing
from ..common.files import CHUNK_BYTES, FileFormat, write_json_atomically
from ..common.progress import ByteProgress
from .compression import Compression
from .export_target import PartialExport

# Suffix of a compressed file that is being written.
COMPRESSING = ".packing"


class ExportFile:
    """A file as the target of an export."""

    # True if a progress bar on the same terminal would mix with the data.
    hides_progress = False

    def __init__(
        self,
        path: Path,
        file_format: FileFormat,
        job: Mapping[str, Any],
        compression: Compression | None,
    ) -> None:
        self._path = path
        self._job_path = path.with_name(f"{path.name}.roster-export")
        self._format = file_format
        self._job = dict(job)
        self._compression = compression
        self._part: AtomicFile | None = None

    def open(self, *, resume: bool) -> PartialExport:
        """Opens the partial file, and returns its rows, which this export continues.

        Raises CommandError if it cannot be written.
        """
        with writing(str(self._path), ExitCode.USAGE):
            part = AtomicFile(self._path)
            partial = self._read(part) if resume else PartialExport()
            if not partial.rows:
                write_json_atomically(self._job_path, self._job)
            part.truncate(partial.end)
            self._part = part
        return partial

    def write(self, data: bytes) -> None:
        assert self._part is not None
        with writing(str(self._path)):
            self._part.file.write(data)

    def finish(self) -> None:
        """Syncs the partial file, compresses it if required, and renames it."""
        assert self._part is not None
        with writing(str(self._path)):
            if self._compression is None:
                self._publish(self._part)
            else:
                self._compress(self._compression)
                self._part.discard()
            self._job_path.unlink(missing_ok=True)

    def abort(self) -> None:
        """Closes the partial file, which another run can continue."""
        if self._part is not None:
            with writing(str(self._path)):
                self._part.close()

    def hint(self) -> str:
        """Returns how to resume an incomplete export; empty if it has not started."""
        if self._part is None:
            return ""
        return f"{self._part.path} contains the rows so far. Run the same command again to resume."

    def _publish(self, part: AtomicFile) -> None:
        if self._path.exists():
            part.copy_permissions(self._path)
        part.publish()

    def _compress(self, compression: Compression) -> None:
        assert self._part is not None
        rows = self._part.file
        compressed = AtomicFile(self._path, suffix=COMPRESSING)
        try:
            compressed.truncate(0)
            size = rows.seek(0, os.SEEK_END)
            rows.seek(0)
            with ByteProgress() as progress, compression.compress(compressed.file) as target:
                while chunk := rows.read(CHUNK_BYTES):
                    target.write(chunk)
                    progress.show("compressing", rows.tell(), size)
            self._publish(compressed)
        except BaseException:
            compressed.discard()
            raise

    def _read(self, part: AtomicFile) -> PartialExport:
        if not part.size:
            return PartialExport()
        try:
            job = orjson.loads(self._job_path.read_bytes())
        except (OSError, ValueError):
            job = None
        if job != self._job:
            notice(f"{part.path} belongs to another export. Starting over.")
            return PartialExport()
        try:
            return read_partial_export(part.file, self._format)
        except (OSError, ValueError, KeyError):
            notice(f"{part.path} is not valid. Starting over.")
            return PartialExport()


def read_partial_export(file: BinaryIO, file_format: FileFormat) -> PartialExport:
    """Reads the complete rows of a partial file. Raises ValueError or KeyError if it is invalid."""
    partial, row, last = PartialExport(), b"", b""
    for line in file:
        row += line
        if not row.endswith(b"\n") or (file_format is FileFormat.CSV and row.count(b'"') % 2):
            continue
        partial.end += len(row)
        if file_format is FileFormat.CSV and not partial.header:
            partial.header = row
        else:
            partial.rows, last = partial.rows + 1, row
        row = b""
    if last:
        partial.last_id = _id_of(last, partial.header)
    return partial


def _id_of(row: bytes, header: bytes) -> str:
    if not header:
        return str(orjson.loads(row)["id"])
    rows = csv.DictReader(io.StringIO((header + row).decode("utf-8-sig"), newline=""))
    return str(next(rows)["id"])


class RowCounter:
    """Counts rows by line breaks. A line break within CSV quotes ends no row."""

    def __init__(self, file_format: FileFormat) -> None:
        self._has_quotes = file_format is FileFormat.CSV
        self._in_quotes = 0

    def count(self, data: bytes) -> int:
        """Returns the number of rows that end in the next bytes."""
        if not self._has_quotes:
            return data.count(b"\n")
        parts = data.split(b'"')
        unquoted = parts[self._in_quotes :: 2]
        self._in_quotes = (self._in_quotes + len(parts) - 1) % 2
        return sum(part.count(b"\n") for part in unquoted)
