"""Puts a backup in the place of a database that nobody serves.

The backup is copied to a part beside the database, and checked there, before anything is
touched; that also takes in a log which lies beside the backup. Then, in this order:

1. The database that is to go is closed for good: SQLite moves its log into it, and removes
   the log. No log of the old one may be there when the new one comes, since SQLite would
   play it into that. One that is too damaged for it keeps its log, under another name.
2. It gets a second name, DATABASE.replaced-MOMENT.
3. These names are synced, and the part takes the place of the first name.

So whenever the power goes, the database is the old one or the new one, whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import apsw

from ...output_file import AtomicFile, sync_folder
from ..database import StorageError
from ..sqlite.file import BUSY_SECONDS, FileLock, make_folder
from .atomic_file import replace_atomically
from .create import ReportProgress, check_part, copy
from .verify import identify, open_for_reading

# What SQLite may have beside a database, and would take for its own.
_LOGS = ("-wal", "-shm", "-journal")
_TIMESTAMP = "%Y%m%dT%H%M%S.%fZ"


class Restored(NamedTuple):
    """How many bytes there are now; and where the old database is, if any, and if it is whole."""

    size: int
    kept: Path | None
    kept_is_whole: bool


def restore(
    backup: Path,
    database: Path,
    accept: Callable[[str | None], None],
    report_progress: ReportProgress,
) -> Restored:
    """Makes a database what a backup holds. `accept` is given the fingerprint of its key.

    Raises StorageError, and leaves everything as it was, if the database is in use, the
    backup is no whole database that this program knows, or `accept` raises it.
    """
    make_folder(database)
    lock = FileLock(database)
    lock.acquire()
    try:
        with open_for_reading(backup, lambda: None) as source:
            accept(identify(source, backup))
        with replace_atomically(database) as part:
            copy(backup, part, report_progress)
            check_part(part, backup, report_progress)
            return _replace(database, part)
    finally:
        lock.release()


def _replace(database: Path, part: AtomicFile) -> Restored:
    """Gives the old database another name as well, so that the part can take its place."""
    size, is_whole = part.size, False
    kept = database.with_name(f"{database.name}.replaced-{datetime.now(UTC).strftime(_TIMESTAMP)}")
    has_old = database.is_file()
    if has_old:
        part.belong_like(database)
        is_whole = _closed_for_good(database)
        os.link(database, kept)
    for log in _LOGS:
        file = database.with_name(f"{database.name}{log}")
        if file.exists():
            file.rename(kept.with_name(f"{kept.name}{log}"))
    sync_folder(database.parent)
    return Restored(size, kept if has_old else None, is_whole)


def _closed_for_good(database: Path) -> bool:
    """Moves the log of a database into it. Returns whether it could be read.

    Raises StorageError if another program has it open.
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
