"""A simulated disk that can lose its power. Synced data stays, and any part of the rest.

It records what SQLite writes to files. After the power cut it records nothing, so that later
writes and syncs have no effect. Each file then holds its content at its last sync, and of the
writes since then: all, none, the first ones, or any sectors, some of them incomplete. A file
that was created or deleted since the last sync of its folder exists or not.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import apsw

SECTOR = 512
# Files that matter after a crash. SQLite recreates all others.
_DATABASE_FILES = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL
_numbers = count(1)


@dataclass
class Inode:
    """A file: its synced content, and the changes since then in order.

    A change is an offset and the written bytes, or a new size and None.
    """

    name: str
    synced: bytearray = field(default_factory=bytearray)
    changes: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.changes:
            _apply(self.synced, offset, data)
        self.changes.clear()

    def after_power_cut(self, rng: random.Random) -> bytes:
        """Returns a content that the disk may hold after a power cut."""
        content = bytearray(self.synced)
        survives = rng.choice(("nothing", "all", "beginning", "any"))
        last = rng.randrange(len(self.changes) + 1)
        share, filler = rng.random(), rng.choice((None, rng))
        for number, (offset, data) in enumerate(self.changes):
            if survives == "nothing" or (survives == "beginning" and number >= last):
                break
            if survives == "any" and data is not None:
                for position, part in _sectors(offset, data):
                    if rng.random() < share:
                        _apply(content, position, _torn(part, rng), filler)
            elif survives != "any" or rng.random() < share:
                _apply(content, offset, data)
        return bytes(content)


def _apply(
    content: bytearray, offset: int, data: bytes | None, filler: random.Random | None = None
) -> None:
    """Writes data, or truncates to a size. Holes contain zeros or random bytes."""
    if data is None:
        del content[offset:]
        content.extend(bytes(offset - len(content)))
        return
    hole = max(offset - len(content), 0)
    content.extend(filler.randbytes(hole) if filler else bytes(hole))
    content[offset : offset + len(data)] = data


def _sectors(offset: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    start = 0
    while start < len(data):
        end = start + SECTOR - (offset + start) % SECTOR
        yield offset + start, data[start:end]
        start = end


def _torn(part: bytes, rng: random.Random) -> bytes:
    """Returns a sector, or sometimes only its beginning."""
    return part if rng.random() < 0.9 else part[: rng.randrange(len(part) + 1)]


class Disk:
    """The files of a folder, all synced at first.

    The power fails at change number `power_cut_at`, counting those `of` one file or of all
    files. A disk that `lies` reports syncs that it did not do.
    """

    def __init__(self, folder: Path, power_cut_at: int, *, of: str = "") -> None:
        self.is_off = False
        self.last_changed = ""
        self._left, self._of = power_cut_at, of
        self._lock = threading.Lock()
        self._synced = {
            file.name: Inode(file.name, bytearray(file.read_bytes()))
            for file in folder.iterdir()
            if not file.name.endswith(("-shm", ".lock"))
        }
        self._files = dict(self._synced)

    def opened(self, name: str) -> Inode:
        """Opens or creates a file. A new file is not yet in the synced folder."""
        with self._lock:
            return self._files.setdefault(name, Inode(name))

    def change(self, inode: Inode, offset: int, data: bytes | None) -> None:
        """Records that bytes were written or a file was truncated."""
        with self._lock:
            if not self.is_off:
                inode.changes.append((offset, data))
                self._count(inode.name)

    def sync(self, inode: Inode, *, folder: bool) -> None:
        """Records that a file was synced, and its folder with it if `folder` is set."""
        with self._lock:
            if not self.is_off:
                self._count(inode.name)
            if self.is_off:
                return
            inode.sync()
            if folder:
                self._synced = dict(self._files)

    def delete(self, name: str, *, folder: bool) -> None:
        """Records that a file was deleted, and whether its folder was synced after that."""
        with self._lock:
            if self.is_off:
                return
            self._files.pop(name, None)
            self._count(name)
            if folder and not self.is_off:
                self._synced = dict(self._files)

    def _count(self, name: str) -> None:
        self.last_changed = name
        self._left -= name == self._of or not self._of
        self.is_off = self._left <= 0

    def cut_power(self) -> None:
        with self._lock:
            self.is_off = True

    def restore(self, folder: Path, rng: random.Random) -> None:
        """Writes what the disk holds after the power cut into an empty folder."""
        for name in sorted(self._files.keys() | self._synced.keys()):
            inode = rng.choice((self._files.get(name), self._synced.get(name)))
            if inode is not None:
                (folder / name).write_bytes(inode.after_power_cut(rng))


class _File(apsw.VFSFile):
    def __init__(self, disk: Disk, name: str, filename: object, flags: list[int]) -> None:
        super().__init__("unix", filename, flags)
        self._disk, self._inode = disk, disk.opened(name)
        # SQLite syncs the folder with the first sync of a journal that it has opened.
        self._syncs_folder = not flags[0] & apsw.SQLITE_OPEN_MAIN_DB

    def xWrite(self, data: bytes, offset: int) -> None:
        self._disk.change(self._inode, offset, bytes(data))
        super().xWrite(data, offset)

    def xTruncate(self, size: int) -> None:
        self._disk.change(self._inode, size, None)
        super().xTruncate(size)

    def xSync(self, flags: int) -> None:
        self._disk.sync(self._inode, folder=self._syncs_folder)
        self._syncs_folder = False


class _Vfs(apsw.VFS):
    def __init__(self, disk: Disk) -> None:
        super().__init__(f"disk {next(_numbers)}", "unix", makedefault=True)
        self._disk = disk

    def xOpen(self, name: apsw.URIFilename | str | None, flags: list[int]) -> apsw.VFSFile:
        if name is None or not flags[0] & _DATABASE_FILES:
            return apsw.VFSFile("unix", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return _File(self._disk, Path(path).name, name, flags)

    def xDelete(self, name: str, syncdir: bool) -> None:
        self._disk.delete(Path(name).name, folder=syncdir)
        super().xDelete(name, syncdir)


@contextmanager
def under_sqlite(disk: Disk) -> Iterator[None]:
    """Makes this the disk of every database that this process opens while the block runs."""
    vfs = _Vfs(disk)
    try:
        yield
    finally:
        vfs.unregister()
