"""A long time under half of the load that a service can take, with clients that leave.

Nothing that a service has may grow with how long it has run: its memory, its descriptors,
the write-ahead log. It is warmed up first; then the first third of the time is compared
with the last. At the end so many calls over gRPC are cancelled by their clients that what
each of them leaves behind can be told.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from ...conftest import new_account
from ...fronts import HttpFront
from ...processes import start
from ...webhooks.receiver import listening
from .checker import Figures

# How long the peak is looked for, in seconds, and which part of the time goes to warming up.
PEAK_SECONDS, WARM = 4, 0.5
SEEDED = 2_000
# Of each hundred calls of the mix, so many are left by their clients.
LEAVING = 10

AT_MOST: Figures = {
    "memory, of the first third": 1.1,
    "descriptors more": 4,
    "MiB of the log of SQLite": 16,
    "silent": 0,
    "wrong": 0,
    "bytes a cancelled call": 2048,
}
AT_LEAST: Figures = {"done": 1, "left": 1, "cancelled": 1, "webhooks": 1}


@dataclass(frozen=True)
class Sample:
    """What a service takes at a moment."""

    mib: float
    descriptors: int
    log: float


def run(seconds: int) -> Figures:
    """Lets clients call for so many seconds, and returns what the service took meanwhile."""
    with tempfile.TemporaryDirectory() as folder, listening() as receiver:
        service = start(Path(folder))
        try:
            account = new_account(service, HttpFront("http", service.http))
            seed(account)
            account.ok("CreateWebhook", url=receiver.url, eventTypes=["subscriber.created"])
            peak = told(mixed(account, PEAK_SECONDS))["calls a second"]
            told(mixed(account, WARM * seconds, peak / 2, LEAVING))
            load = mixed(account, seconds, peak / 2, LEAVING)
            samples = sampled(service, load)
            figures = told(load)
            return {
                "peak a second": round(peak),
                **{name: round(value) for name, value in figures.items()},
                "webhooks": len(receiver.received),
                **compared(samples),
            }
        finally:
            service.stop()
