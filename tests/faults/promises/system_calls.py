"""A failing disk below SQLite itself: what it asks the system to write fails there.

What a VFS of Python's raises reaches whoever called SQLite, even where SQLite itself goes on
as if nothing were, as it does when a checkpoint fails. Of the system's answers it makes what it
makes of a real disk's.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from .failing import FailingDisk

_PWRITE = "pwrite64"
_Write = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t,
    *(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64),
    use_errno=True,
)


@contextmanager
def below_sqlite(disk: FailingDisk) -> Iterator[None]:
    """Puts a disk below every database of this process while the block runs; its syncs are well."""
    vfs = apsw.VFS("system calls", "unix")
    write = _Write(vfs.xGetSystemCall(_PWRITE) or 0)

    @_Write
    def failing(file: int, data: int, size: int, offset: int) -> int:
        try:
            disk.write(Path(os.readlink(f"/proc/self/fd/{file}")).name)
        except apsw.FullError:
            ctypes.set_errno(errno.ENOSPC)
            return -1
        except apsw.IOError:
            ctypes.set_errno(errno.EIO)
            return -1
        return int(write(file, data, size, offset))

    vfs.xSetSystemCall(_PWRITE, ctypes.cast(failing, ctypes.c_void_p).value)
    try:
        yield
    finally:
        vfs.xSetSystemCall(_PWRITE, 0)
        vfs.unregister()
