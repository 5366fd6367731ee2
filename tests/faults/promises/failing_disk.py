"""A simulated disk that fails at one write or sync, or is full until space is freed."""

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
    """The kind of failure."""

    WRITE = "a write fails"
    SYNC = "a sync fails"
    FULL = "the disk is full"


class FailingDisk:
    """Fails once: at write or sync number `at`, or at the next one that can fail in this way.

    `of` names the only file that fails; empty means all files. A disk that `lasts` fails at
    every operation from there on.
    """

    def __init__(self, failure: Failure, at: int, *, of: str = "", lasts: bool = False) -> None:
        self.failure, self._left = failure, at
        self._of, self._lasts = of, lasts
        self._is_repaired = False
        self._lock = threading.Lock()
        # The failure, once it has happened.
        self.failed: Failure | None = None
        self.has_space = True

    def write(self, name: str) -> None:
        """Raises the error of a failing write before anything is written."""
        if self._fails(name, Failure.FULL):
            self.has_space = False
        if not self.has_space:
            raise apsw.FullError("the disk is full")
        if self._fails(name, Failure.WRITE, counts=False):
            raise _io_error(apsw.SQLITE_IOERR_WRITE)

    def sync(self, name: str) -> None:
        """Raises the error of a failing sync before a file is synced."""
        if self._fails(name, Failure.SYNC):
            raise _io_error(apsw.SQLITE_IOERR_FSYNC)

    def _fails(self, name: str, failure: Failure, *, counts: bool = True) -> bool:
        with self._lock:
            if self._of and name != self._of:
                return False
            self._left -= counts
            if self._left > 0 or self._is_repaired or failure is not self.failure:
                return False
            self.failed, self._is_repaired = failure, not self._lasts
            return True

    def repair(self) -> None:
        """Frees space and ends all failures."""
        with self._lock:
            self._is_repaired = self.has_space = True


def _io_error(code: int) -> apsw.IOError:
    error: Any = apsw.IOError("the disk failed")
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
        # There is no power cut here, so that no sync is needed.
        self._disk.sync(self._name)


def _name_of(filename: Any) -> str:
    """Returns the file name without its folder; empty for temporary files."""
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
    """Makes this the disk of every database that this process opens while the block runs."""
    vfs = _Vfs(disk)
    try:
        yield
    finally:
        vfs.unregister()
