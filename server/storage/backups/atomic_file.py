"""Writes backup files atomically, readable only by their owner."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..database import StorageError
from ..output_file import AtomicFile


class BackupWriteError(StorageError):
    """A backup could not be written. The message is for the operator."""


@contextmanager
def replace_atomically(target: Path) -> Iterator[AtomicFile]:
    """Yields an empty partial file, which replaces `target` when the block succeeds.

    Deletes it if the block fails. Raises BackupWriteError if it cannot be written, or if
    another process is writing it.
    """
    try:
        part = AtomicFile(target, mode=0o600)
        try:
            part.truncate(0)
            os.fchmod(part.file.fileno(), 0o600)
            yield part
            part.publish()
        except BaseException:
            part.discard()
            raise
    except OSError as error:
        raise BackupWriteError(f"{target} cannot be written: {error.strerror}.") from error
