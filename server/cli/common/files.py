"""File formats, and atomic writes of small files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Any

import orjson

from ...serving.console import CommandError, ExitCode

# Bytes per read or write.
CHUNK_BYTES = 1 << 17


class FileFormat(StrEnum):
    """Formats of files with subscribers."""

    CSV = "csv"
    NDJSON = "ndjson"


CONTENT_TYPES = {FileFormat.CSV: "text/csv", FileFormat.NDJSON: "application/x-ndjson"}
EXPORT_SUFFIXES = (".csv", ".ndjson", ".jsonl")
COMPRESSED_SUFFIXES = GZIP_SUFFIX, ZSTD_SUFFIX = ".gz", ".zst"
_SUFFIXES = {
    ".csv": FileFormat.CSV,
    ".tsv": FileFormat.CSV,
    ".json": FileFormat.NDJSON,
    ".ndjson": FileFormat.NDJSON,
    ".jsonl": FileFormat.NDJSON,
}


def format_by_suffix(name: str) -> FileFormat | None:
    """Returns the format for the suffix of a file name, before a suffix of compressed files."""
    name = name.lower()
    for suffix in COMPRESSED_SUFFIXES:
        name = name.removesuffix(suffix)
    return _SUFFIXES.get(Path(name).suffix)


def export_format(file: str, *, compressed: bool) -> FileFormat:
    """Returns the format of an export to a file: NDJSON if its name has no suffix.

    `compressed` is whether suffixes of compression are accepted. Raises CommandError for other
    suffixes.
    """
    name = file.lower()
    for each in COMPRESSED_SUFFIXES if compressed else ():
        name = name.removesuffix(each)
    suffix = PurePath(name).suffix
    if not suffix:
        return FileFormat.NDJSON
    if suffix not in EXPORT_SUFFIXES:
        raise CommandError(
            f"{file} has the suffix of another format. Use {' '.join(EXPORT_SUFFIXES)}"
            f"{', also with .gz or .zst' if compressed else ''}, or --format.",
            ExitCode.USAGE,
        )
    return _SUFFIXES[suffix]


def write_json_atomically(path: Path, content: Mapping[str, Any]) -> None:
    """Replaces a file with JSON. The file is complete at all times. Raises OSError."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
