"""P2: a disk that fails, or is full, during a checkpoint.

SQLite runs a checkpoint when the WAL has 1,000 pages and when a service stops. Only a checkpoint
writes to the database file and syncs it. The WAL is synced by then, so acknowledged writes do
not depend on the checkpoint, and the next one writes all pages again. SQLite hides a failed
checkpoint from the writer. If the disk is full, writes return 503 until space is free. The next
service finds all data, whether the disk fails once or permanently.

A sync can only be made to fail between SQLite and its files. The service receives that error,
treats it as a failed commit, and stops writing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from .checker import NO_VIOLATIONS, Results, check
from .contents import account_in, read
from .disk_runs import run_on_each
from .failing_disk import FailingDisk, Failure, under_sqlite
from .in_process import Service, serving
from .power_cuts import NAME
from .recorder import Outcome, Recorder, nth_operation
from .system_calls import below_sqlite

AT_MOST = NO_VIOLATIONS | {
    "reads rejected": 0,
    "writes rejected": 0,
    "written after a failed sync": 0,
    "failure not reached": 0,
}
# At least one failure while clients write, and one during the stop.
AT_LEAST = {"acknowledged": 1, "while serving": 1, "while stopping": 1}
CLIENTS, TURNS = 3, 60
# Writes to the database file in one run.
POSITIONS = 140
FAILURES = ((Failure.WRITE, False), (Failure.WRITE, True), (Failure.FULL, True))


def run(repetitions: int) -> Results:
    """Runs every kind of failure at so many positions and returns the results."""
    return run_on_each(_disks(repetitions), run_on_disk, AT_MOST)


def _disks(repetitions: int) -> Iterator[FailingDisk]:
    """Yields a disk whose first sync fails, and disks that fail at so many positions."""
    yield FailingDisk(Failure.SYNC, 1, of=NAME)
    for number in range(repetitions):
        at = 1 + number * (POSITIONS - 1) // max(repetitions - 1, 1)
        for failure, lasts in FAILURES:
            yield FailingDisk(failure, at, of=NAME, lasts=lasts)


def run_on_disk(path: Path, disk: FailingDisk) -> Results:
    """Serves a file on a failing disk, and compares it with the responses."""
    recorder, url = Recorder(), f"sqlite:///{path}"
    placed = under_sqlite if disk.failure is Failure.SYNC else below_sqlite
    with placed(disk):
        results = asyncio.run(serve_under_load(path, disk, recorder))
    results["while stopping"] = disk.failed is not None and not results["while serving"]
    results["failure not reached"] = disk.failed is None
    return {"failures": 1, **check(recorder, read(url, account_in(url))), **results}


async def serve_under_load(path: Path, disk: FailingDisk, recorder: Recorder) -> Results:
    """Runs clients to their end, and returns the results meanwhile."""

    results: Results = {"writes rejected": 0, "written after a failed sync": 0}

    async def client(service: Service, number: int) -> None:
        for iteration in range(TURNS):
            operation = nth_operation(iteration, f"{number}-{iteration}")
            was_well = disk.failed is not Failure.SYNC
            outcome = recorder.record(operation, await service.send(operation))
            if outcome is not Outcome.OK and disk.failed is Failure.FULL:
                disk.repair()
                outcome = recorder.record(operation, await service.send(operation))
            if disk.failed is not Failure.SYNC:
                results["writes rejected"] += outcome is not Outcome.OK
            elif not was_well:
                results["written after a failed sync"] += outcome is Outcome.OK

    async with serving(path) as service:
        await asyncio.gather(*(client(service, number) for number in range(CLIENTS)))
        read = await service.call("ListTags", {})
        results["reads rejected"] = read.status != 200
        results["while serving"] = disk.failed is not None
        return results
