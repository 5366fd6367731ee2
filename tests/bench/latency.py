"""A load generator at a steady rate, which measures how long each response takes.

It runs as a program of its own, so that it does not share an interpreter with the service:

    python -m tests.bench.latency HOST:PORT CONNECTIONS SECONDS RATE < requests

Standard input is a JSON array of complete HTTP requests, which are sent round robin. RATE is the
number of requests per second. The time of a request includes waiting for a free connection.
Standard output is a JSON array of milliseconds.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from itertools import cycle
from typing import Any

import uvloop

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


class Connection(asyncio.Protocol):
    """Sends one request at a time, and becomes free after the response."""

    def __init__(self, free: asyncio.Queue[Connection], latencies: list[float]) -> None:
        self._free, self._latencies = free, latencies
        self._buffer = b""
        self._started = 0.0

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._free.put_nowait(self)

    def send(self, request: bytes, started: float) -> None:
        self._started = started
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        length = _LENGTH.search(self._buffer, 0, max(head, 0))
        if head < 0 or len(self._buffer) < head + 4 + (int(length[1]) if length else 0):
            return
        if self._buffer[9:10] != b"2":
            raise SystemExit(f"a response was not 2xx: {self._buffer[:200]!r}")
        self._latencies.append(1000 * (time.perf_counter() - self._started))
        self._buffer = b""
        self._free.put_nowait(self)


async def drive(
    address: str, connections: int, seconds: float, rate: float, requests: list[bytes]
) -> None:
    host, _, port = address.rpartition(":")
    loop = asyncio.get_running_loop()
    free: asyncio.Queue[Connection] = asyncio.Queue()
    latencies: list[float] = []
    for _ in range(connections):
        await loop.create_connection(lambda: Connection(free, latencies), host, int(port))
    begun = time.perf_counter()
    count = int(seconds * rate)
    for number, request in zip(range(count), cycle(requests), strict=False):
        await asyncio.sleep(begun + number / rate - time.perf_counter())
        started = time.perf_counter()
        connection = await free.get()
        connection.send(request, started)
    while len(latencies) < count:  # noqa: ASYNC110 - after the last request is sent
        await asyncio.sleep(0.01)
    print(json.dumps(latencies))


if __name__ == "__main__":
    _, address, connections, seconds, rate = sys.argv
    requests = [text.encode() for text in json.load(sys.stdin)]
    uvloop.run(drive(address, int(connections), float(seconds), float(rate), requests))
