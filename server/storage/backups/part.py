"""A file that is there whole or not at all, whatever ends the program or the machine.

It is written as NAME.part, in the same folder, for its owner alone, and takes its name
when all of it is on the disk. What a process that was killed left of one is taken over by
the next that writes the same file; a lock tells whether one is still being written.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..database import StorageError

ENDING = ".part"


class BrokenOff(StorageError):
    """What was being written could not be; the text tells the operator why."""


class Part:
    """A file that is being written, whose lock this process has."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self._handle = handle

    @property
    def size(self) -> int:
        """How many bytes of it have been written."""
        return os.fstat(self._handle).st_size

    def sync(self) -> None:
        """Returns once what has been written is on the disk. Raises OSError."""
        os.fsync(self._handle)

    def belong_like(self, other: Path) -> None:
        """Takes the mode of another file, and its owner where this user may. Raises OSError."""
        like = other.stat()
        os.fchmod(self._handle, like.st_mode & 0o777)
        if os.geteuid() == 0:
            os.fchown(self._handle, like.st_uid, like.st_gid)


@contextmanager
def appearing(target: Path) -> Iterator[Part]:
    """Yields an empty part, which becomes `target` if the block ends well, and goes if not.

    Raises BrokenOff if it cannot be written, or another process is writing it.
    """
    try:
        with _claimed(target.with_name(f"{target.name}{ENDING}")) as part:
            try:
                yield part
                part.sync()
                part.path.replace(target)
            except BaseException:
                part.path.unlink(missing_ok=True)
                raise
        sync_folder(target.parent)
    except OSError as error:
        raise BrokenOff(f"{target} cannot be written: {error.strerror}.") from error


@contextmanager
def _claimed(path: Path) -> Iterator[Part]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not _lock(handle, path):
            raise BrokenOff(f"{path} is being written by another process.")
        os.ftruncate(handle, 0)
        os.fchmod(handle, 0o600)
        yield Part(path, handle)
    finally:
        os.close(handle)


def _lock(handle: int, path: Path) -> bool:
    """Locks a file unless another process has it, or has given it its name meanwhile."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return os.path.samestat(os.fstat(handle), path.stat())
    except (BlockingIOError, FileNotFoundError):
        return False


def sync_folder(folder: Path) -> None:
    """Returns once the names in a folder are on the disk. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
