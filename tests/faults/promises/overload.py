"""P5: five times as many clients as are served at once, for reads and for writes.

The peak is the throughput with as many clients as are admitted, or with fewer if that is
higher. Then five times as many clients call, and rejected clients retry after the given time.
Their throughput is compared with the peak, and rejections and memory are bounded.

The speed of a shared machine varies by a factor of two from minute to minute. Each overload is
therefore measured between two peaks, and the median of the ratios counts. The ratio to the best
peak is reported too.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from rosterd.http_gateway.options import Options

from ...conftest import Account, new_account
from ...fronts import HttpFront
from ...processes import Service, start
from .checker import Results

MAX_CALLS = Options().max_calls
OVERLOAD_FACTOR = 5
# Numbers of clients at which the peak is looked for: as many as are admitted, and fewer.
PEAKS = (32, 128, MAX_CALLS // 2)
# How many overloads are compared with the peaks before and after each.
TURNS = 3
KINDS = ("reads", "writes")
# Results reported as the maximum, and as the median, of all overloads.
MAXIMA = ("unexpected responses", "99th percentile of rejections in ms")
MEDIANS = ("successes per second", "rejections per second", "median of rejections in ms")
AT_MOST: Results = {}
AT_LEAST: Results = {}
for kind in KINDS:
    AT_LEAST[f"{kind}: throughput, of the peak"] = 0.8
    AT_MOST |= {
        f"{kind}: 99th percentile of rejections in ms": 50,
        f"{kind}: memory growth in MiB": 16,
        f"{kind}: unexpected responses": 0,
    }


def run(seconds: int) -> Results:
    """Overloads a service with reads and then with writes, each time for so many seconds."""
    results: Results = {}
    with tempfile.TemporaryDirectory() as folder:
        service = start(Path(folder), ROSTER_LOG_LEVEL="error")
        try:
            account = new_account(service, HttpFront("http", service.http))
            for kind in KINDS:
                found = overload(account, kind, seconds)
                results |= {f"{kind}: {name}": value for name, value in found.items()}
        finally:
            service.stop()
    return results


def overload(account: Account, kind: str, seconds: int) -> Results:
    """Measures the peak and the overload in turns."""
    short = seconds / 4

    def done(clients: int) -> float:
        return run_clients(account, kind, clients, short)["successes per second"]

    best = max(PEAKS, key=done)
    # The first overload allocates buffers that stay. Memory must not grow after it.
    run_clients(account, kind, OVERLOAD_FACTOR * MAX_CALLS, seconds)
    before = mib(account.service)
    peaks, found = [done(best)], []
    for _ in range(TURNS):
        found.append(run_clients(account, kind, OVERLOAD_FACTOR * MAX_CALLS, seconds))
        peaks.append(done(best))
    ratios = [
        each["successes per second"] / statistics.mean(around)
        for each, around in zip(found, pairwise(peaks), strict=True)
    ]
    return {
        "peak per second": round(statistics.median(peaks)),
        "clients at the peak": best,
        "throughput, of the peak": round(statistics.median(ratios), 2),
        "throughput, of the best peak": round(
            statistics.median(item["successes per second"] for item in found) / max(peaks), 2
        ),
        **{name: round(max(item[name] for item in found), 1) for name in MAXIMA},
        **{name: round(statistics.median(item[name] for item in found), 1) for name in MEDIANS},
        "memory growth in MiB": round(mib(account.service) - before, 1),
    }


def run_clients(account: Account, kind: str, clients: int, seconds: float) -> Results:
    """Runs overload clients and returns their results."""
    method, path = ("POST", "/api/subscribers")
    if kind == "reads":
        email = f"{time.time_ns()}@example.com"
        found = account.ok("CreateSubscriber", email=email)["subscriber"]["id"]
        method, path = "GET", f"{path}/{found}"
    program = (sys.executable, "-m", "tests.faults.promises.overload_clients")
    arguments = (account.service.http, clients, seconds, method, path, account.key, 1)
    done = subprocess.run(
        [*program, *map(str, arguments)], stdout=subprocess.PIPE, check=True, text=True
    )
    results: Results = json.loads(done.stdout)
    return results


def mib(service: Service) -> float:
    """Returns the resident memory of a service in MiB."""
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024
