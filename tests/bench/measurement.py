"""Load generation and alternating measurements, for all benchmarks."""

from __future__ import annotations

import base64
import http.client
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, NamedTuple

# Whether to run briefly, only to check that the benchmarks work.
SHORT = os.environ.get("ROSTER_BENCH") == "short"
CONNECTIONS = 32
SECONDS = 0.3 if SHORT else 2.0
REPETITIONS = 1 if SHORT else 5

unique_numbers = count()


class Comparison(NamedTuple):
    """The result of Roster, that of its baseline, and their ratio."""

    name: str
    roster: float
    baseline: float
    ratio: float
    unit: str
    versus: str


def row() -> dict[str, Any]:
    """Returns a subscriber in JSON with a unique address."""
    return {
        "email": f"person{next(unique_numbers)}@example.com",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "isConfirmed": True,
        "tags": ["newsletter"],
    }


def request(method: str, path: str, key: str, body: Any = None) -> bytes:
    """Returns a complete HTTP request."""
    text = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n"
    return f"{head}\r\n".encode() + text


def load(address: str, requests: list[bytes]) -> float:
    """Sends the requests for some seconds and returns responses per second."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.bench.load", address, str(CONNECTIONS), str(SECONDS)],
        input=json.dumps([base64.b64encode(item).decode() for item in requests]),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=20 + SECONDS,
    )
    result = json.loads(run.stdout)
    if result["failures"]:
        raise SystemExit(f"{result['failures']} of {result['responses']} responses were not 2xx")
    return float(result["responses"] / result["seconds"])


def send(address: str, method: str, path: str, body: Any, key: str = "") -> bytes:
    """Sends one request and returns the body of the response."""
    connection = http.client.HTTPConnection(address)
    text = body if isinstance(body, bytes) else json.dumps(body)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    connection.request(method, path, body=text, headers=headers)
    response = connection.getresponse().read()
    connection.close()
    return response


@contextmanager
def program(module: str, *arguments: str) -> Iterator[str]:
    """Runs a server of this folder, which prints its port, and yields its address."""
    command = [sys.executable, "-m", f"tests.bench.{module}", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"127.0.0.1:{process.stdout.readline().strip()}"
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def in_turns(
    roster: Callable[[], float], baseline: Callable[[], float]
) -> tuple[float, float, float]:
    """Measures both alternately, and returns the medians of both and of the ratios."""
    roster(), baseline()
    pairs = [(roster(), baseline()) for _ in range(REPETITIONS)]
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    return statistics.median(p[0] for p in pairs), statistics.median(p[1] for p in pairs), ratio
