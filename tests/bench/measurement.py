"""Load generation and alternating measurements, for all benchmarks."""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from .. import tools

# Whether to run briefly, only to check that the benchmarks work.
SHORT = os.environ.get("ROSTER_BENCH") == "short"
CONNECTIONS = 32
SECONDS = 0.3 if SHORT else 2.0
REPETITIONS = 1 if SHORT else 5
# wrk measures whole seconds.
LOAD_SECONDS = max(1, round(SECONDS))
# Is replaced by a number of the same length, which is different in each request.
NUMBER = "{number}"

# Interval and greatest CPU time of idle processes, in seconds.
PAUSE, MAX_IDLE_SECONDS = 0.1, 0.02

_SCRIPT = Path(__file__).parent / "load.lua"

unique_numbers = count()

# Results by their names in bench.json.
Stats = dict[str, float]


class ToolMissing(Exception):
    """A program that a measurement needs is not on this machine."""


class Rate(NamedTuple):
    """Requests or rows per second, with their latency and CPU time if these were measured."""

    per_second: float
    median_ms: float | None = None
    last_ms: float | None = None
    # Of all measured processes, for 1,000 requests or rows.
    cpu_seconds: float | None = None

    def of_rows(self, rows: int) -> Rate:
        """Returns the rate of rows for requests of so many rows each."""
        cpu = None if self.cpu_seconds is None else self.cpu_seconds / rows
        return self._replace(per_second=self.per_second * rows, cpu_seconds=cpu)

    def stats(self, name: str) -> Stats:
        """Returns the statistics of this rate. Their names begin with `name`."""
        values = {
            f"{name}_per_second": round(self.per_second, 1),
            f"{name}_median_ms": self.median_ms and round(self.median_ms, 2),
            f"{name}_99th_ms": self.last_ms and round(self.last_ms, 2),
            f"{name}_cpu_seconds": self.cpu_seconds and round(self.cpu_seconds, 4),
        }
        return {key: value for key, value in values.items() if value is not None}


def spread(name: str, values: Sequence[float], digits: int) -> Stats:
    """Returns the median of some values, and their range."""
    found = {"": statistics.median(values), "_lowest": min(values), "_highest": max(values)}
    return {f"{name}{suffix}": round(value, digits) for suffix, value in found.items()}


Work = Callable[[], Rate | float]


def row(suffix: str = "") -> dict[str, Any]:
    """Returns a subscriber in JSON with a unique address."""
    return {
        "email": f"person{next(unique_numbers)}{suffix}@example.com",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "isConfirmed": True,
        "tags": ["newsletter"],
    }


def request(method: str, path: str, key: str, body: Any = None, *, scheme: str = "Bearer") -> bytes:
    """Returns a complete HTTP request."""
    text = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: {scheme} {key}\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(text)}\r\n"
    return f"{head}\r\n".encode() + text


def create_request(key: str) -> bytes:
    """Returns a request that creates a subscriber, with another address each time it is sent."""
    return request("POST", "/api/subscribers", key, row(f".{NUMBER}"))


def bulk_request(key: str) -> bytes:
    """Returns a request that creates 100 subscribers, with other addresses each time."""
    rows = {"subscribers": [row(f".{NUMBER}") for _ in range(100)]}
    return request("POST", "/api/subscribers/bulk", key, rows)


def load(
    address: str,
    requests: Sequence[bytes],
    processes: Sequence[int] = (),
    *,
    seconds: int = LOAD_SECONDS,
) -> Rate:
    """Sends the requests round robin for some seconds, and measures the responses.

    The CPU time of `processes` and their descendants is measured. Returns when the processes
    have finished what wrk no longer waits for. Raises ToolMissing without wrk, and ends the
    program if a request failed.
    """
    program = tools.find("wrk")
    if program is None:
        raise ToolMissing(tools.how_to_install("wrk", "wrk"))
    options = ["-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout=20s"]
    before = cpu_seconds(processes)
    run = subprocess.run(
        [program, *options, "-s", str(_SCRIPT), f"http://{address}"],
        input=b"\0".join(requests),
        stdout=subprocess.PIPE,
        check=True,
        timeout=60 + seconds,
    )
    spent = cpu_seconds(processes) - before
    _wait_until_idle(processes)
    result = json.loads(run.stdout.splitlines()[-1])
    if result["refused"] or result["broken"]:
        raise SystemExit(f"requests failed: {result}")
    if not result["responses"]:
        # Large requests on a busy machine. wrk reports those that take longer than its timeout.
        return load(address, requests, processes, seconds=2 * seconds)
    return Rate(
        result["responses"] / result["seconds"],
        result["median_ms"],
        result["last_ms"],
        1_000 * spent / result["responses"] if processes else None,
    )


def cpu_seconds(processes: Sequence[int]) -> float:
    """Returns the CPU time of processes and their descendants, those that have ended included."""
    spent = 0.0
    for number in processes:
        parent = psutil.Process(number)
        for process in (parent, *parent.children(recursive=True)):
            try:
                spent += sum(process.cpu_times()[:4])
            except psutil.NoSuchProcess:
                continue
    return spent


def _wait_until_idle(processes: Sequence[int]) -> None:
    spent = -1.0
    while spent + MAX_IDLE_SECONDS < (now := cpu_seconds(processes)):
        spent = now
        time.sleep(PAUSE)


def send(
    address: str, method: str, path: str, body: Any, key: str = "", kind: str = "application/json"
) -> bytes:
    """Sends one request and returns the body of the response."""
    connection = http.client.HTTPConnection(address)
    text = body if isinstance(body, bytes) else json.dumps(body)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": kind}
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


def in_turns(*works: Work, repetitions: int = REPETITIONS) -> list[list[Rate]]:
    """Measures all alternately, in the order A B B A, and returns the rates of each.

    A first turn fills caches and does not count.
    """
    rates: list[list[Rate]] = [[] for _ in works]
    for turn in range(repetitions if SHORT else repetitions + 1):
        order = list(zip(works, rates, strict=True))
        for work, own in order if turn % 2 else reversed(order):
            rate = work()
            own.append(rate if isinstance(rate, Rate) else Rate(rate))
    return [own[-repetitions:] for own in rates]


def stats_of(name: str, rates: Sequence[Rate]) -> Stats:
    """Returns the statistics of the medians of some rates, and their range."""
    per_second = spread(f"{name}_per_second", [rate.per_second for rate in rates], 1)
    return median(rates).stats(name) | per_second


def median(rates: Sequence[Rate]) -> Rate:
    """Returns the medians of each value of some rates."""
    medians = (
        None if values[0] is None else statistics.median(values)
        for values in zip(*rates, strict=True)
    )
    return Rate(*medians)


def compared(name: str, roster: Work, baseline: Work) -> Stats:
    """Measures both alternately, and returns their medians and the median of the ratios."""
    return comparison(name, *in_turns(roster, baseline))


def comparison(name: str, roster: Sequence[Rate], baseline: Sequence[Rate]) -> Stats:
    """Returns the medians of rates that were measured in turns, and of their ratios, with range."""
    pairs = zip(roster, baseline, strict=True)
    ratios = [ours.per_second / theirs.per_second for ours, theirs in pairs]
    return {
        **spread(name, ratios, 3),
        **stats_of(name, roster),
        f"{name}_baseline": round(median(baseline).per_second, 1),
    }
