"""A crowd of clients: so many connections, each with the next request once the last is answered.

Run as a program of its own, so that it does not share an interpreter with what it asks:

    python -m tests.faults.promises.crowd HOST:PORT CLIENTS SECONDS METHOD PATH KEY PATIENCE

A client that is refused comes again once it has waited as long as it was told to, times
PATIENCE. A POST creates a subscriber each time. Standard output gets one JSON object.
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


class Crowd:
    """What all clients have in common."""

    def __init__(self, method: str, path: str, key: str, patience: float) -> None:
        self._head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
        self._creates = method == "POST"
        self._run, self._numbers = random.randbytes(4).hex(), count()
        self.patience = patience
        self.ended = False
        self.done = 0
        self.wrong = 0
        # How long each refusal took, in seconds.
        self.refused: list[float] = []

    def request(self) -> bytes:
        """Returns a whole request, unlike any other."""
        if not self._creates:
            return f"{self._head}\r\n".encode()
        body = json.dumps({"email": f"{self._run}-{next(self._numbers)}@example.com"})
        more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        return f"{self._head}{more}\r\n{body}".encode()


class Client(asyncio.Protocol):
    """One client."""

    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._answer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def ask(self) -> None:
        """Sends a request, unless it is over."""
        if not self._crowd.ended and not self._transport.is_closing():
            self._sent = time.perf_counter()
            self._transport.write(self._crowd.request())

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, found, body = self._answer.partition(b"\r\n\r\n")
        length = head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0]
        if not found or len(body) < int(length or 0):
            return
        self._answer, crowd = b"", self._crowd
        status = int(head[9:12])
        if status in (200, 201):
            crowd.done += not crowd.ended
            self.ask()
            return
        after = head.partition(b"Retry-After: ")[2].partition(b"\r\n")[0]
        if status != 503 or not after:
            crowd.wrong += 1
        crowd.refused.append(time.perf_counter() - self._sent)
        wait = int(after or 1) * crowd.patience * random.uniform(1, 1.5)
        asyncio.get_running_loop().call_later(wait, self.ask)


async def drive(address: str, clients: int, seconds: float, crowd: Crowd) -> dict[str, float]:
    """Lets a crowd ask, and returns what came of it once all had begun to."""
    host, _, port = address.rpartition(":")
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(lambda: Client(crowd), host, int(port)) for _ in range(clients)
    ]
    # A port with many at the door makes them wait for seconds; that is another story.
    await asyncio.sleep(1)
    for number, (_, client) in enumerate(made):
        loop.call_later(number / clients, client.ask)
    await asyncio.sleep(2)
    crowd.done, crowd.refused, began = 0, [], time.perf_counter()
    await asyncio.sleep(seconds)
    crowd.ended, took = True, time.perf_counter() - began
    for transport, _ in made:
        transport.abort()
    slowest = sorted(crowd.refused)
    return {
        "done a second": crowd.done / took,
        "refused a second": len(slowest) / took,
        "wrong": crowd.wrong,
        "99 of 100 refusals in ms": slowest[len(slowest) * 99 // 100] * 1000 if slowest else 0,
        "half of the refusals in ms": slowest[len(slowest) // 2] * 1000 if slowest else 0,
    }


if __name__ == "__main__":
    _, address, clients, seconds, method, path, key, patience = sys.argv
    crowd = Crowd(method, path, key, float(patience))
    print(json.dumps(uvloop.run(drive(address, int(clients), float(seconds), crowd))))
