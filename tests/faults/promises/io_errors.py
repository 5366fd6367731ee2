"""P2: a disk that fails, or is full, at one of the first 200 writes and syncs of a service.

Whoever was told that something was done finds it, and whoever was told that nothing was
changed finds nothing. After a sync that failed nothing more is written, since nobody knows
what the disk holds; reads go on. A disk that was full is written to when it has room.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from server.errors import RosterError
from server.storage.database import StorageError

from .checker import NONE, Figures, check
from .contents import account_in, read
from .failing import FailingDisk, Failure, under_sqlite
from .in_process import Service, serving
from .places import each
from .recorder import Outcome, Recorder, nth

AT_MOST = NONE | {
    "reads refused": 0,
    "written after a failed sync": 0,
    "not written for want of room": 0,
    "never reached": 0,
}
PLACES = 200
CLIENTS, TURNS = 3, 40


def run(rounds: int) -> Figures:
    """Tries every failure at so many places among the first ones; returns what came of it."""
    return each(_disks(rounds), tried, AT_MOST)


def _disks(rounds: int) -> Iterator[FailingDisk]:
    """Yields a disk for each way to fail at each of so many places."""
    for number in range(rounds):
        for failure in Failure:
            yield FailingDisk(failure, 1 + number * PLACES // rounds)


def tried(path: Path, disk: FailingDisk) -> Figures:
    """Serves a file on a failing disk, and holds the file to what was told."""
    recorder, url = Recorder(), f"sqlite:///{path}"
    with under_sqlite(disk):
        figures = asyncio.run(live(path, disk, recorder))
    return {"failures": 1, **check(recorder, read(url, account_in(url))), **figures}


async def live(path: Path, disk: FailingDisk, recorder: Recorder) -> Figures:
    """Has clients take turns until the disk has failed, and returns what the service does then."""

    async def client(service: Service, number: int) -> None:
        for run_cycle in range(TURNS):
            operation = nth(run_cycle, f"{number}-{run_cycle}")
            recorder.note(operation, await service.send(operation))
            if disk.failed:
                return

    try:
        async with serving(path) as service:
            await asyncio.gather(*(client(service, number) for number in range(CLIENTS)))
            return await _afterwards(service, disk, recorder)
    except (StorageError, RosterError):
        # It was refused to begin. Without a failure it begins.
        disk.mend()
        async with serving(path):
            return {"refused to start": 1}


async def _afterwards(service: Service, disk: FailingDisk, recorder: Recorder) -> Figures:
    outcomes = []
    for run_cycle, mended in enumerate((False, False, True, True)):
        if mended:
            disk.mend()
        operation = nth(run_cycle, f"after-{run_cycle}")
        outcomes.append(recorder.note(operation, await service.send(operation)))
    read = await service.call("ListTags", {})
    return {
        "reads refused": read.status != 200,
        "written after a failed sync": disk.failed is Failure.SYNC and Outcome.OK in outcomes,
        "not written for want of room": (
            disk.failed is Failure.FULL and outcomes[2:] != [Outcome.OK] * 2
        ),
        "never reached": disk.failed is None,
    }
