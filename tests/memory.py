"""Temporary files in memory where there is room, because commits to a disk slow down tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .reaper import SHARED, prefix

# In some containers /dev/shm has only a few megabytes.
ENOUGH_BYTES = 2 << 30


@contextmanager
def copied(file: Path) -> Iterator[Path]:
    """Copies a file into a temporary folder in the same folder for the length of a block."""
    with tempfile.TemporaryDirectory(dir=file.parent) as name:
        yield Path(shutil.copy(file, name))


@contextmanager
def folder(needed_bytes: int = ENOUGH_BYTES) -> Iterator[Path]:
    """Creates a folder for the length of a block."""
    there = os.access(SHARED, os.W_OK) and shutil.disk_usage(SHARED).free > needed_bytes
    with tempfile.TemporaryDirectory(prefix=prefix(), dir=SHARED if there else None) as name:
        yield Path(name)
