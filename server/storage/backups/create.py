"""Creates backups of a SQLite database while it is served.

`VACUUM INTO` reads one snapshot over a separate connection, so writers do not wait for it.
The write-ahead log grows in the meantime, because it cannot be reset during the snapshot.
The result is one compact file without a log.

The file is synced and verified before it gets the name of the backup. It does not include
the secret key; keep the two in different places.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import apsw
from playhouse.apsw_ext import APSWDatabase

from ...values.clock import Clock, system_clock
from ..output_file import AtomicFile, open_stream
from ..sqlite.file import size_of
from .atomic_file import BackupWriteError, replace_atomically
from .verify import check, identify, open_for_reading

COPYING, CHECKING = "copying", "checking"
# Receives the current phase, the bytes done and the total. An exception cancels the backup.
ReportProgress = Callable[[str, int, int], None]


class Backup(NamedTuple):
    """A backup; `created_at` in milliseconds since 1970, `size` in bytes.

    `key_fingerprint` is that of its newest secret key.
    """

    file: Path
    created_at: int
    size: int
    key_fingerprint: str | None


def back_up(
    source: Path, target: Path, report_progress: ReportProgress, *, clock: Clock = system_clock
) -> Backup:
    """Writes a verified backup of a database to a file, replacing an existing one.

    Raises StorageError if the database is damaged or not a Roster database, and
    BackupWriteError if the file cannot be written. The target is then unchanged.
    """
    with replace_atomically(target) as part:
        created_at = clock()
        copy(source, part, report_progress)
        newest = next(iter(check_part(part, source, report_progress)), None)
        return Backup(target, created_at, part.size, newest)


def stream_backup(source: Path, target: str, report_progress: ReportProgress) -> Backup:
    """Writes a verified backup to a target that cannot be replaced, such as a pipe.

    The backup is created and verified in a temporary directory first. Raises StorageError as
    `back_up` does.
    """
    with TemporaryDirectory(prefix="roster-backup-") as folder:
        made = back_up(source, Path(folder) / "roster.db", report_progress)
        try:
            with made.file.open("rb") as file, open_stream(target) as sink:
                shutil.copyfileobj(file, sink)
        except OSError as error:
            raise BackupWriteError(f"{target} cannot be written: {error.strerror}.") from error
    return made._replace(file=Path(target))


def copy(source: Path, part: AtomicFile, report_progress: ReportProgress) -> None:
    """Copies a database into a partial file. Raises StorageError."""
    total = size_of(source) + size_of(source.with_name(f"{source.name}-wal"))
    free = shutil.disk_usage(part.path.parent).free
    if free < total:
        raise BackupWriteError(
            f"Not enough space in {part.path.parent}: {free:,} bytes are free, {total:,} are needed"
            f" for {source}."
        )
    with open_for_reading(source, lambda: report_progress(COPYING, part.size, total)) as database:
        identify(database, source)
        _vacuum(database, part)
    part.sync()


def _vacuum(database: APSWDatabase, part: AtomicFile) -> None:
    try:
        database.connection().execute("VACUUM INTO ?", (str(part.path),))
    except apsw.FullError as error:
        raise BackupWriteError(
            f"No space left in {part.path.parent}. Free some space, then try again."
        ) from error
    except (apsw.IOError, apsw.CantOpenError) as error:
        raise BackupWriteError(f"{part.path} cannot be written: {error}.") from error


def check_part(part: AtomicFile, name: Path, report_progress: ReportProgress) -> list[str]:
    """Verifies a partial file, and returns the fingerprints of its secret keys.

    Raises StorageError, with `name` in its message.
    """
    size = part.size
    with open_for_reading(part.path, lambda: report_progress(CHECKING, size, size)) as database:
        check(database, name)
        return identify(database, name)
