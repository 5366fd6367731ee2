"""A long time under half of the load that a service can take, with clients that leave.

Nothing of a service may grow with how long it has run: not its memory, not its descriptors,
not SQLite's log. It is warmed up; then the last third of the time is held to the first. At
the end most calls over gRPC are left by their clients, so that it can be told how much each
of them keeps for good: the library that serves gRPC frees not all of an answer that cannot
be sent any longer.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import astuple, dataclass
from pathlib import Path

from ...conftest import Account, new_account
from ...fronts import HttpFront
from ...processes import Service, start
from ...webhooks.receiver import Receiver, listening
from .checker import Figures
from .overload import mib

# For how many seconds the peak is looked for, and between two looks at what is taken.
PEAK_SECONDS, EVERY = 4, 0.2
# Which part of the time is taken beforehand to warm up, and afterwards for calls that are left.
WARMING, LEAVING = 1 / 3, 1 / 3
# How many of a hundred calls are left by their clients, and how many of those at the end.
SOME, MOST = 10, 60
# How many calls over gRPC are left at the end, at least.
ENOUGH = 2_000
# How many subscribers there are; an export of them is more than a connection holds at once.
SEEDED = 5_000
# How long a service has to let go of what clients held, in seconds.
REST = 1

AT_MOST: Figures = {
    "memory, of the first third": 1.1,
    "descriptors more": 2,
    "descriptors left": 2,
    "MiB of SQLite's log": 16,
    "bytes for good, a call left": 1024,
    "silent": 0,
    "wrong": 0,
}
AT_LEAST: Figures = {"done": 1, "left": 1, "left over gRPC": 1, "webhooks sent": 1}


@dataclass(frozen=True)
class LeasedDelivery:
    """What a service takes at a moment: memory, descriptors, and SQLite's log."""

    mib: float
    descriptors: float
    log: float


def run(seconds: int) -> Figures:
    """Lets clients call for so many seconds, and returns what the service took meanwhile."""
    with tempfile.TemporaryDirectory() as folder, listening() as receiver:
        service = start(Path(folder))
        try:
            account = prepared(service, receiver)
            peak = ended(mixed(account, PEAK_SECONDS))["done a second"]
            ended(mixed(account, WARMING * seconds, peak / 2, SOME))
            before, load = taken(service), mixed(account, seconds, peak / 2, SOME)
            samples, sent = watched(service, load, receiver)
            done = ended(load)
            time.sleep(REST)
            return {
                "peak a second": round(peak),
                **{name: round(value) for name, value in done.items()},
                "webhooks sent": sent,
                **compared(samples),
                "descriptors left": taken(service).descriptors - before.descriptors,
                **left_over_grpc(account, LEAVING * seconds, peak / 2),
            }
        finally:
            service.stop()


def prepared(service: Service, receiver: Receiver) -> Account:
    """Returns an account with some subscribers, and a webhook that hears of new ones."""
    account = new_account(service, HttpFront("http", service.http))
    for first in range(0, SEEDED, 100):
        rows = [{"email": f"{first + number}@example.com"} for number in range(100)]
        account.ok("BulkCreateSubscribers", subscribers=rows)
    account.ok("CreateWebhook", url=receiver.url, eventTypes=["subscriber.created"])
    return account


def mixed(
    account: Account, seconds: float, rate: float = 0, leaving: int = 0, *, http: bool = True
) -> subprocess.Popen[str]:
    """Begins a mix of calls; over gRPC alone if not over HTTP as well."""
    service = account.service
    program = (sys.executable, "-m", "tests.faults.promises.mixed")
    arguments = (service.http if http else "", service.grpc, account.key, seconds, rate, leaving)
    return subprocess.Popen([*program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def ended(load: subprocess.Popen[str]) -> Figures:
    """Returns what came of a mix of calls, once it has ended."""
    text, _ = load.communicate()
    assert load.returncode == 0, "the clients ended early"
    figures: Figures = json.loads(text)
    return figures


def taken(service: Service) -> LeasedDelivery:
    """Returns what a service takes now."""
    descriptors = len(list(Path(f"/proc/{service.process.pid}/fd").iterdir()))
    log = Path(f"{service.database}-wal").stat().st_size
    return LeasedDelivery(mib(service), descriptors, log / 2**20)


def watched(
    service: Service, load: subprocess.Popen[str], receiver: Receiver
) -> tuple[list[LeasedDelivery], int]:
    """Returns what a service takes from moment to moment until a mix of calls ends.

    Beside it, how many webhooks have come; they are not kept, since there are very many.
    """
    samples, sent = [], 0
    while load.poll() is None:
        samples.append(taken(service))
        came, receiver.received = receiver.received, []
        sent += len(came)
        time.sleep(EVERY)
    return samples, sent


def compared(samples: list[LeasedDelivery]) -> Figures:
    """Holds the last third of the time to the first."""
    third = len(samples) // 3
    (first, first_open, _), (last, last_open, _) = (
        map(statistics.median, zip(*map(astuple, part), strict=True))
        for part in (samples[:third], samples[-third:])
    )
    return {
        "MiB in the first third": round(first, 1),
        "MiB in the last third": round(last, 1),
        "memory, of the first third": round(last / first, 3),
        "descriptors more": last_open - first_open,
        "MiB of SQLite's log": round(max(sample.log for sample in samples), 1),
    }


def left_over_grpc(account: Account, seconds: float, rate: float) -> Figures:
    """Leaves most of many calls over gRPC, and returns how much each of them keeps for good.

    Goes on for as long again where a machine is so slow that they were few: what else a
    service takes or gives back meanwhile would be put down to them.
    """
    before, left = mib(account.service), 0.0
    while left < ENOUGH:
        left += ended(mixed(account, seconds, rate, MOST, http=False))["left"]
    more = mib(account.service) - before
    return {"left over gRPC": left, "bytes for good, a call left": round(more * 2**20 / left)}
