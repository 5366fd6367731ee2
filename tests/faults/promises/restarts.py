"""P1 on PostgreSQL: the database stops immediately, or connections are cut, under load.

The service recovers by itself. Operations with an unknown outcome are sent again, and the
database is compared with all responses since the beginning.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from rosterd.server.features.accounts.rules import make_secret

from ...postgres import Postgres, running
from ...processes import Service, start
from .checker import NO_VIOLATIONS, Results, broken
from .clients import Clients, record_all_events
from .kills import checked, target_of
from .recorder import Recorder

AT_MOST = NO_VIOLATIONS
# The faults in turns. Cutting connections is more frequent because it takes less time.
CUT, STOP = "connections cut", "stops"
TURNS = (CUT, CUT, CUT, STOP)
# Maximum number of responses before a fault, and minimum number after it.
BEFORE, AFTER = 40, 20
_VICTIMS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'roster'"


def run(repetitions: int) -> Results:
    """Interrupts the database so many times and returns the results."""
    key, recorder, rng = make_secret(), Recorder(), random.Random()
    results: Results = {CUT: 0, STOP: 0}
    with tempfile.TemporaryDirectory() as folder, running() as postgres:
        service = start_on_postgres(postgres, postgres.new_database(), Path(folder), key)
        target = target_of(service, key)
        try:
            record_all_events(target)
            for number in range(repetitions):
                what = TURNS[number % len(TURNS)]
                clients = Clients(target, recorder, f"r{number}")
                with clients.calling():
                    clients.load.wait_for_more(rng.randrange(BEFORE))
                    results[what] += disturb(postgres, what, rng)
                    clients.load.wait_for_more(AFTER)
                found = checked(service.database_url, target, recorder, rng)
                if broken(found, NO_VIOLATIONS):
                    break
        finally:
            service.stop()
    return results | found


def start_on_postgres(
    postgres: Postgres, url: str, folder: Path, key: str, **settings: str
) -> Service:
    """Starts a service on a database, with this first key if the database is new."""
    return start(
        folder,
        ROSTER_DATABASE_URL=url,
        ROSTER_SECRET_KEY=postgres.secret_key,
        ROSTER_BOOTSTRAP_API_KEY=key,
        ROSTER_LOG_LEVEL="error",
        **settings,
    )


def disturb(postgres: Postgres, what: str, rng: random.Random) -> int:
    """Restarts the database immediately, or cuts some connections. Returns the number of faults."""
    time.sleep(rng.uniform(0, 0.02))
    if what == STOP:
        postgres.control("-w", "-m", "immediate", "restart")
        return 1
    victims = [pid for (pid,) in postgres.run(_VICTIMS)]
    chosen = rng.sample(victims, min(len(victims), rng.randint(1, 3)))
    for pid in chosen:
        postgres.run(f"SELECT pg_terminate_backend({pid})")
    return len(chosen)
