"""Operations: their speed, and what they cost concurrent lookups.

An operation tags a large list while subscribers are looked up at a steady rate. The lookups are
also measured without an operation, in turns. The percentiles of each turn are compared, because two
short stalls of the machine would determine the percentile of all turns together.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from rosterd.server.features.accounts import store, store_keys
from rosterd.server.features.accounts.rules import hash_secret, make_secret
from rosterd.server.storage.databases import unit_of_work

from ..postgres import running
from ..processes import Service, start
from .measurement import CONNECTIONS, REPETITIONS, SECONDS, SHORT, Stats, request, send, spread
from .scale_fill import fill

# No operation processes as many while it is measured. Filling a larger list takes minutes.
SUBSCRIBERS = 5_000 if SHORT else 300_000
RATE = 500
TURNS = 2 * REPETITIONS
_numbers = count()


def stats(folder: Path) -> Iterator[Stats]:
    """Yields the results of both databases.

    `get_99th_with_operation` is the ratio of the 99th percentiles with and without an operation:
    that of the medians of all turns, and the range of the turns. `operation_us_per_row` is the time
    of an operation without lookups, and `operation_us_per_row_with_lookups` that with them.
    """
    url = f"sqlite:///{folder}/operations.db"
    with _filled(folder, url) as (service, key):
        yield _costs(service, key, "")
    with running() as server:
        url = server.new_database("TEMPLATE template0")
        secret_key = {"ROSTER_SECRET_KEY": server.secret_key}
        with _filled(folder, url, **secret_key) as (service, key):
            yield _costs(service, key, "_on_postgres")


@contextmanager
def _filled(folder: Path, url: str, **settings: str) -> Iterator[tuple[Service, str]]:
    """Runs a service with a large list, and yields it with the key of the account."""
    key = make_secret()
    with unit_of_work(url) as tx:
        account = store.create_account("bench@example.com", tx, verified=True)
        store_keys.create_key(account.id, "bench", "admin", hash_secret(key), tx)
    fill(url, SUBSCRIBERS, account.id)
    service = start(folder, ROSTER_DATABASE_URL=url, **settings)
    try:
        yield service, key
    finally:
        service.stop()


def _costs(service: Service, key: str, suffix: str) -> Stats:
    page = json.loads(send(service.http, "GET", "/api/subscribers?limit=100", b"", key))
    lookups = [request("GET", f"/api/subscribers/{row['id']}", key) for row in page["subscribers"]]
    _latencies(service, lookups)
    idle, busy, us_per_row, us_per_row_busy = [], [], [], []
    for _ in range(TURNS):
        idle.append(_99th(_latencies(service, lookups)))
        with _operation(service, key, us_per_row_busy):
            busy.append(_99th(_latencies(service, lookups)))
    for _ in range(REPETITIONS):
        with _operation(service, key, us_per_row):
            time.sleep(SECONDS)
    name = f"get_99th_with_operation{suffix}"
    ratios = [after / before for before, after in zip(idle, busy, strict=True)]
    ratio = statistics.median(busy) / statistics.median(idle)
    return {
        **spread(name, ratios, 2),
        name: round(ratio, 2),
        **spread(f"operation_us_per_row{suffix}", us_per_row, 0),
        **spread(f"operation_us_per_row_with_lookups{suffix}", us_per_row_busy, 0),
    }


def _latencies(service: Service, requests: list[bytes]) -> list[float]:
    """Sends the requests at a steady rate for some seconds, and returns milliseconds."""
    arguments = [service.http, str(CONNECTIONS), str(SECONDS), str(RATE)]
    run = subprocess.run(
        [sys.executable, "-m", "tests.bench.latency", *arguments],
        input=json.dumps([each.decode() for each in requests]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60 + SECONDS,
    )
    times: list[float] = json.loads(run.stdout)
    return times


@contextmanager
def _operation(service: Service, key: str, us_per_row: list[float]) -> Iterator[None]:
    """Runs an operation during a block, which starts after the first processed subscriber.

    Appends the time per processed subscriber, in microseconds.
    """
    body = {"filter": "email:*", "action": {"addTags": [f"tag {next(_numbers)}"]}}
    started = json.loads(send(service.http, "POST", "/api/subscribers/batch", body, key))
    operation_id = started["operation"]["id"]
    while not (before := _processed(service, key, operation_id)):
        time.sleep(0.01)
    began = time.perf_counter()
    yield
    processed = _processed(service, key, operation_id) - before
    us_per_row.append(1_000_000 * (time.perf_counter() - began) / max(processed, 1))
    send(service.http, "POST", f"/api/operations/{operation_id}/cancel", {}, key)


def _processed(service: Service, key: str, operation_id: str) -> int:
    found: Any = json.loads(send(service.http, "GET", f"/api/operations/{operation_id}", b"", key))
    return int(found["operation"]["processed"])


def _99th(times: list[float]) -> float:
    return sorted(times)[len(times) * 99 // 100]
