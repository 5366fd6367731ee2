"""Output files: regular files are replaced atomically, all others are opened and written.

A regular file is written as NAME.part in the same folder, and renamed when it is complete and on
disk. After a crash, it is either complete or unchanged. The target of a symbolic link is replaced,
not the link.

Devices, FIFOs and sockets are never replaced or deleted. A file that is the standard output or
standard error of this process is not either: it is written through that stream.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO, TextIO

# The file name for standard input or output.
STANDARD = "-"
PART_SUFFIX = ".part"


def replaceable(name: str) -> Path | None:
    """Returns the path of the regular file, present or not, that output to a name replaces.

    Returns None if the name must be opened and written instead. Raises OSError if it is a folder
    or cannot be accessed.
    """
    if standard_stream(name) is not None:
        return None
    try:
        mode = os.stat(name).st_mode
    except FileNotFoundError:
        return Path(os.path.realpath(name))
    if S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    return Path(os.path.realpath(name)) if S_ISREG(mode) else None


def standard_stream(name: str) -> TextIO | None:
    """Returns the standard stream that a name denotes: "-", /dev/stderr, or the same file."""
    if name == STANDARD:
        return sys.stdout
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            if os.path.samestat(os.stat(name), os.fstat(stream.fileno())):
                return stream
    return None


@contextmanager
def open_stream(name: str) -> Iterator[BinaryIO]:
    """Opens a device, FIFO or stream for writing; a FIFO waits for its reader. Raises OSError."""
    stream = standard_stream(name)
    if stream is None:
        with os.fdopen(os.open(name, os.O_WRONLY | os.O_CLOEXEC), "wb") as file:
            yield file
        return
    stream.flush()
    yield stream.buffer
    stream.flush()


class AtomicFile:
    """A partial file NAME.part, locked against other processes until it replaces the target.

    Content from an earlier process is kept.
    """

    def __init__(self, target: Path, *, suffix: str = PART_SUFFIX, mode: int = 0o666) -> None:
        """Opens the partial file. Raises OSError, also if another process is writing it."""
        self.target = target
        self.path = target.with_name(f"{target.name}{suffix}")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self.file = os.fdopen(os.open(self.path, flags, mode), "r+b")
        try:
            self._lock()
        except OSError:
            self.file.close()
            raise

    @property
    def size(self) -> int:
        """The size of the partial file in bytes."""
        return os.fstat(self.file.fileno()).st_size

    def truncate(self, size: int) -> None:
        """Keeps the first bytes, and continues after them. Raises OSError."""
        self.file.truncate(size)
        self.file.seek(size)

    def sync(self) -> None:
        """Returns when the written data is on disk. Raises OSError."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def copy_permissions(self, other: Path) -> None:
        """Copies the mode of another file and, as root, its owner. Raises OSError."""
        status = other.stat()
        os.fchmod(self.file.fileno(), status.st_mode & 0o777)
        if os.geteuid() == 0:
            os.fchown(self.file.fileno(), status.st_uid, status.st_gid)

    def publish(self) -> None:
        """Replaces the target. Raises OSError."""
        self.sync()
        self.path.replace(self.target)
        self.close()
        sync_folder(self.target.parent)

    def discard(self) -> None:
        """Deletes the partial file. Raises OSError."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Closes the partial file without deleting it."""
        self.file.close()

    def _lock(self) -> None:
        """Locks the file, unless another process has locked or published it."""
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(self.file.fileno()), self.path.stat()):
                return
        raise OSError(errno.EBUSY, "another process is writing it")


def kept_name(file: Path) -> Path:
    """Returns a new name in the same folder, under which a file is kept when it is replaced."""
    timestamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    return file.with_name(f"{file.name}.replaced-{timestamp}")


def sync_folder(folder: Path) -> None:
    """Returns when the names in a folder are on disk. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
