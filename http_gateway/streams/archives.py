"""Reads the one data file in a ZIP archive, in chunks.

An archive can unpack to at most MAX_BYTES, and to MAX_RATIO times its own size.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import IO

MAX_BYTES = 2 << 30
MAX_RATIO = 100
# The first bytes of an archive, and of one without files.
MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
MAGIC_BYTES = 4
# The first bytes of compressed files.
_COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "Zstandard"}

CHUNK_BYTES = 256 * 1024
# The list of the files is read at once. That of an archive with one data file is short.
_MAX_LIST_BYTES = 1 << 20
_DATA = {".csv", ".tsv", ".txt", ".json", ".ndjson", ".jsonl"}
_ARCHIVES = {".zip", ".gz", ".tgz", ".zst", ".bz2", ".xz", ".7z", ".rar", ".tar"}
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
_ENCRYPTED = 1
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, OSError)
# The most names in an error, and the most characters of one.
_MAX_NAMES, _MAX_NAME = 10, 80


class ArchiveError(Exception):
    """An archive that cannot be read. The message follows the name of the file or "The body"."""


def is_archive(start: bytes) -> bool:
    """Whether a file that starts with these bytes, at least MAGIC_BYTES, is an archive."""
    return start.startswith(MAGIC)


def may_be_archive(start: bytes) -> bool:
    """Whether more bytes can make a file that starts with these bytes an archive or compressed."""
    magics = (*MAGIC, *_COMPRESSED)
    return len(start) < MAGIC_BYTES and any(magic.startswith(start) for magic in magics)


def check_compression(start: bytes) -> None:
    """Raises ArchiveError if a file that starts with these bytes is compressed."""
    for magic, name in _COMPRESSED.items():
        if start.startswith(magic):
            raise ArchiveError(f"is compressed with {name}. Decompress it first.")


def content(file: IO[bytes], names: list[str] | None = None) -> Iterator[bytes]:
    """Yields the content of the data file in an archive, whose name it adds to `names`.

    Raises ArchiveError.
    """
    size = file.seek(0, io.SEEK_END)
    try:
        with zipfile.ZipFile(_LimitedReads(file)) as archive:
            entry = _data_entry(archive.infolist())
            if entry.file_size > min(MAX_BYTES, MAX_RATIO * size):
                raise ArchiveError(
                    f"is a ZIP archive that unpacks to more than {MAX_RATIO} times its size or"
                    f" more than {MAX_BYTES >> 30} GiB: {_listed([entry])}. Unpack it first."
                )
            if names is not None:
                names.append(entry.filename)
            # No more than the size in the list is unpacked, and the checksum is compared.
            with archive.open(entry) as unpacked:
                chunk = unpacked.read(CHUNK_BYTES)
                if is_archive(chunk):
                    raise _nested([entry])
                while chunk:
                    yield chunk
                    chunk = unpacked.read(CHUNK_BYTES)
    except NotImplementedError as error:  # `zipfile` does not read every feature of the format.
        raise ArchiveError(
            f"is a ZIP archive that cannot be read: {error}. Unpack it first."
        ) from None
    except _DAMAGE as error:
        raise ArchiveError(f"is a ZIP archive that is damaged: {error}.") from None


class _LimitedReads:
    """A file of which at most _MAX_LIST_BYTES are read at once, even if its list is longer."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell, self.seekable = file.seek, file.tell, file.seekable

    def read(self, size: int = -1) -> bytes:
        if size > _MAX_LIST_BYTES:
            raise ArchiveError("is a ZIP archive with too many files. Unpack it first.")
        return self._file.read(size)


def _data_entry(entries: Iterable[zipfile.ZipInfo]) -> zipfile.ZipInfo:
    """Returns the one entry with data. Raises ArchiveError, which names the entries."""
    entries = [entry for entry in entries if not entry.is_dir() and not _is_metadata(entry)]
    if any(entry.filename.startswith("xl/") for entry in entries):
        raise ArchiveError("is an Excel workbook. Save the sheet as CSV and import that file.")
    if nested := [entry for entry in entries if _suffix(entry) in _ARCHIVES]:
        raise _nested(nested)
    data = [entry for entry in entries if _suffix(entry) in _DATA] or entries
    if len(data) != 1:
        found = f"{len(data)} data files: {_listed(data)}" if data else "no file"
        raise ArchiveError(f"is a ZIP archive with {found}. Import one CSV or JSON file.")
    (entry,) = data
    if entry.flag_bits & _ENCRYPTED:
        raise ArchiveError(f"is a ZIP archive that is encrypted: {_listed(data)}. Unpack it first.")
    if entry.compress_type not in _METHODS:
        raise ArchiveError(
            "is a ZIP archive with a compression method other than deflate:"
            f" {_listed(data)}. Unpack it first."
        )
    return entry


def _nested(entries: Sequence[zipfile.ZipInfo]) -> ArchiveError:
    return ArchiveError(
        f"is a ZIP archive that contains another archive: {_listed(entries)}. Unpack it first."
    )


def _is_metadata(entry: zipfile.ZipInfo) -> bool:
    """Whether macOS added an entry."""
    path = PurePosixPath(entry.filename)
    return path.parts[:1] == ("__MACOSX",) or path.name == ".DS_Store"


def _suffix(entry: zipfile.ZipInfo) -> str:
    return PurePosixPath(entry.filename).suffix.lower()


def _listed(entries: Sequence[zipfile.ZipInfo]) -> str:
    names = [
        "".join(char if char.isprintable() else "?" for char in entry.filename[:_MAX_NAME])
        for entry in entries[:_MAX_NAMES]
    ]
    more = len(entries) - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more else "")
