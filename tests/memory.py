"""Temporary files in memory where there is room, because commits to a disk slow down tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .reaper import DISK, SHARED, prefix

# In some containers /dev/shm has only a few megabytes.
ENOUGH_BYTES = 2 << 30


@contextmanager
def copied(file: Path) -> Iterator[Path]:
    """Copies a file into a temporary folder in the same folder for the length of a block."""
    with tempfile.TemporaryDirectory(dir=file.parent) as name:
        yield Path(shutil.copy(file, name))


@contextmanager
def folder(*, on_disk: bool = False) -> Iterator[Path]:
    """Creates a folder for the length of a block. Measurements need one on a disk."""
    there = os.access(SHARED, os.W_OK) and shutil.disk_usage(SHARED).free > ENOUGH_BYTES
    place = DISK if on_disk else SHARED if there else None
    with tempfile.TemporaryDirectory(prefix=prefix(), dir=place) as name:
        yield Path(name)
