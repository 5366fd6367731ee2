"""A long run at half of the peak load, with clients that abandon calls.

Memory, file descriptors and the SQLite WAL must not grow with the run time. After a warm-up,
the last third of the run is compared with the first. At the end most gRPC calls are abandoned,
to measure how much memory each retains: grpc.aio does not free all of a response that can no
longer be sent.
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
from ...features.webhooks.receiver import Receiver, listening
from ...fronts import HttpFront
from ...processes import Service, start
from .checker import Results
from .overload import mib

# Seconds of the measurement of the peak, and between two samples of the usage.
PEAK_SECONDS, EVERY = 4, 0.2
# Shares of the run time that precede it as warm-up, and follow it with abandoned calls.
WARMING, ABANDONING = 1 / 3, 1 / 3
# Percentage of abandoned calls, and their percentage at the end.
SOME, MOST = 10, 60
# Minimum number of abandoned gRPC calls at the end.
ENOUGH = 2_000
# Number of subscribers. An export of them exceeds the buffers of a connection.
SEEDED = 5_000
# Seconds that a service has to release what clients held.
REST = 60

LEFT_OPEN = "descriptors left open"
AT_MOST: Results = {
    "memory, of the first third": 1.1,
    "descriptor growth": 2,
    LEFT_OPEN: 2,
    "MiB of the SQLite WAL": 16,
    "bytes retained per abandoned call": 1024,
    "timed out": 0,
    "unexpected responses": 0,
}
AT_LEAST: Results = {"succeeded": 1, "abandoned": 1, "abandoned over gRPC": 1, "webhooks sent": 1}


@dataclass(frozen=True)
class Usage:
    """Memory in MiB, open file descriptors, and the size of the SQLite WAL in MiB."""

    mib: float
    descriptors: float
    log: float


def run(seconds: int) -> Results:
    """Runs the load for so many seconds and returns the results."""
    with tempfile.TemporaryDirectory() as folder, listening() as receiver:
        service = start(Path(folder))
        try:
            account = prepared(service, receiver)
            peak = ended(mixed(account, PEAK_SECONDS))["successes per second"]
            ended(mixed(account, WARMING * seconds, peak / 2, SOME))
            before, load = measure_usage(service), mixed(account, seconds, peak / 2, SOME)
            samples, sent = sample_until_end(service, load, receiver)
            done = ended(load)
            left = descriptors_left_open(service, before)
            return {
                "peak per second": round(peak),
                **{name: round(value) for name, value in done.items()},
                "webhooks sent": sent,
                **compared(samples),
                LEFT_OPEN: left,
                **abandon_over_grpc(account, ABANDONING * seconds, peak / 2),
            }
        finally:
            service.stop()


def prepared(service: Service, receiver: Receiver) -> Account:
    """Returns an account with subscribers and a webhook for new ones."""
    account = new_account(service, HttpFront("http", service.http))
    for first in range(0, SEEDED, 100):
        rows = [{"email": f"{first + number}@example.com"} for number in range(100)]
        account.ok("BulkCreateSubscribers", subscribers=rows)
    account.ok("CreateWebhook", url=receiver.url, eventTypes=["subscriber.created"])
    return account


def mixed(
    account: Account,
    seconds: float,
    rate: float = 0,
    abandoned_percent: int = 0,
    *,
    http: bool = True,
) -> subprocess.Popen[str]:
    """Starts a mix of calls, over both fronts or over gRPC alone."""
    service = account.service
    program = (sys.executable, "-m", "tests.faults.promises.mixed")
    arguments = (
        service.http if http else "",
        service.grpc,
        account.key,
        seconds,
        rate,
        abandoned_percent,
    )
    return subprocess.Popen([*program, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


def ended(load: subprocess.Popen[str]) -> Results:
    """Waits for a mix of calls to end and returns its counts."""
    text, _ = load.communicate()
    assert load.returncode == 0, "the clients ended early"
    results: Results = json.loads(text)
    return results


def measure_usage(service: Service) -> Usage:
    """Returns the current usage of a service."""
    descriptors = len(list(Path(f"/proc/{service.process.pid}/fd").iterdir()))
    log = Path(f"{service.database}-wal").stat().st_size
    return Usage(mib(service), descriptors, log / 2**20)


def descriptors_left_open(service: Service, before: Usage) -> float:
    """Returns how many more descriptors are open than before, once the service had time."""
    end = time.monotonic() + REST
    while (left := measure_usage(service).descriptors - before.descriptors) > AT_MOST[LEFT_OPEN]:
        if time.monotonic() > end:
            break
        time.sleep(EVERY)
    return left


def sample_until_end(
    service: Service, load: subprocess.Popen[str], receiver: Receiver
) -> tuple[list[Usage], int]:
    """Samples the usage of a service until a mix of calls ends.

    Returns the samples and the number of received webhooks, which are dropped to save memory.
    """
    samples, sent = [], 0
    while load.poll() is None:
        samples.append(measure_usage(service))
        received, receiver.received = receiver.received, []
        sent += len(received)
        time.sleep(EVERY)
    return samples, sent


def compared(samples: list[Usage]) -> Results:
    """Compares the last third of the samples with the first."""
    third = len(samples) // 3
    (first, first_open, _), (last, last_open, _) = (
        map(statistics.median, zip(*map(astuple, part), strict=True))
        for part in (samples[:third], samples[-third:])
    )
    return {
        "MiB in the first third": round(first, 1),
        "MiB in the last third": round(last, 1),
        "memory, of the first third": round(last / first, 3),
        "descriptor growth": last_open - first_open,
        "MiB of the SQLite WAL": round(max(sample.log for sample in samples), 1),
    }


def abandon_over_grpc(account: Account, seconds: float, rate: float) -> Results:
    """Abandons most of many gRPC calls, and returns the memory that each retains.

    Repeats on a slow machine until enough calls were abandoned. With few calls, other memory
    changes of the service would dominate the result.
    """
    before, abandoned = mib(account.service), 0.0
    while abandoned < ENOUGH:
        abandoned += ended(mixed(account, seconds, rate, MOST, http=False))["abandoned"]
    more = mib(account.service) - before
    return {
        "abandoned over gRPC": abandoned,
        "bytes retained per abandoned call": round(more * 2**20 / abandoned),
    }
