"""Makes a backup of a SQLite file while it is served.

`VACUUM INTO` reads the database on one view, that of the moment when it begins, over a
connection of its own. Nobody who writes waits for it. The write-ahead log grows meanwhile
by what is written, since it cannot begin anew before the view has ended. What comes out is
one file without a log, and without the room that deleted rows had left.

The copy is synced and checked, and then takes the name of the backup. It holds no secret
key: a backup that lies beside the key to it is as open as one without sealing.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw
from playhouse.apsw_ext import APSWDatabase

from ...clock import Clock, system_clock
from ...output_file import AtomicFile, opened
from ..sqlite.file import size_of
from .atomic_file import BackupWriteError, replace_atomically
from .verify import check, identify, open_for_reading

COPYING, CHECKING = "copying", "checking"
# Told what is being done, how many bytes are done, and of how many; what it raises ends it.
ReportProgress = Callable[[str, int, int], None]


class Backup(NamedTuple):
    """A backup: its moment (milliseconds since 1970), its bytes, and the fingerprint of its key."""

    file: Path
    created_at: int
    size: int
    key_fingerprint: str | None


def back_up(
    source: Path, target: Path, report_progress: ReportProgress, *, clock: Clock = system_clock
) -> Backup:
    """Writes a whole and checked copy of a database to a file, in place of one that is there.

    Raises StorageError if the database is damaged or none of Roster's, and Interrupted if the
    file cannot be written; then it is not there, or is what it was.
    """
    with replace_atomically(target) as part:
        created_at = clock()
        copy(source, part, report_progress)
        return Backup(target, created_at, part.size, check_part(part, source, report_progress))


def stream_backup(source: Path, target: str, report_progress: ReportProgress) -> Backup:
    """Writes a whole and checked copy of a database to a name that is opened and not replaced.

    The copy is made and checked in a temporary folder before its first byte is written. Raises
    StorageError as `back_up` does.
    """
    with TemporaryDirectory(prefix="roster-backup-") as folder:
        made = back_up(source, Path(folder) / "roster.db", report_progress)
        try:
            with made.file.open("rb") as file, opened(target) as sink:
                shutil.copyfileobj(file, sink)
        except OSError as error:
            raise BackupWriteError(f"{target} cannot be written: {error.strerror}.") from error
    return made._replace(file=Path(target))


def copy(source: Path, part: AtomicFile, report_progress: ReportProgress) -> None:
    """Fills a part with what a database holds. Raises StorageError."""
    total = size_of(source) + size_of(source.with_name(f"{source.name}-wal"))
    room = shutil.disk_usage(part.path.parent).free
    if room < total:
        raise BackupWriteError(
            f"{part.path.parent} has no room: {room:,} bytes are free, and {source} takes"
            f" {total:,}."
        )
    with open_for_reading(source, lambda: report_progress(COPYING, part.size, total)) as database:
        identify(database, source)
        _vacuum(database, part)
    part.sync()


def _vacuum(database: APSWDatabase, part: AtomicFile) -> None:
    try:
        database.connection().execute("VACUUM INTO ?", (str(part.path),))
    except apsw.FullError as error:
        raise BackupWriteError(f"{part.path.parent} has no room left.") from error
    except (apsw.IOError, apsw.CantOpenError) as error:
        raise BackupWriteError(f"{part.path} cannot be written: {error}.") from error


def check_part(part: AtomicFile, name: Path, report_progress: ReportProgress) -> str | None:
    """Reads what was written, and returns the fingerprint of its key. Raises StorageError.

    What is wrong with it is told of `name`.
    """
    size = part.size
    with open_for_reading(part.path, lambda: report_progress(CHECKING, size, size)) as database:
        check(database, name)
        return identify(database, name)
