"""A failing disk below SQLite: its system calls for writes fail.

An exception of a Python VFS reaches the caller even where SQLite ignores an error, as it does
when a checkpoint fails. A failing system call is handled as a failure of a real disk.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from .failing_disk import FailingDisk

_PWRITE = "pwrite64"
_Write = ctypes.CFUNCTYPE(
    ctypes.c_ssize_t,
    *(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int64),
    use_errno=True,
)


@contextmanager
def below_sqlite(disk: FailingDisk) -> Iterator[None]:
    """Makes the writes of every database of this process fail as the disk does. Syncs succeed."""
    vfs = apsw.VFS("system calls", "unix")
    write = _Write(vfs.xGetSystemCall(_PWRITE) or 0)

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

    # SQLite keeps only the address, so that this has to outlive the block.
    callback = _Write(failing)
    vfs.xSetSystemCall(_PWRITE, ctypes.cast(callback, ctypes.c_void_p).value)
    try:
        yield
    finally:
        vfs.xSetSystemCall(_PWRITE, 0)
        vfs.unregister()
