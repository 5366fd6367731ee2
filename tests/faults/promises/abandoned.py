"""P8: clients that leave while their slow queries run.

Eight clients send a search or filter expressions that all subscribers match, and disconnect. The
next lookup must not wait for these queries.
"""

from __future__ import annotations

import http.client
import socket
import statistics
import time
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import quote

from rosterd.server.features.accounts.rules import make_secret

from ...processes import Service, start
from .checker import Results

CLIENTS = 8
# Subscribers of a run with few repetitions, and of one with MANY. On a fast machine there are more,
# until each query takes SLOW milliseconds: faster ones would hardly delay a lookup.
ROWS, MANY_ROWS, MANY = 200_000, 1_000_000, 50
SLOW = 25
# Subscribers of one import. http.client sends a body before it reads the response, so the results
# of these rows must fit into the buffers of a connection.
ROWS_PER_IMPORT = 50_000
# How long the queries run before their clients leave, in seconds.
SECONDS = 0.05
# Each reads all subscribers.
CONDITIONS = (
    "q=p",
    quote('filter=firstName="Ada*" AND NOT lastName:*', safe="="),
    quote('filter=name:"dA " AND email:"EXAMPLE"', safe="="),
)
ALONE, AFTER, BEHIND = "faster query alone in ms", "lookup afterwards in ms", "failed lookups"
AT_MOST: Results = {AFTER: 50, BEHIND: 0}
AT_LEAST: Results = {ALONE: 20}


def run(repetitions: int, folder: Path, **settings: str) -> Results:
    key, rows = make_secret(), MANY_ROWS if repetitions >= MANY else ROWS
    service = start(folder, ROSTER_BOOTSTRAP_API_KEY=key, ROSTER_LOG_LEVEL="error", **settings)
    try:
        fill(service, key, rows)
        while (alone := _fastest(service, key, queries := _queries(rows))) < SLOW:
            if rows > MANY_ROWS:
                break
            fill(service, key, 2 * rows, after=rows)
            rows *= 2
        after = []
        for _ in range(repetitions):
            connections = [_send(service, key, query) for query in islice(cycle(queries), CLIENTS)]
            time.sleep(SECONDS)
            for connection in connections:
                connection.close()
            after.append(_milliseconds(service, key, "/api/subscribers/p7%40example.com"))
    finally:
        service.stop()
    found = [milliseconds for milliseconds in after if milliseconds is not None]
    return {
        ALONE: round(alone, 1),
        AFTER: round(statistics.median(found), 1),
        BEHIND: len(after) - len(found),
    }


def fill(service: Service, key: str, rows: int, *, after: int = 0) -> None:
    for first in range(after, rows, ROWS_PER_IMPORT):
        numbers = range(first, first + ROWS_PER_IMPORT)
        lines = "".join(f"p{number}@example.com,Ada {number}\n" for number in numbers)
        connection = http.client.HTTPConnection(service.http, timeout=300)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "text/csv"}
        body = f"email,firstName\n{lines}".encode()
        connection.request("POST", "/api/subscribers/import", body, headers)
        summary = connection.getresponse().read().splitlines()[-1]
        connection.close()
        assert f'"created":{ROWS_PER_IMPORT}'.encode() in summary, summary


def _queries(rows: int) -> list[str]:
    return [
        f"/api/subscribers?{condition}&limit=100&page={rows // 100 - 100}"
        for condition in CONDITIONS
    ]


def _fastest(service: Service, key: str, queries: list[str]) -> float:
    """Returns the median duration of the fastest query, in milliseconds."""
    return min(
        statistics.median(_milliseconds(service, key, query) or 0 for _ in range(3))
        for query in queries
    )


def _milliseconds(service: Service, key: str, path: str) -> float | None:
    """Returns the duration of a request, or None if it fails."""
    connection = http.client.HTTPConnection(service.http, timeout=60)
    began = time.perf_counter()
    connection.request("GET", path, headers={"Authorization": f"Bearer {key}"})
    response = connection.getresponse()
    response.read()
    milliseconds = (time.perf_counter() - began) * 1000
    connection.close()
    return milliseconds if response.status == 200 else None


def _send(service: Service, key: str, path: str) -> socket.socket:
    host, _, port = service.http.partition(":")
    connection = socket.create_connection((host, int(port)))
    request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\r\n"
    connection.sendall(request.encode())
    return connection
