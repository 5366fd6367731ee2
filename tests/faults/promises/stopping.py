"""P4: SIGTERM under load, and again, and again.

Clients of both fronts send operations to a real service, which is asked to stop at some
moment. Whatever was sent before that has to be answered, and the process to end with 0 in
time; the store is held to everything that clients were told since the beginning.
"""

from __future__ import annotations

import random
import signal
import tempfile
import time
from pathlib import Path

from server.accounts.rules import make_secret

from ...processes import start
from .checker import NONE, Figures, broken
from .clients import Clients
from .kills import checked, target_of
from .recorder import Recorder

FAILED, CODES, SLOWEST = "failed in flight", "ends but with 0", "slowest end in seconds"
AT_MOST = NONE | {FAILED: 0, CODES: 0, SLOWEST: 30}
# A service is stopped after at least and at most so many answers.
ANSWERS = (20, 200)


def run(rounds: int) -> Figures:
    """Stops a service so many times and returns what became of what it had in hand."""
    key, recorder, chance = make_secret(), Recorder(), random.Random()
    figures: Figures = {FAILED: 0, CODES: 0, SLOWEST: 0}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            service = start(Path(folder), ROSTER_BOOTSTRAP_API_KEY=key, ROSTER_LOG_LEVEL="error")
            try:
                target = target_of(service, key)
                found = checked(service.database_url, target, recorder, chance)
                if broken(found, NONE) or number == rounds:
                    break
                clients = Clients(target, recorder, f"r{number}")
                with clients.calling():
                    clients.load.wait_for_more(chance.randint(*ANSWERS))
                    asked = time.monotonic()
                    code = service.stop(signal.SIGTERM)
                    ended = time.monotonic()
            finally:
                service.stop(signal.SIGKILL)
            figures[FAILED] += sum(each.began < asked for each in clients.load.failed())
            figures[CODES] += code != 0
            figures[SLOWEST] = max(figures[SLOWEST], round(ended - asked, 2))
    return figures | found
