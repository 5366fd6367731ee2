"""Backups by the service itself, an hour apart, of which some are kept.

Whether one is due is looked at every minute or so, and told by the names of those that are
there. So the first comes soon after the start of a service that was off for a while, and
one that failed is tried again after a minute. It runs in a thread of its own, beside the
lanes of the database; a service that stops does not wait for it to end, but for it to break off.

One is taken away only after a newer one was made and checked. What a process that was killed
had half made goes first: nobody but the one service of the database makes these files.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from ..clock import Clock, system_clock
from ..storage.backups.create import back_up
from ..storage.backups.retention import BackupFolder, expired, is_due

# Seconds between two looks.
LOOK_INTERVAL = 60.0


class _InterruptedError(Exception):
    """The service stops."""


class Schedule(NamedTuple):
    """Of which SQLite file backups are made, and into which folder."""

    database: Path
    folder: Path
    clock: Clock = system_clock

    async def round(self) -> int:
        """Makes a backup if one is due, and returns how many were made. Raises StorageError."""
        stopping = threading.Event()
        work = asyncio.get_running_loop().run_in_executor(None, self._round, stopping)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            stopping.set()
            with suppress(Exception):
                await work
            raise

    def _round(self, stopping: threading.Event) -> int:
        def tell(_what: str, _done: int, _total: int) -> None:
            if stopping.is_set():
                raise _InterruptedError

        kept = BackupFolder(self.folder, self.database)
        for half in kept.partial_files():
            half.unlink()
        now = datetime.fromtimestamp(self.clock() / 1000, UTC)
        if not is_due(kept.all(), now):
            return 0
        made = back_up(self.database, kept.name(now), tell).file
        found = kept.all()
        for moment in expired(found):
            if found[moment] != made:
                found[moment].unlink()
        return 1
