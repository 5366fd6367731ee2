"""Restores a backup to a temporary folder and checks the result, as a drill."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ..storage.backups.create import ReportProgress
from ..storage.backups.restore import restore
from ..storage.backups.verify import count_rows
from ..storage.databases import bring_up_to_date, transactions
from .check import Report, check_database


class Drill(NamedTuple):
    """A restored backup: its size in bytes and rows, its secret keys, and what the check found."""

    size: int
    rows: int
    key_fingerprints: list[str]
    report: Report


def rehearse_restore(backup: Path, report_progress: ReportProgress) -> Drill:
    """Restores a backup, migrates it if it is of an earlier version, and checks it.

    Raises StorageError if the backup cannot be restored.
    """
    fingerprints: list[str] = []
    with TemporaryDirectory(prefix="roster-restore-") as folder:
        database = Path(folder) / "roster.db"
        restored = restore(backup, database, fingerprints.extend, report_progress)
        url = f"sqlite:///{database}"
        bring_up_to_date(url, lambda _: None)
        with transactions(url) as begin:
            report = check_database(begin, database)
        return Drill(restored.size, count_rows(database), fingerprints, report)
