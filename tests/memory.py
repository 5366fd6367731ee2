"""Files that need not outlast a crash of the machine, kept in memory where there is room.

A commit on a disk waits for the disk, which takes longer than most tests.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .reaper import SHARED, prefix

# In some containers the folder in memory is a few megabytes large.
ENOUGH_BYTES = 2 << 30


@contextmanager
def copied(file: Path) -> Iterator[Path]:
    """Copies a file into a folder of its own, beside it, for the length of a block."""
    with tempfile.TemporaryDirectory(dir=file.parent) as name:
        yield Path(shutil.copy(file, name))


@contextmanager
def folder() -> Iterator[Path]:
    """Makes a folder for the length of a block."""
    there = os.access(SHARED, os.W_OK) and shutil.disk_usage(SHARED).free > ENOUGH_BYTES
    with tempfile.TemporaryDirectory(prefix=prefix(), dir=SHARED if there else None) as name:
        yield Path(name)
