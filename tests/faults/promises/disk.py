"""A disk that can lose its power: what was synced stays, of the rest some part does.

It stands between SQLite and the system's files, under the whole process, and notes what
is written to them. When the power goes it notes no more; whatever the process still
does, and says, was never done. What is on the disk then is, for each file, what it held
when it was last synced, and of what was written since all, nothing, the beginning, or any
sectors, some of them in part. A file that came or went since its folder was synced is
there or not.
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
# What SQLite keeps of a database in files; all others are of no account after a crash.
_KEPT = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL
_numbers = count(1)


@dataclass
class Inode:
    """A file: what is surely on the disk, and what was done since, in order.

    A change is where bytes were written, and which; or a new size and no bytes.
    """

    name: str
    synced: bytearray = field(default_factory=bytearray)
    changes: list[tuple[int, bytes | None]] = field(default_factory=list)

    def sync(self) -> None:
        for offset, data in self.changes:
            _apply(self.synced, offset, data)
        self.changes.clear()

    def after_power_cut(self, chance: random.Random) -> bytes:
        """Returns what the disk may hold."""
        content = bytearray(self.synced)
        way = chance.choice(("nothing", "all", "beginning", "any"))
        last = chance.randrange(len(self.changes) + 1)
        share, filler = chance.random(), chance.choice((None, chance))
        for number, (offset, data) in enumerate(self.changes):
            if way == "nothing" or (way == "beginning" and number >= last):
                break
            if way == "any" and data is not None:
                for place, part in _sectors(offset, data):
                    if chance.random() < share:
                        _apply(content, place, _torn(part, chance), filler)
            elif way != "any" or chance.random() < share:
                _apply(content, offset, data)
        return bytes(content)


def _apply(
    content: bytearray, offset: int, data: bytes | None, filler: random.Random | None = None
) -> None:
    """Writes data, or cuts to a size; a hole holds zeros, or whatever was there on the disk."""
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


def _torn(part: bytes, chance: random.Random) -> bytes:
    """Returns a sector, or now and then only the beginning of it."""
    return part if chance.random() < 0.9 else part[: chance.randrange(len(part) + 1)]


class Disk:
    """The files of a folder, which are all synced at first.

    The power goes at change number `power_cut_at`, counting those `of` one file or of all.
    A disk that `lies` says that it has synced, and has not.
    """

    def __init__(
        self, folder: Path, power_cut_at: int, *, of: str = "", lies: bool = False
    ) -> None:
        self.is_off = False
        self.last_changed = ""
        self._left, self._of, self._lies = power_cut_at, of, lies
        self._lock = threading.Lock()
        self._synced = {
            file.name: Inode(file.name, bytearray(file.read_bytes()))
            for file in folder.iterdir()
            if not file.name.endswith(("-shm", ".lock"))
        }
        self._files = dict(self._synced)

    def opened(self, name: str) -> Inode:
        """Returns a file, which is there from now on, if not for good."""
        with self._lock:
            return self._files.setdefault(name, Inode(name))

    def change(self, inode: Inode, offset: int, data: bytes | None) -> None:
        """Notes that bytes were written, or a file was cut."""
        with self._lock:
            if not self.is_off:
                inode.changes.append((offset, data))
                self._count(inode.name)

    def sync(self, inode: Inode, *, folder: bool) -> None:
        """Notes that a file was synced, and its folder if it was in there only for the moment."""
        with self._lock:
            if not self.is_off:
                self._count(inode.name)
            if self.is_off or self._lies:
                return
            inode.sync()
            if folder:
                self._synced = dict(self._files)

    def delete(self, name: str, *, folder: bool) -> None:
        """Notes that a file was deleted, and whether its folder was synced after that."""
        with self._lock:
            if self.is_off:
                return
            self._files.pop(name, None)
            self._count(name)
            if folder and not self.is_off and not self._lies:
                self._synced = dict(self._files)

    def _count(self, name: str) -> None:
        self.last_changed = name
        self._left -= name == self._of or not self._of
        self.is_off = self._left <= 0

    def cut_power(self) -> None:
        """Ends everything, unless that was before."""
        with self._lock:
            self.is_off = True

    def restore(self, folder: Path, chance: random.Random) -> None:
        """Writes what is on the disk after the power was cut into an empty folder."""
        for name in sorted(self._files.keys() | self._synced.keys()):
            inode = chance.choice((self._files.get(name), self._synced.get(name)))
            if inode is not None:
                (folder / name).write_bytes(inode.after_power_cut(chance))


class _File(apsw.VFSFile):
    """One of the files that the disk keeps."""

    def __init__(self, disk: Disk, name: str, filename: object, flags: list[int]) -> None:
        super().__init__("unix", filename, flags)
        self._disk, self._inode = disk, disk.opened(name)
        # SQLite does that with the first sync of a journal that it has opened.
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
        if name is None or not flags[0] & _KEPT:
            return apsw.VFSFile("unix", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return _File(self._disk, Path(path).name, name, flags)

    def xDelete(self, name: str, syncdir: bool) -> None:
        self._disk.delete(Path(name).name, folder=syncdir)
        super().xDelete(name, syncdir)


@contextmanager
def under_sqlite(disk: Disk) -> Iterator[None]:
    """Puts a disk under every database that this process opens while the block runs."""
    vfs = _Vfs(disk)
    try:
        yield
    finally:
        vfs.unregister()
