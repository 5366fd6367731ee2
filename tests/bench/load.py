"""A load generator: each connection sends its next request after the last response.

It runs as a program of its own, so that it does not share an interpreter with the service:

    python -m tests.bench.load HOST:PORT CONNECTIONS SECONDS < requests

Standard input is a JSON array of complete HTTP requests in base64, which are sent round robin.
Standard output is one JSON object: the number of responses, the seconds, and the number of
responses without a 2xx status.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import sys
import time
from itertools import count
from typing import Any

import uvloop

_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


class Tally:
    """The requests and counts that all connections share."""

    def __init__(self, requests: list[bytes], seconds: float) -> None:
        self.requests = requests
        self.next = count()
        self.until = time.perf_counter() + seconds
        self.responses = 0
        self.failures = 0

    def request(self) -> bytes | None:
        """Returns the next request, or None after the last one or when the time is over."""
        number = next(self.next)
        if time.perf_counter() >= self.until or number >= len(self.requests):
            return None
        return self.requests[number]


class Connection(asyncio.Protocol):
    """Sends a request, waits for its whole response, and sends the next."""

    def __init__(self, tally: Tally, done: asyncio.Future[None]) -> None:
        self.tally, self.done = tally, done
        self.buffer = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        request = self.tally.request()
        if request is None:
            self.transport.close()
            self.done.set_result(None)
        else:
            self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        head = self.buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        match = _LENGTH.search(self.buffer, 0, head)
        if len(self.buffer) < head + 4 + (int(match[1]) if match else 0):
            return
        self.tally.responses += 1
        self.tally.failures += self.buffer[9:10] != b"2"
        self.buffer = b""
        self.send()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server closed the connection"))


async def drive(address: str, connections: int, seconds: float, requests: list[bytes]) -> None:
    host, _, port = address.rpartition(":")
    loop = asyncio.get_running_loop()
    tally = Tally(requests, seconds)
    started = time.perf_counter()
    ends = [loop.create_future() for _ in range(connections)]
    for end in ends:
        await loop.create_connection(lambda end=end: Connection(tally, end), host, int(port))
    await asyncio.gather(*ends)
    elapsed = time.perf_counter() - started
    print(
        json.dumps({"responses": tally.responses, "seconds": elapsed, "failures": tally.failures})
    )


if __name__ == "__main__":
    _, address, connections, seconds = sys.argv
    requests = [base64.b64decode(item) for item in json.load(sys.stdin)]
    uvloop.run(drive(address, int(connections), float(seconds), requests))
