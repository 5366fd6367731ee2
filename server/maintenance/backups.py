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
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ..storage.backups.create import back_up
from ..storage.backups.retention import BackupFolder, expired, is_due
from ..values.clock import Clock, system_clock

# Seconds between checks whether a backup is due.
CHECK_INTERVAL = 60.0


class _CancelledError(Exception):
    """The service stops."""


class BackupSchedule(NamedTuple):
    """A SQLite file, and the folder of its backups."""

    database: Path
    folder: Path
    clock: Clock = system_clock

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
        if not is_due(folder.all(), now):
            return 0
        back_up(self.database, folder.name(now), report_progress)
        backups = folder.all()
        for timestamp in expired(backups, now):
            backups[timestamp].unlink()
        return 1
