"""P12: clients with a valid key of one account, or without a key, that try to slow down others.

They send the most expensive requests (`hostile_clients.py`), while another account reads and
creates subscribers. Its durations are compared with those of quiet phases before and after. On a
busy machine some turns are slow because of other load, so the best one counts.
"""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import time
from itertools import chain, pairwise
from math import inf, isinf
from pathlib import Path

from ...conftest import Account, new_account
from ...fronts import HttpFront
from ...processes import Service, start
from .abandoned import ROWS_PER_IMPORT, fill
from .checker import Results
from .overload import mib

# The system's lookup waits for name servers that do not respond.
SILENT_NAME_SERVERS = """
import socket, time
from rosterd.server.cli import main
lookup = socket.getaddrinfo
def getaddrinfo(host, *arguments, **options):
    if "silent.example" in str(host):
        time.sleep(30)
    return lookup(host, *arguments, **options)
socket.getaddrinfo = getaddrinfo
main()
"""
# Webhooks of the hostile account, the maximum.
WEBHOOKS = 20
# Subscribers of the hostile account, with an event each.
ROWS = 100_000
TURNS = 3
# Seconds in which the hostile clients connect.
CONNECTING = 2
PAUSE = 0.005
MEDIAN, SLOWEST = "median, of the quiet one", "99th percentile in ms"
MEMORY, FAILED = "memory growth in MiB", "failed calls"
AT_MOST: Results = {MEDIAN: 2, SLOWEST: 250, MEMORY: 64, FAILED: 0}
AT_LEAST: Results = {"hostile responses": 100}


def run(seconds: int, folder: Path, **settings: str) -> Results:
    service = start(folder, code=SILENT_NAME_SERVERS, ROSTER_LOG_LEVEL="error", **settings)
    try:
        front = HttpFront("http", service.http)
        hostile, other = new_account(service, front), new_account(service, front)
        fill(service, hostile.key, ROWS // ROWS_PER_IMPORT * ROWS_PER_IMPORT)
        for number in range(WEBHOOKS):
            url = f"https://n{number}.silent.example/"
            hostile.ok("CreateWebhook", url=url, eventTypes=["subscriber.created"])
        return _measured(service, hostile, other, seconds)
    finally:
        service.stop()


def _measured(service: Service, hostile: Account, other: Account, seconds: int) -> Results:
    keys = [hostile.new_key(scope) for scope in ("read", "signup", "write")]
    # The first responses allocate buffers and caches that stay.
    _durations(service, other.key, seconds)
    before, most = mib(service), 0.0
    quiet, slow, responses = [_durations(service, other.key, seconds)], [], 0
    for _ in range(TURNS):
        arguments = (service.http, *keys, seconds + CONNECTING)
        program = (sys.executable, "-m", f"{__package__}.hostile_clients", *map(str, arguments))
        with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as clients:
            time.sleep(CONNECTING)
            slow.append(_durations(service, other.key, seconds - 0.5))
            most = max(most, mib(service))
            assert clients.stdout is not None
            counts = json.loads(clients.stdout.read())
        responses += sum(counts.values())
        quiet.append(_durations(service, other.key, seconds))
    ratios = [
        statistics.median(each) / max(map(statistics.median, around))
        for each, around in zip(slow, pairwise(quiet), strict=True)
    ]
    slowest = [1000 * statistics.quantiles(each, n=100)[-1] for each in slow]
    return {
        MEDIAN: round(min(ratios), 2),
        "median of the turns": round(statistics.median(ratios), 2),
        "quiet median in ms": round(1000 * statistics.median(map(statistics.median, quiet)), 2),
        SLOWEST: round(min(slowest), 1),
        MEMORY: round(most - before, 1),
        FAILED: sum(map(isinf, chain.from_iterable(slow))),
        "hostile responses": responses,
    }


def _durations(service: Service, key: str, seconds: float) -> list[float]:
    """Returns the seconds of each call of the other account; infinite if it failed."""
    connection = http.client.HTTPConnection(service.http, timeout=60)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    found, end = [], time.monotonic() + seconds
    path = ""
    while time.monotonic() < end:
        body = None if path else json.dumps({"email": f"v{time.time_ns()}@example.com"})
        began = time.perf_counter()
        connection.request("GET" if path else "POST", path or "/api/subscribers", body, headers)
        response = connection.getresponse()
        content = json.loads(response.read())
        took = time.perf_counter() - began
        if path:
            found.append(took if response.status == 200 else inf)
        else:
            path = f"/api/subscribers/{content['subscriber']['id']}"
        time.sleep(PAUSE)
    connection.close()
    return found
