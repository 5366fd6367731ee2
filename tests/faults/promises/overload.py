"""P5: five times as many clients as are answered at once, for reads and for writes.

The peak is what a service does for as many clients as it lets in, or for fewer where that
is more. Then five times as many ask; those that are refused come again when they were told
to. What is done then is compared with the peak; refusals and memory are looked at.

A shared machine does 7,000 look-ups a second in one minute and 12,000 in another. So what is
compared is measured in turns, each crowd between two peaks, and the median is taken. What it
would be of the best of all peaks is told as well.
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

from http_gateway.load_shedding import MAX_CALLS

from ...conftest import Account, new_account
from ...fronts import HttpFront
from ...processes import Service, start
from .checker import Figures

TIMES = 5
# How many clients are measured for the peak: those that fit, and fewer, since more are no help.
PEAKS = (32, 128, MAX_CALLS // 2)
# How many crowds are compared with the peaks before and after each.
TURNS = 3
KINDS = ("reads", "writes")
# What is told of a crowd: of all the worst, or the median.
WORST = ("wrong", "99 of 100 refusals in ms")
USUAL = ("done a second", "refused a second", "half of the refusals in ms")
AT_MOST: Figures = {}
AT_LEAST: Figures = {}
for kind in KINDS:
    AT_LEAST[f"{kind}: done, of the peak"] = 0.8
    AT_MOST |= {
        f"{kind}: 99 of 100 refusals in ms": 50,
        f"{kind}: MiB more at the end": 16,
        f"{kind}: wrong": 0,
    }


def run(seconds: int) -> Figures:
    """Asks too much of a service for so many seconds each time, and returns what came of it."""
    figures: Figures = {}
    with tempfile.TemporaryDirectory() as folder:
        service = start(Path(folder), ROSTER_LOG_LEVEL="error")
        try:
            account = new_account(service, HttpFront("http", service.http))
            for kind in KINDS:
                found = asked_too_much(account, kind, seconds)
                figures |= {f"{kind}: {name}": value for name, value in found.items()}
        finally:
            service.stop()
    return figures


def asked_too_much(account: Account, kind: str, seconds: int) -> Figures:
    """Measures the peak and what is done of five times as much, in turns."""
    short = seconds / 4

    def done(clients: int) -> float:
        return crowd(account, kind, clients, short)["done a second"]

    best = max(PEAKS, key=done)
    # What so many take is taken once, whatever they do; from there on it has to stay.
    crowd(account, kind, TIMES * MAX_CALLS, seconds)
    before = mib(account.service)
    peaks, found = [done(best)], []
    for _ in range(TURNS):
        found.append(crowd(account, kind, TIMES * MAX_CALLS, seconds))
        peaks.append(done(best))
    ratios = [
        each["done a second"] / statistics.mean(around)
        for each, around in zip(found, pairwise(peaks), strict=True)
    ]
    return {
        "peak a second": round(statistics.median(peaks)),
        "clients of the peak": best,
        "done, of the peak": round(statistics.median(ratios), 2),
        "done, of the best peak": round(
            statistics.median(each["done a second"] for each in found) / max(peaks), 2
        ),
        **{name: round(max(each[name] for each in found), 1) for name in WORST},
        **{name: round(statistics.median(each[name] for each in found), 1) for name in USUAL},
        "MiB more at the end": round(mib(account.service) - before, 1),
    }


def crowd(account: Account, kind: str, clients: int, seconds: float) -> Figures:
    """Lets a crowd ask for so many seconds, and returns its figures."""
    method, path = ("POST", "/api/subscribers")
    if kind == "reads":
        email = f"{time.time_ns()}@example.com"
        found = account.ok("CreateSubscriber", email=email)["subscriber"]["id"]
        method, path = "GET", f"{path}/{found}"
    program = (sys.executable, "-m", "tests.faults.promises.crowd")
    arguments = (account.service.http, clients, seconds, method, path, account.key, 1)
    done = subprocess.run(
        [*program, *map(str, arguments)], stdout=subprocess.PIPE, check=True, text=True
    )
    figures: Figures = json.loads(done.stdout)
    return figures


def mib(service: Service) -> float:
    """Returns how much memory a service takes."""
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024
