"""HTTP clients that send the most expensive requests that a service accepts or rejects.

It runs as a program of its own, so that it does not share an interpreter with the service:

    python -m tests.faults.promises.hostile_clients HOST:PORT READ_KEY SIGNUP_KEY WRITE_KEY SECONDS

Each client sends its next request after the last response. The program prints the number of
responses by kind of client and status as a JSON object. Another kind of client is another row of
`CLIENTS`.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from urllib.parse import quote

import uvloop

TERMS = ("tags:a", "-tags:b", 'email:"x*"', 'firstName="x"', "createdAt=2024-01-01", "tags:*")
SHAPES = 2_000
EXISTING = 100
STREAMS = 256
# Errors of a connection that the service closed.
CLOSED = (OSError, asyncio.IncompleteReadError)

Send = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[int]]


def get(path: str, key: str, headers: str = "") -> bytes:
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n{headers}\r\n"
    return head.encode()


def with_filter(text: str, key: str) -> bytes:
    return get(f"/api/subscribers?filter={quote(text)}", key)


def random_filter() -> str:
    """Returns a filter of 50 terms, whose statements were almost certainly not used before."""
    *terms, last = random.choices(TERMS, k=50)
    return "".join(f"{term} {random.choice(('OR', 'AND'))} " for term in terms) + last


def post(path: str, email: str, key: str) -> bytes:
    body = json.dumps({"email": email}).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
    more = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return f"{head}{more}".encode() + body


async def status_of(reader: asyncio.StreamReader) -> int:
    """Reads a response, and returns its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = head.partition(b"content-length: ")[2].partition(b"\r\n")[0]
    await reader.readexactly(int(length or 0))
    return int(head[9:12])


def one_of(requests: Sequence[bytes]) -> Send:
    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        writer.write(random.choice(requests))
        return await status_of(reader)

    return send


def create(key: str) -> Send:
    """Creates subscribers, whose events go to the webhooks of the account."""

    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        writer.write(post("/api/subscribers", f"{random.randbytes(8).hex()}@example.com", key))
        status = await status_of(reader)
        await asyncio.sleep(0.1)
        return status

    return send


def tail(key: str) -> Send:
    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
        writer.write(get("/api/webhook-deliveries/tail", key))
        head = await reader.readuntil(b"\r\n\r\n")
        status = int(head[9:12])
        if status == 200:
            await reader.read()
        # A client that is rejected follows Retry-After.
        await asyncio.sleep(5)
        raise ConnectionResetError

    return send


async def slow_body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> int:
    head = "POST /api/subscribers HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: 100000\r\n\r\n".encode())
    for _ in range(100_000):
        writer.write(b" ")
        await asyncio.sleep(0.01)
    return await status_of(reader)


async def run_client(address: str, name: str, send: Send, counts: Counter[str]) -> None:
    host, _, port = address.rpartition(":")
    while True:
        writer = None
        with suppress(*CLOSED):
            reader, writer = await asyncio.open_connection(host, int(port))
            while True:
                counts[f"{name} {await send(reader, writer)}"] += 1
        if writer is not None:
            writer.close()
        await asyncio.sleep(0.01)


async def main(
    address: str, read_key: str, signup_key: str, write_key: str, seconds: float
) -> Counter[str]:
    parentheses = [f"{'(' * 1_990}a=1{')' * 1_990}", "(" * 32 + "tags:a" + ")" * 32]
    sign_ups = [
        post("/api/signup", f"p{number}@example.com", signup_key) for number in range(EXISTING)
    ]
    clients: Sequence[tuple[str, int, Send]] = (
        ("filters", 4, one_of([with_filter(random_filter(), read_key) for _ in range(SHAPES)])),
        ("parentheses", 4, one_of([with_filter(text, read_key) for text in parentheses])),
        ("sign-ups", 7, one_of(sign_ups)),
        ("creations", 1, create(write_key)),
        ("streams", STREAMS, tail(read_key)),
        ("headers", 2, one_of([get("/api/subscribers", "x", f"X-Long: {'x' * 7_000}\r\n")])),
        ("bodies", 2, slow_body),
    )
    counts: Counter[str] = Counter()
    tasks = [
        asyncio.create_task(run_client(address, name, send, counts))
        for name, number, send in clients
        for _ in range(number)
    ]
    await asyncio.sleep(seconds)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return counts


if __name__ == "__main__":
    _, address, read_key, signup_key, write_key, seconds = sys.argv
    keys = read_key, signup_key, write_key
    print(json.dumps(uvloop.run(main(address, *keys, float(seconds)))))
