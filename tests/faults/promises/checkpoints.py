"""P2: a disk that fails, or is full, while SQLite brings what is in its log into its file.

It does so by itself whenever the log has 1,000 pages, and when a service ends: a checkpoint,
which alone writes to the file itself and syncs that. All that is in the log is synced by then,
so nothing that was acknowledged rests on it, and the next one writes all of it again. Whoever
writes meanwhile is answered as ever, since SQLite keeps a checkpoint that failed to itself; where
there is no room, with 503 until there is some. Be it that the disk fails once or from then on,
the next service finds everything.

A sync can be made to fail only between SQLite and its files, and of that the service is told: it
takes the sync for that of a commit, and writes no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from .checker import NONE, Figures, check
from .contents import account_in, read
from .failing import FailingDisk, Failure, under_sqlite
from .in_process import Service, serving
from .places import each
from .power_cuts import NAME
from .recorder import Outcome, Recorder, nth
from .system_calls import below_sqlite

AT_MOST = NONE | {
    "reads refused": 0,
    "writes refused": 0,
    "written after a failed sync": 0,
    "never reached": 0,
}
# A log that is full while clients write, and what is left for the end.
AT_LEAST = {"acknowledged": 1, "in a service": 1, "at the end of one": 1}
CLIENTS, TURNS = 3, 60
# So often is the file written to while clients take their turns, and at the end, all in all.
PLACES = 140
WAYS = ((Failure.WRITE, False), (Failure.WRITE, True), (Failure.FULL, True))


def run(rounds: int) -> Figures:
    """Tries every failure at so many places of the checkpoints; returns what came of it."""
    return each(_disks(rounds), tried, AT_MOST)


def _disks(rounds: int) -> Iterator[FailingDisk]:
    """Yields a disk of which the first sync fails, and those that fail at so many places."""
    yield FailingDisk(Failure.SYNC, 1, of=NAME)
    for number in range(rounds):
        at = 1 + number * (PLACES - 1) // max(rounds - 1, 1)
        for failure, lasts in WAYS:
            yield FailingDisk(failure, at, of=NAME, lasts=lasts)


def tried(path: Path, disk: FailingDisk) -> Figures:
    """Serves a file on a failing disk, and holds the file to what was told."""
    recorder, url = Recorder(), f"sqlite:///{path}"
    placed = under_sqlite if disk.failure is Failure.SYNC else below_sqlite
    with placed(disk):
        figures = asyncio.run(live(path, disk, recorder))
    figures["at the end of one"] = disk.failed is not None and not figures["in a service"]
    figures["never reached"] = disk.failed is None
    return {"failures": 1, **check(recorder, read(url, account_in(url))), **figures}


async def live(path: Path, disk: FailingDisk, recorder: Recorder) -> Figures:
    """Has clients take all of their turns, and returns what the service did meanwhile."""

    figures: Figures = {"writes refused": 0, "written after a failed sync": 0}

    async def client(service: Service, number: int) -> None:
        for run_cycle in range(TURNS):
            operation = nth(run_cycle, f"{number}-{run_cycle}")
            was_well = disk.failed is not Failure.SYNC
            outcome = recorder.note(operation, await service.send(operation))
            if outcome is not Outcome.OK and disk.failed is Failure.FULL:
                disk.mend()
                outcome = recorder.note(operation, await service.send(operation))
            if disk.failed is not Failure.SYNC:
                figures["writes refused"] += outcome is not Outcome.OK
            elif not was_well:
                figures["written after a failed sync"] += outcome is Outcome.OK

    async with serving(path) as service:
        await asyncio.gather(*(client(service, number) for number in range(CLIENTS)))
        read = await service.call("ListTags", {})
        figures["reads refused"] = read.status != 200
        figures["in a service"] = disk.failed is not None
        return figures
