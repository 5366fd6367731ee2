"""P2: power cuts.

A service commits writes of several clients on a simulated disk that tracks what was synced. The
power fails at a random change of the disk: during a start, commit, checkpoint or stop. The
responses that clients received before are compared with what the disk may hold. The next
service starts from that state, and its power fails too.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import apsw

from rosterd.server.rpc.errors import RosterError
from rosterd.server.storage.database import StorageError

from .checker import NO_VIOLATIONS, Results, broken, check, total
from .contents import Contents, account_in, read
from .disk import Disk, under_sqlite
from .in_process import Service, quiet, serving
from .recorder import Outcome, Recorder, nth_operation

# Consecutive cuts per database.
CUTS_PER_DATABASE = 20
CLIENTS, TURNS = 6, 12
AT_MOST = NO_VIOLATIONS
NAME = "roster.db"
# Latest change of the disk at which the power fails, and the file whose changes count (empty: all).
# The rows are: while a database is created or recovered; at any time until the service has stopped;
# during a checkpoint, which alone writes to an existing database file.
CUT_RANGES = ((60, ""), (1_000, ""), (1_000, ""), (60, NAME))


def run(repetitions: int) -> Results:
    """Cuts the power so many times and returns the results."""
    sums: Results = {}
    for first in range(0, repetitions, CUTS_PER_DATABASE):
        numbers = range(first, min(first + CUTS_PER_DATABASE, repetitions))
        with tempfile.TemporaryDirectory() as folder, quiet():
            results = history(Path(folder), numbers)
        sums = total(sums, results)
        if broken(sums, NO_VIOLATIONS):
            break
    return sums


def history(folder: Path, numbers: range) -> Results:
    """Cuts the power of one database repeatedly, until a promise is broken."""
    recorder, results, done, checkpoints = Recorder(), Results(), 0, 0
    current = folder / "new"
    current.mkdir()
    for number in numbers:
        rng = random.Random(f"power cut {number}")
        latest, name = rng.choice(CUT_RANGES)
        disk = Disk(current, rng.randrange(1, latest), of=name)
        with under_sqlite(disk):
            asyncio.run(serve_under_load(current / NAME, disk, recorder, f"c{number}"))
        disk.cut_power()
        left = folder / f"{number}"
        left.mkdir()
        disk.restore(left, rng)
        shutil.rmtree(current)
        current = left
        done += 1
        checkpoints += disk.last_changed == NAME
        results = check_files(current, folder / "copy", recorder)
        if broken(results, NO_VIOLATIONS):
            break
    return {"power cuts": done, "in a checkpoint": checkpoints, **results}


async def serve_under_load(path: Path, disk: Disk, recorder: Recorder, prefix: str) -> None:
    """Serves until the power is cut or all clients have finished.

    Clients first repeat the operations whose outcome is unknown.
    """
    unknown = recorder.with_outcome(Outcome.UNKNOWN)

    async def client(service: Service, number: int) -> None:
        new = [
            nth_operation(iteration, f"{prefix}-{number}-{iteration}") for iteration in range(TURNS)
        ]
        for operation in unknown[number::CLIENTS] + new:
            if disk.is_off:
                return
            response = await service.send(operation)
            # A response that was sent after the power cut does not arrive.
            recorder.record(operation, None if disk.is_off else response)

    # A service that starts without power may fail in any way.
    with suppress(StorageError, RosterError):
        async with serving(path) as service:
            await asyncio.gather(*(client(service, number) for number in range(CLIENTS)))


def check_files(folder: Path, copy: Path, recorder: Recorder) -> Results:
    """Compares a copy of the files with the responses. The files themselves stay unchanged."""
    shutil.copytree(folder, copy)
    url = f"sqlite:///{copy / NAME}"
    try:
        contents = read(url, account_in(url))
    except (StorageError, apsw.Error) as error:
        contents = Contents.unreadable(error)
    finally:
        shutil.rmtree(copy)
    return check(recorder, contents)
