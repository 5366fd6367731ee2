"""Output files: a regular file is replaced as a whole, anything else is opened and written to.

A regular file is written as NAME.part in the same folder, and takes its name when all of it
is on the disk. So it is complete or as it was, however the program or the machine ends. If it
is a symbolic link, the link stays and the file that it points to is replaced.

Devices, FIFOs and sockets are never renamed over or removed. Nor is a file that the standard
output or standard error of this process goes to: it is written through that stream.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO, TextIO

# The name that stands for standard input or output.
STANDARD = "-"
ENDING = ".part"


def replaceable(name: str) -> Path | None:
    """Returns the regular file, present or not, that output to a name replaces.

    Returns None if the name is to be opened and written to instead. Raises OSError if it is a
    folder or cannot be looked up.
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
    """Returns the standard stream that a name leads to: "-", /dev/stderr or the file behind it."""
    if name == STANDARD:
        return sys.stdout
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            if os.path.samestat(os.stat(name), os.fstat(stream.fileno())):
                return stream
    return None


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Opens what is not replaced, to write to it; a FIFO waits for its reader. Raises OSError."""
    stream = standard_stream(name)
    if stream is None:
        with os.fdopen(os.open(name, os.O_WRONLY | os.O_CLOEXEC), "wb") as file:
            yield file
        return
    stream.flush()
    yield stream.buffer
    stream.flush()


class AtomicFile:
    """A file that is being written as NAME.part, and which no other process writes meanwhile.

    What a process that was killed left of it is taken over by the next.
    """

    def __init__(self, target: Path, *, ending: str = ENDING, mode: int = 0o666) -> None:
        """Opens the part. Raises OSError if it cannot be written, or another process does."""
        self.target = target
        self.path = target.with_name(f"{target.name}{ending}")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self.file = os.fdopen(os.open(self.path, flags, mode), "r+b")
        try:
            self._lock()
        except OSError:
            self.file.close()
            raise

    @property
    def size(self) -> int:
        """How many bytes of it have been written."""
        return os.fstat(self.file.fileno()).st_size

    def cut(self, size: int) -> None:
        """Keeps the first bytes alone, and goes on after them. Raises OSError."""
        self.file.truncate(size)
        self.file.seek(size)

    def sync(self) -> None:
        """Returns once what has been written is on the disk. Raises OSError."""
        self.file.flush()
        os.fsync(self.file.fileno())

    def belong_like(self, other: Path) -> None:
        """Takes the mode of another file, and its owner where this user may. Raises OSError."""
        like = other.stat()
        os.fchmod(self.file.fileno(), like.st_mode & 0o777)
        if os.geteuid() == 0:
            os.fchown(self.file.fileno(), like.st_uid, like.st_gid)

    def publish(self) -> None:
        """Gives the file its name, in place of one that is there. Raises OSError."""
        self.sync()
        self.path.replace(self.target)
        self.close()
        sync_folder(self.target.parent)

    def discard(self) -> None:
        """Removes the part. Raises OSError."""
        self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Closes the part, which stays."""
        self.file.close()

    def _lock(self) -> None:
        """Locks the file unless another process has it, or has given it its name meanwhile."""
        with suppress(BlockingIOError, FileNotFoundError):
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(self.file.fileno()), self.path.stat()):
                return
        raise OSError(errno.EBUSY, "another process is writing it")


def sync_folder(folder: Path) -> None:
    """Returns once the names in a folder are on the disk. Raises OSError."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
