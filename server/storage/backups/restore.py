"""Restores a backup over a database that is not being served.

First, the backup is copied to a partial file in the directory of the database, including a
write-ahead log of the backup, and verified. Then, in this order:

1. The old database is checkpointed and its log is deleted. Otherwise SQLite would apply the
   old log to the new database. If the old database is too damaged, its log is renamed.
2. A hard link DATABASE.replaced-TIMESTAMP is created for the old database.
3. The directory is synced, and the partial file replaces the database.

So after a power failure, the database is either the old one or the new one, complete.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import NamedTuple

import apsw

from ..database import StorageError
from ..output_file import AtomicFile, kept_name, sync_folder
from ..sqlite.file import BUSY_SECONDS, file_lock, make_folder
from .atomic_file import replace_atomically
from .create import ReportProgress, check_part, copy
from .verify import identify, open_for_reading

# Suffixes of the files that SQLite would apply to a database.
_LOGS = ("-wal", "-shm", "-journal")


class Restored(NamedTuple):
    """The size of the restored database in bytes; `kept` is the path of the old one, if any."""

    size: int
    kept: Path | None
    kept_is_whole: bool


def restore(
    backup: Path,
    database: Path,
    accept: Callable[[list[str]], object],
    report_progress: ReportProgress,
) -> Restored:
    """Replaces a database with a backup.

    `accept` receives the fingerprints of the backup's secret keys. Raises StorageError, without
    effect, if the database is in use, the backup is not valid, or `accept` raises it.
    """
    make_folder(database)
    with ExitStack() as locks:
        locks.enter_context(file_lock(database))
        if database.is_symlink():
            # The link stays, and its target is replaced. SQLite's log is next to the target.
            database = database.resolve()
            locks.enter_context(file_lock(database))
        with open_for_reading(backup, lambda: None) as source:
            accept(identify(source, backup))
        with replace_atomically(database) as part:
            copy(backup, part, report_progress)
            check_part(part, backup, report_progress)
            return _replace(database, part)


def _replace(database: Path, part: AtomicFile) -> Restored:
    """Prepares the replacement: links the old database under another name."""
    size, is_whole = part.size, False
    kept = kept_name(database)
    has_old = database.is_file()
    if has_old:
        part.copy_permissions(database)
        is_whole = _checkpoint(database)
        os.link(database, kept)
    for log in _LOGS:
        file = database.with_name(f"{database.name}{log}")
        if file.exists():
            file.rename(kept.with_name(f"{kept.name}{log}"))
    sync_folder(database.parent)
    return Restored(size, kept if has_old else None, is_whole)


def _checkpoint(database: Path) -> bool:
    """Checkpoints a database and deletes its log. Returns whether it could be read.

    Raises StorageError if another program uses it.
    """
    try:
        with closing(apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READWRITE)) as link:
            link.set_busy_timeout(int(BUSY_SECONDS * 1000))
            link.execute("PRAGMA synchronous = full")
            link.execute("PRAGMA journal_mode = delete")
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StorageError(f"{database} is in use by another program.") from error
    except apsw.Error:
        return False
    return True
