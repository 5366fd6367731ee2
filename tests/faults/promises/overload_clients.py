"""HTTP clients that overload a service: each sends its next request after the last response.

It runs as a program of its own, so that it does not share an interpreter with the service:

    python -m tests.faults.promises.overload_clients \\
        HOST:PORT CLIENTS SECONDS METHOD PATH KEY WAIT_FACTOR

A rejected client waits for its Retry-After times WAIT_FACTOR and tries again. Each POST creates
a subscriber. The program prints one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from itertools import count
from typing import Any

import uvloop


class ClientState:
    """Settings and counters that all clients share."""

    def __init__(self, method: str, path: str, key: str, wait_factor: float) -> None:
        self._head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
        self._creates = method == "POST"
        self._run, self._numbers = random.randbytes(4).hex(), count()
        self.wait_factor = wait_factor
        self.ended = False
        self.done = 0
        self.wrong = 0
        self.rejection_seconds: list[float] = []

    def request(self) -> bytes:
        """Returns a complete request. Each POST has another address."""
        if not self._creates:
            return f"{self._head}\r\n".encode()
        body = json.dumps({"email": f"{self._run}-{next(self._numbers)}@example.com"})
        more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{self._head}{more}\r\n{body}".encode()


class Client(asyncio.Protocol):
    def __init__(self, state: ClientState) -> None:
        self._state = state
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def send(self) -> None:
        """Sends a request, unless the measurement has ended."""
        if not self._state.ended and not self._transport.is_closing():
            self._sent = time.perf_counter()
            self._transport.write(self._state.request())

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        length = head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]
        if not found or len(body) < int(length or 0):
            return
        self._buffer, state = b"", self._state
        status = int(head[9:12])
        if status in (200, 201):
            state.done += not state.ended
            self.send()
            return
        after = head.partition(b"Retry-After: ")[2].partition(b"\r\n")[0]
        if status != 503 or not after:
            state.wrong += 1
        state.rejection_seconds.append(time.perf_counter() - self._sent)
        wait = int(after or 1) * state.wait_factor * random.uniform(1, 1.5)
        asyncio.get_running_loop().call_later(wait, self.send)


async def drive(address: str, clients: int, seconds: float, state: ClientState) -> dict[str, float]:
    """Runs the clients and returns their counts, without the time in which they start."""
    host, _, port = address.rpartition(":")
    loop = asyncio.get_running_loop()
    connections = [
        await loop.create_connection(lambda: Client(state), host, int(port)) for _ in range(clients)
    ]
    # The service accepts connections in batches. The wait for that is not measured.
    await asyncio.sleep(1)
    for number, (_, client) in enumerate(connections):
        loop.call_later(number / clients, client.send)
    await asyncio.sleep(2)
    state.done, state.rejection_seconds, began = 0, [], time.perf_counter()
    await asyncio.sleep(seconds)
    state.ended, took = True, time.perf_counter() - began
    for transport, _ in connections:
        transport.abort()
    slowest = sorted(state.rejection_seconds) or [0.0]
    return {
        "successes per second": state.done / took,
        "rejections per second": len(state.rejection_seconds) / took,
        "unexpected responses": state.wrong,
        "99th percentile of rejections in ms": 1000 * slowest[len(slowest) * 99 // 100],
        "median of rejections in ms": 1000 * slowest[len(slowest) // 2],
    }


if __name__ == "__main__":
    _, address, clients, seconds, method, path, key, wait_factor = sys.argv
    state = ClientState(method, path, key, float(wait_factor))
    print(json.dumps(uvloop.run(drive(address, int(clients), float(seconds), state))))
