"""P2: power cuts.

A service takes writes from several clients at once on a disk of which this process knows
what was synced. At some change of the disk the power goes, be it in a start, a commit, a
checkpoint or a stop. What clients had been told before is held against what the disk may
hold; then the next service begins with that, and its power goes, too.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import apsw

from server.errors import RosterError
from server.storage.database import StorageError

from .checker import NONE, Figures, broken, check, total
from .contents import Contents, account_in, read
from .disk import Disk, under_sqlite
from .in_process import Service, quiet, serving
from .recorder import Outcome, Recorder, nth

# Cuts one after the other of one database, which is a new one after that.
CUTS_OF_ONE = 20
CLIENTS, TURNS = 6, 12
AT_MOST = NONE
NAME = "roster.db"
# At which change of the disk the power may go, and of which file: at the beginning, where a
# database is made or recovered; anywhere up to the end of a service that has done its turns; in
# a checkpoint, which alone writes to the database's own file once there is one.
MOMENTS = ((60, ""), (700, ""), (700, ""), (60, NAME))


def run(rounds: int, *, lies: bool = False) -> Figures:
    """Cuts the power so many times, and returns what became of what was told.

    With a disk that `lies` about what it has synced, much is lost.
    """
    sums: Figures = {}
    for first in range(0, rounds, CUTS_OF_ONE):
        numbers = range(first, min(first + CUTS_OF_ONE, rounds))
        with tempfile.TemporaryDirectory() as folder, quiet():
            figures = history(Path(folder), numbers, lies=lies)
        sums = total(sums, figures)
        if broken(sums, NONE):
            break
    return sums


def history(folder: Path, numbers: range, *, lies: bool) -> Figures:
    """Cuts the power of one database again and again, until a promise is broken."""
    recorder, figures, done, checkpoints = Recorder(), Figures(), 0, 0
    place = folder / "new"
    place.mkdir()
    for number in numbers:
        chance = random.Random(f"power cut {number}")
        latest, name = chance.choice(MOMENTS)
        disk = Disk(place, chance.randrange(1, latest), of=name, lies=lies)
        with under_sqlite(disk):
            asyncio.run(live(place / NAME, disk, recorder, f"c{number}"))
        disk.cut_power()
        left = folder / f"{number}"
        left.mkdir()
        disk.restore(left, chance)
        shutil.rmtree(place)
        place = left
        done += 1
        checkpoints += disk.last_changed == NAME
        figures = looked_at(place, folder / "look", recorder)
        if broken(figures, NONE):
            break
    return {"power cuts": done, "in a checkpoint": checkpoints, **figures}


async def live(path: Path, disk: Disk, recorder: Recorder, prefix: str) -> None:
    """Serves until the power is cut or clients have taken all of their turns.

    They begin with what nobody could tell of before.
    """
    unknown = recorder.those(Outcome.UNKNOWN)

    async def client(service: Service, number: int) -> None:
        new = [nth(run_cycle, f"{prefix}-{number}-{run_cycle}") for run_cycle in range(TURNS)]
        for operation in unknown[number::CLIENTS] + new:
            if disk.is_off:
                return
            answer = await service.send(operation)
            # What is said without power reaches nobody.
            recorder.note(operation, None if disk.is_off else answer)

    # Whoever starts without power may find anything.
    with suppress(StorageError, RosterError):
        async with serving(path) as service:
            await asyncio.gather(*(client(service, number) for number in range(CLIENTS)))


def looked_at(place: Path, look: Path, recorder: Recorder) -> Figures:
    """Holds a copy of what was left to what was told; what was left stays as it is."""
    shutil.copytree(place, look)
    url = f"sqlite:///{look / NAME}"
    try:
        contents = read(url, account_in(url))
    except (StorageError, apsw.Error) as error:
        contents = Contents.damaged(error)
    finally:
        shutil.rmtree(look)
    return check(recorder, contents)
