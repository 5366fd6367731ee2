"""P1: kill -9 under load, repeatedly.

Clients of both fronts send operations with idempotency keys to a service on SQLite, which is
killed at a random time. Operations with an unknown outcome are sent again to the next service,
and the database is compared with all responses since the beginning.
"""

from __future__ import annotations

import random
import signal
import tempfile
import time
from pathlib import Path

from rosterd.server.features.accounts.rules import make_secret

from ...processes import Service, start
from .checker import NO_VIOLATIONS, Results, broken, check
from .clients import Clients, Target, record_all_events, resolve
from .contents import account_in, read
from .recorder import Outcome, Recorder

AT_MOST = NO_VIOLATIONS | {"ids not ascending": 0}
# A service is killed after at most so many responses, and at most so many seconds after that.
RESPONSES, SECONDS = 80, 0.01
# Acknowledged operations that are sent again after each kill.
REPEATED = 5


def run(repetitions: int) -> Results:
    """Kills a service so many times and returns the results."""
    key, recorder, rng = make_secret(), Recorder(), random.Random()
    descending, newest, known = 0, "", set[str]()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(repetitions + 1):
            service = start(Path(folder), ROSTER_BOOTSTRAP_API_KEY=key, ROSTER_LOG_LEVEL="error")
            try:
                target = target_of(service, key)
                if number == 0:
                    record_all_events(target)
                results = checked(service.database_url, target, recorder, rng)
                ids = read(service.database_url, target.account).ids
                descending += sum(ids[name] <= newest for name in ids.keys() - known)
                known, newest = set(ids), max(ids.values())
                if broken(results, NO_VIOLATIONS) or number == repetitions:
                    return {"kills": number, **results, "ids not ascending": descending}
                load_until_killed(service, Clients(target, recorder, f"r{number}"), rng)
            finally:
                service.stop(signal.SIGKILL)
    raise AssertionError("the last repetition returns")


def target_of(service: Service, key: str) -> Target:
    """Returns the only account of a service, with the service's addresses."""
    return Target(account_in(service.database_url), key, service.http, service.grpc)


def load_until_killed(service: Service, clients: Clients, rng: random.Random) -> None:
    """Runs clients, and kills the service meanwhile."""
    with clients.calling():
        target_count = rng.randrange(RESPONSES)
        while len(clients.load.exchanges) < target_count:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, SECONDS))
        service.stop(signal.SIGKILL)


def checked(database_url: str, target: Target, recorder: Recorder, rng: random.Random) -> Results:
    """Compares the database with the responses, before and after unknown outcomes are resolved."""
    results = check(recorder, read(database_url, target.account))
    if not broken(results, NO_VIOLATIONS):
        done = recorder.with_outcome(Outcome.OK)
        resolve(target, recorder, rng.sample(done, min(REPEATED, len(done))))
        results = check(recorder, read(database_url, target.account))
    return results
