"""A disk that fails at one write or sync, or is full from one write on until there is room."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from itertools import count
from pathlib import Path
from typing import Any

import apsw

_numbers = count(1)


class Failure(Enum):
    """What fails."""

    WRITE = "a write fails"
    SYNC = "a sync fails"
    FULL = "there is no room for what is written"


class FailingDisk:
    """Fails once: at write or sync number `at`, or the first one after it that can fail so.

    Of one file, where it is named, and all others are well. One that `lasts` fails at each
    from there on.
    """

    def __init__(self, failure: Failure, at: int, *, of: str = "", lasts: bool = False) -> None:
        self.failure, self._left = failure, at
        self._of, self._lasts = of, lasts
        self._is_mended = False
        self._lock = threading.Lock()
        # What failed, once it has; and whether there is room for what is written.
        self.failed: Failure | None = None
        self.has_room = True

    def write(self, name: str) -> None:
        """Raises, before anything is written to a file, what tells SQLite of a failure."""
        if self._fails(name, Failure.FULL):
            self.has_room = False
        if not self.has_room:
            raise apsw.FullError("there is no room")
        if self._fails(name, Failure.WRITE, counts=False):
            raise _io_error(apsw.SQLITE_IOERR_WRITE)

    def sync(self, name: str) -> None:
        """Raises, before a file is synced, what tells SQLite of a failure."""
        if self._fails(name, Failure.SYNC):
            raise _io_error(apsw.SQLITE_IOERR_FSYNC)

    def _fails(self, name: str, failure: Failure, *, counts: bool = True) -> bool:
        with self._lock:
            if self._of and name != self._of:
                return False
            self._left -= counts
            if self._left > 0 or self._is_mended or failure is not self.failure:
                return False
            self.failed, self._is_mended = failure, not self._lasts
            return True

    def mend(self) -> None:
        """Makes room, and fails no more."""
        with self._lock:
            self._is_mended = self.has_room = True


def _io_error(code: int) -> apsw.IOError:
    error = apsw.IOError("the disk failed")
    error.extendedresult = code
    return error


class _File(apsw.VFSFile):
    def __init__(self, disk: FailingDisk, filename: Any, flags: list[int]) -> None:
        super().__init__("unix", filename, flags)
        self._disk, self._name = disk, _name_of(filename)

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.write(self._name)
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:
        # Nothing here loses its power, so nothing has to be synced.
        self._disk.sync(self._name)


def _name_of(filename: Any) -> str:
    """Returns the name of a file without its folder; none of one that only SQLite knows."""
    path = filename.filename() if isinstance(filename, apsw.URIFilename) else filename
    return Path(path).name if path else ""


class _Vfs(apsw.VFS):
    def __init__(self, disk: FailingDisk) -> None:
        super().__init__(f"failing disk {next(_numbers)}", "unix", makedefault=True)
        self._disk = disk

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> apsw.VFSFile:
        return _File(self._disk, name, flags)


@contextmanager
def under_sqlite(disk: FailingDisk) -> Iterator[None]:
    """Puts a disk under every database that this process opens while the block runs."""
    vfs = _Vfs(disk)
    try:
        yield
    finally:
        vfs.unregister()
