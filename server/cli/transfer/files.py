"""Files of rows, by the form that their names tell; and small files that are always whole."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

import orjson


class Form(StrEnum):
    """The forms in which rows are read and written."""

    CSV = "csv"
    NDJSON = "ndjson"


PACKED_ENDINGS = GZIP_ENDING, ZSTD_ENDING = ".gz", ".zst"
_ENDINGS = {
    ".csv": Form.CSV,
    ".tsv": Form.CSV,
    ".ndjson": Form.NDJSON,
    ".jsonl": Form.NDJSON,
}


def form_by_ending(name: str) -> Form | None:
    """Returns the form that the end of a file's name stands for, if it stands for one."""
    name = name.lower()
    for ending in PACKED_ENDINGS:
        name = name.removesuffix(ending)
    return _ENDINGS.get(Path(name).suffix)


def write_whole(path: Path, content: Mapping[str, Any]) -> None:
    """Writes JSON into a file so that there is always a whole one. Raises OSError."""
    beside = path.with_name(f"{path.name}.new")
    with beside.open("wb") as file:
        file.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
