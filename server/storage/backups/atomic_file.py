"""A backup that is there whole or not at all, for its owner alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...output_file import AtomicFile
from ..database import StorageError


class BackupWriteError(StorageError):
    """What was being written could not be; the text tells the operator why."""


@contextmanager
def replace_atomically(target: Path) -> Iterator[AtomicFile]:
    """Yields an empty part, which becomes `target` if the block ends well, and goes if not.

    Raises Interrupted if it cannot be written, or another process is writing it.
    """
    try:
        part = AtomicFile(target, mode=0o600)
        try:
            part.cut(0)
            os.fchmod(part.file.fileno(), 0o600)
            yield part
            part.publish()
        except BaseException:
            part.discard()
            raise
    except OSError as error:
        raise BackupWriteError(f"{target} cannot be written: {error.strerror}.") from error
