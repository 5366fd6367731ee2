"""P4: SIGTERM under load, repeatedly.

Clients of both fronts send operations to a service, which is stopped at a random time. Every
operation that was sent before must get a response, and the process must exit with 0 in time. The
database is compared with all responses since the beginning.
"""

from __future__ import annotations

import random
import signal
import tempfile
import time
from pathlib import Path

from rosterd.server.features.accounts.rules import make_secret

from ...processes import start
from .checker import NO_VIOLATIONS, Results, broken
from .clients import Clients
from .kills import checked, target_of
from .recorder import Recorder

FAILED, CODES, SLOWEST = "failed in progress", "exit codes other than 0", "slowest stop in seconds"
AT_MOST = NO_VIOLATIONS | {FAILED: 0, CODES: 0, SLOWEST: 30}
# Minimum and maximum number of responses after which a service is stopped.
RESPONSES = (20, 200)


def run(repetitions: int) -> Results:
    """Stops a service so many times and returns the results."""
    key, recorder, rng = make_secret(), Recorder(), random.Random()
    results: Results = {FAILED: 0, CODES: 0, SLOWEST: 0}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(repetitions + 1):
            service = start(Path(folder), ROSTER_BOOTSTRAP_API_KEY=key, ROSTER_LOG_LEVEL="error")
            try:
                target = target_of(service, key)
                found = checked(service.database_url, target, recorder, rng)
                if broken(found, NO_VIOLATIONS) or number == repetitions:
                    break
                clients = Clients(target, recorder, f"r{number}")
                with clients.calling():
                    clients.load.wait_for_more(rng.randint(*RESPONSES))
                    signalled = time.monotonic()
                    code = service.stop(signal.SIGTERM)
                    ended = time.monotonic()
            finally:
                service.stop(signal.SIGKILL)
            results[FAILED] += sum(item.began < signalled for item in clients.load.failed())
            results[CODES] += code != 0
            results[SLOWEST] = max(results[SLOWEST], round(ended - signalled, 2))
    return results | found
