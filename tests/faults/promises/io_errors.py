"""P2: a disk that fails, or is full, at one of the first 200 writes and syncs of a service.

Acknowledged operations are stored, and failed ones are not. After a failed sync nothing more is
written, because the content of the disk is unknown; reads continue. After a full disk, writes
continue once space is free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

from rosterd.server.rpc.errors import RosterError
from rosterd.server.storage.database import StorageError

from .checker import NO_VIOLATIONS, Results, check
from .contents import account_in, read
from .disk_runs import run_on_each
from .failing_disk import FailingDisk, Failure, under_sqlite
from .in_process import Service, serving
from .recorder import Outcome, Recorder, nth_operation

AT_MOST = NO_VIOLATIONS | {
    "reads rejected": 0,
    "written after a failed sync": 0,
    "not written after space was freed": 0,
    "failure not reached": 0,
}
POSITIONS = 200
CLIENTS, TURNS = 3, 40


def run(repetitions: int) -> Results:
    """Runs every kind of failure at so many positions and returns the results."""
    return run_on_each(_disks(repetitions), run_on_disk, AT_MOST)


def _disks(repetitions: int) -> Iterator[FailingDisk]:
    """Yields a disk for each kind of failure at each position."""
    for number in range(repetitions):
        for failure in Failure:
            yield FailingDisk(failure, 1 + number * POSITIONS // repetitions)


def run_on_disk(path: Path, disk: FailingDisk) -> Results:
    """Serves a file on a failing disk, and compares it with the responses."""
    recorder, url = Recorder(), f"sqlite:///{path}"
    with under_sqlite(disk):
        results = asyncio.run(serve_under_load(path, disk, recorder))
    return {"failures": 1, **check(recorder, read(url, account_in(url))), **results}


async def serve_under_load(path: Path, disk: FailingDisk, recorder: Recorder) -> Results:
    """Runs clients until the disk fails, and returns the results of the calls after that."""

    async def client(service: Service, number: int) -> None:
        for iteration in range(TURNS):
            operation = nth_operation(iteration, f"{number}-{iteration}")
            recorder.record(operation, await service.send(operation))
            if disk.failed:
                return

    try:
        async with serving(path) as service:
            await asyncio.gather(*(client(service, number) for number in range(CLIENTS)))
            return await _afterwards(service, disk, recorder)
    except (StorageError, RosterError):
        # It failed to start. Without the failure it starts.
        disk.repair()
        async with serving(path):
            return {"failed to start": 1}


async def _afterwards(service: Service, disk: FailingDisk, recorder: Recorder) -> Results:
    outcomes = []
    for iteration, repaired in enumerate((False, False, True, True)):
        if repaired:
            disk.repair()
        operation = nth_operation(iteration, f"after-{iteration}")
        outcomes.append(recorder.record(operation, await service.send(operation)))
    read = await service.call("ListTags", {})
    return {
        "reads rejected": read.status != 200,
        "written after a failed sync": disk.failed is Failure.SYNC and Outcome.OK in outcomes,
        "not written after space was freed": (
            disk.failed is Failure.FULL and outcomes[2:] != [Outcome.OK] * 2
        ),
        "failure not reached": disk.failed is None,
    }
