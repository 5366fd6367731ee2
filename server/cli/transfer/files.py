"""File formats, and atomic writes of small files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson

# Bytes per read or write.
CHUNK_BYTES = 1 << 17


class FileFormat(StrEnum):
    """Formats of files with subscribers."""

    CSV = "csv"
    NDJSON = "ndjson"


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


def write_json_atomically(path: Path, content: Mapping[str, Any]) -> None:
    """Replaces a file with JSON. The file is complete at all times. Raises OSError."""
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
