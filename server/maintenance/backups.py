"""Creates hourly backups, and deletes those beyond the retention.

Every minute the names of the existing backups decide whether one is due. So a service that was
down for a while creates one soon after its start, and a failed backup is repeated after a
minute. A backup runs in a separate thread; if the service stops, the backup is canceled.

A backup is deleted only after a newer one was created and verified. Partial files of a killed
process are deleted first, because only one service writes to the folder.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ..storage.backups.create import back_up
from ..storage.backups.retention import INTERVAL, BackupFolder, expired, newest
from ..values.clock import Clock, system_clock

# Seconds between checks whether a backup is due.
CHECK_INTERVAL = 60.0


class _CancelledError(Exception):
    """The service stops."""


@dataclass
class BackupSchedule:
    """A SQLite file, and the folder of its backups.

    `newest` is the time of the newest backup in seconds since 1970, 0 if there is none; None
    before the first check.
    """

    database: Path
    folder: Path
    clock: Clock = system_clock
    newest: float | None = None

    async def run(self) -> int:
        """Creates a backup if one is due, and returns their number. Raises StorageError."""
        stopping = threading.Event()
        work = asyncio.get_running_loop().run_in_executor(None, self._run, stopping)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            stopping.set()
            with suppress(Exception):
                await work
            raise

    def _run(self, stopping: threading.Event) -> int:
        def report_progress(_phase: str, _done: int, _total: int) -> None:
            if stopping.is_set():
                raise _CancelledError

        folder = BackupFolder(self.folder, self.database)
        for partial_file in folder.partial_files():
            partial_file.unlink()
        now = datetime.fromtimestamp(self.clock() / 1000, UTC)
        last = newest(folder.all(), now)
        self.newest = last.timestamp() if last else 0.0
        if last is not None and now - last < INTERVAL:
            return 0
        back_up(self.database, folder.name(now), report_progress)
        self.newest = now.timestamp()
        backups = folder.all()
        for timestamp in expired(backups, now):
            backups[timestamp].unlink()
        return 1
