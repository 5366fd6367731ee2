"""The backups of a database in a folder: how they are called, and which of them are kept.

They are called DATABASE-MOMENT.db, with the moment in UTC, so that names sort by time. Kept
are the last one of each of the last 24 hours that have one, and of each of the last 7 days
that have one: a service that was off for long loses none by that. Whatever else lies in the
folder is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ...output_file import ENDING

HOURS, DAYS = 24, 7
APART = timedelta(hours=1)
_TIMESTAMP = "%Y%m%dT%H%M%SZ"


class BackupFolder:
    """The backups of a database in a folder that no other database of its name shares."""

    def __init__(self, folder: Path, database: Path) -> None:
        self._folder, self._stem = folder, database.stem
        self._name = re.compile(rf"{re.escape(database.stem)}-(\d{{8}}T\d{{6}}Z)\.db")

    def name(self, timestamp: datetime) -> Path:
        """Returns what a backup of this moment is called."""
        return self._folder / f"{self._stem}-{timestamp.strftime(_TIMESTAMP)}.db"

    def all(self) -> dict[datetime, Path]:
        """Returns those that are there. Raises OSError."""
        return {
            datetime.strptime(match[1], _TIMESTAMP).replace(tzinfo=UTC): path
            for path in self._folder.iterdir()
            if (match := self._name.fullmatch(path.name))
        }

    def partial_files(self) -> list[Path]:
        """Returns the parts that are there. Raises OSError."""
        return [
            path
            for path in self._folder.iterdir()
            if path.name.endswith(ENDING) and self._name.fullmatch(path.name[: -len(ENDING)])
        ]


def is_due(timestamps: Iterable[datetime], now: datetime) -> bool:
    """Whether there is none of the last hour; one of the future, by a clock gone wrong, is none."""
    return not any(timedelta() <= now - timestamp < APART for timestamp in timestamps)


def expired(timestamps: Iterable[datetime]) -> set[datetime]:
    """Returns those that need not be kept; never the newest."""
    newest_first = sorted(timestamps, reverse=True)
    hours = _last_of_each("%Y%m%d%H", newest_first)[:HOURS]
    days = _last_of_each("%Y%m%d", newest_first)[:DAYS]
    return set(newest_first) - {*hours, *days}


def _last_of_each(period: str, newest_first: list[datetime]) -> list[datetime]:
    found: dict[str, datetime] = {}
    for timestamp in newest_first:
        found.setdefault(timestamp.strftime(period), timestamp)
    return list(found.values())
