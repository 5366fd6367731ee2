"""Names the backups of a database in a directory, and selects the expired ones.

A backup is named DATABASE-TIMESTAMP.db, in UTC, so that names sort by time. The last backup of each
of the latest 24 hours with a backup is retained, and of each of the latest 7 days with a backup.
Hours and days without a backup do not count, so downtime deletes none. Backups with a timestamp in
the future, from a wrong clock, are counted separately, so that they delete no others. Other files
are never deleted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..output_file import PART_SUFFIX

HOURS, DAYS = 24, 7
INTERVAL = timedelta(hours=1)
_TIMESTAMP = "%Y%m%dT%H%M%SZ"


class BackupFolder:
    """The backups of a database in a directory; its file name must be unique there."""

    def __init__(self, folder: Path, database: Path) -> None:
        self._folder, self._stem = folder, database.stem
        self._name = re.compile(rf"{re.escape(database.stem)}-(\d{{8}}T\d{{6}}Z)\.db")

    def name(self, timestamp: datetime) -> Path:
        return self._folder / f"{self._stem}-{timestamp.strftime(_TIMESTAMP)}.db"

    def all(self) -> dict[datetime, Path]:
        """Returns the existing backups by timestamp. Raises OSError."""
        return {
            datetime.strptime(match[1], _TIMESTAMP).replace(tzinfo=UTC): path
            for path in self._folder.iterdir()
            if (match := self._name.fullmatch(path.name))
        }

    def partial_files(self) -> list[Path]:
        """Returns the partial files of unfinished backups. Raises OSError."""
        return [
            path
            for path in self._folder.iterdir()
            if path.name.endswith(PART_SUFFIX)
            and self._name.fullmatch(path.name[: -len(PART_SUFFIX)])
        ]


def newest(timestamps: Iterable[datetime], now: datetime) -> datetime | None:
    """Returns the latest timestamp that is not in the future; None if there is none."""
    return max((timestamp for timestamp in timestamps if timestamp <= now), default=None)


def expired(timestamps: Iterable[datetime], now: datetime) -> set[datetime]:
    """Returns the timestamps of backups to delete; never the newest."""
    newest_first = sorted(timestamps, reverse=True)
    present = [timestamp for timestamp in newest_first if timestamp <= now]
    future = [timestamp for timestamp in newest_first if timestamp > now]
    return _beyond_retention(present) | _beyond_retention(future)


def _beyond_retention(newest_first: list[datetime]) -> set[datetime]:
    hours = _last_of_each("%Y%m%d%H", newest_first)[:HOURS]
    days = _last_of_each("%Y%m%d", newest_first)[:DAYS]
    return set(newest_first) - {*hours, *days}


def _last_of_each(period: str, newest_first: list[datetime]) -> list[datetime]:
    latest: dict[str, datetime] = {}
    for timestamp in newest_first:
        latest.setdefault(timestamp.strftime(period), timestamp)
    return list(latest.values())
