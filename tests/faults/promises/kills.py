"""P1: kill -9 under load, and again, and again.

Clients of both fronts send operations with idempotency keys to a real service on a SQLite
file. It is killed at some moment. The next one finds what it finds; whatever nobody can tell
of is sent to it again, and its store is held to everything that clients were told since the
beginning.
"""

from __future__ import annotations

import random
import signal
import tempfile
import time
from pathlib import Path

from server.accounts.rules import make_secret

from ...processes import Service, start
from .checker import NONE, Figures, broken, check
from .clients import Clients, Target, hear_of_all, resolve
from .contents import account_in, read
from .recorder import Outcome, Recorder

AT_MOST = NONE | {"ids that do not rise": 0}
# A service is killed after up to so many answers, and up to so many seconds after that.
ANSWERS, SECONDS = 80, 0.01
# How many operations that were done are sent again after each kill.
AGAIN = 5


def run(rounds: int) -> Figures:
    """Kills a service so many times and returns what became of what it was told."""
    key, recorder, chance = make_secret(), Recorder(), random.Random()
    falling, newest, known = 0, "", set[str]()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            service = start(Path(folder), ROSTER_BOOTSTRAP_API_KEY=key, ROSTER_LOG_LEVEL="error")
            try:
                target = target_of(service, key)
                if number == 0:
                    hear_of_all(target)
                figures = checked(service.database_url, target, recorder, chance)
                ids = read(service.database_url, target.account).ids
                falling += sum(ids[name] <= newest for name in ids.keys() - known)
                known, newest = set(ids), max(ids.values())
                if broken(figures, NONE) or number == rounds:
                    return {"kills": number, **figures, "ids that do not rise": falling}
                load_until_killed(service, Clients(target, recorder, f"r{number}"), chance)
            finally:
                service.stop(signal.SIGKILL)
    raise AssertionError("the last round returns")


def target_of(service: Service, key: str) -> Target:
    """Returns the only account of a service, and where it is called."""
    return Target(account_in(service.database_url), key, service.http, service.grpc)


def load_until_killed(service: Service, clients: Clients, chance: random.Random) -> None:
    """Runs clients, and kills the service under them."""
    with clients.calling():
        wanted = chance.randrange(ANSWERS)
        while len(clients.load.sent) < wanted:
            time.sleep(0.001)
        time.sleep(chance.uniform(0, SECONDS))
        service.stop(signal.SIGKILL)


def checked(
    database_url: str, target: Target, recorder: Recorder, chance: random.Random
) -> Figures:
    """Holds the store to what is known, and once more when nothing is unknown any longer."""
    figures = check(recorder, read(database_url, target.account))
    if not broken(figures, NONE):
        done = recorder.those(Outcome.OK)
        resolve(target, recorder, chance.sample(done, min(AGAIN, len(done))))
        figures = check(recorder, read(database_url, target.account))
    return figures
