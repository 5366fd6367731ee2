"""P1 on PostgreSQL: the server stops at once, or connections to it are cut off, under load.

The service goes on by itself. Whatever nobody can tell of is sent to it again, and its store
is held to everything that clients were told since the beginning.
"""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from server.accounts.rules import make_secret

from ...postgres import Postgres, running
from ...processes import Service, start
from .checker import NONE, Figures, broken
from .clients import Clients, hear_of_all
from .kills import checked, target_of
from .recorder import Recorder

AT_MOST = NONE
# What happens, in turns; connections are cut off more often, since that is soon over.
CUT_OFF, STOP = "connections cut off", "stops"
TURNS = (CUT_OFF, CUT_OFF, CUT_OFF, STOP)
# How many answers are given before it happens, at most, and have to be given after it.
BEFORE, AFTER = 40, 20
_VICTIMS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'roster'"


def run(rounds: int) -> Figures:
    """Disturbs the server so many times, and returns what became of what was told."""
    key, recorder, chance = make_secret(), Recorder(), random.Random()
    figures: Figures = {CUT_OFF: 0, STOP: 0}
    with tempfile.TemporaryDirectory() as folder, running() as postgres:
        service = served(postgres, postgres.new_database(), Path(folder), key)
        target = target_of(service, key)
        try:
            hear_of_all(target)
            for number in range(rounds):
                what = TURNS[number % len(TURNS)]
                clients = Clients(target, recorder, f"r{number}")
                with clients.calling():
                    clients.load.wait_for_more(chance.randrange(BEFORE))
                    figures[what] += disturb(postgres, what, chance)
                    clients.load.wait_for_more(AFTER)
                found = checked(service.database_url, target, recorder, chance)
                if broken(found, NONE):
                    break
        finally:
            service.stop()
    return figures | found


def served(postgres: Postgres, url: str, folder: Path, key: str, **settings: str) -> Service:
    """Starts a service on a database, with this first key if that is new."""
    return start(
        folder,
        ROSTER_DATABASE_URL=url,
        ROSTER_SECRET_KEY=postgres.secret_key,
        ROSTER_BOOTSTRAP_API_KEY=key,
        ROSTER_LOG_LEVEL="error",
        **settings,
    )


def disturb(postgres: Postgres, what: str, chance: random.Random) -> int:
    """Stops the server at once and starts it, or cuts connections off; returns how many times."""
    time.sleep(chance.uniform(0, 0.02))
    if what == STOP:
        postgres.control("-w", "-m", "immediate", "restart")
        return 1
    victims = [pid for (pid,) in postgres.run(_VICTIMS)]
    chosen = chance.sample(victims, min(len(victims), chance.randint(1, 3)))
    for pid in chosen:
        postgres.run(f"SELECT pg_terminate_backend({pid})")
    return len(chosen)
