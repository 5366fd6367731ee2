"""P5: five times as many clients as are answered at once, for reads and for writes.

The peak is what a service does for as many clients as it lets in. Then five times as many
ask; those that are refused come again when they were told to. What is done then is
compared with the peak, and the refusals and the memory are looked at.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from http_gateway.load import MAX_CALLS

from ...conftest import Account, new_account
from ...fronts import HttpFront
from ...processes import Service, start
from .checker import Figures

TIMES = 5
# How many clients are measured for the peak: those that fit, and fewer, since more are no help.
PEAKS = (32, 128, MAX_CALLS // 2)
KINDS = ("reads", "writes")
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
    """Measures the peak, then what is done of five times as much."""
    peaks = [crowd(account, kind, clients, seconds / 2)["done a second"] for clients in PEAKS]
    # What so many take is taken once, whatever they do; from there on it has to stay.
    crowd(account, kind, TIMES * MAX_CALLS, seconds)
    before = mib(account.service)
    found = crowd(account, kind, TIMES * MAX_CALLS, seconds)
    return {
        "peak a second": round(max(peaks)),
        "done, of the peak": round(found["done a second"] / max(peaks), 2),
        **{name: round(value, 1) for name, value in found.items()},
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
