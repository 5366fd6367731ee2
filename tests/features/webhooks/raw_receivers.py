"""Webhook receivers on raw TCP connections, which can violate HTTP and TLS in any way."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import TypeVar

import uvloop

from rosterd.server.features.webhooks.egress.client import TIMEOUT_SECONDS, Client
from rosterd.server.features.webhooks.egress.outcome import Outcome
from rosterd.server.features.webhooks.egress.policy import Address, EgressPolicy

# In tests one loopback address is treated as public, and another one as private.
PUBLIC = "127.0.0.1"
PRIVATE = "127.0.0.2"
EGRESS_POLICY = EgressPolicy([ip_network(f"{PUBLIC}/32")], http=True)
# Seconds after which a test fails.
TIMEOUT = 60


@dataclass
class Receiver:
    """A running receiver, and the requests that it has received."""

    port: int
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    # Bytes sent before the client closed the connection.
    sent: int = 0

    @property
    def url(self) -> str:
        return f"http://{PUBLIC}:{self.port}/hook"


@dataclass
class Connection:
    """The receiver's side of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    receiver: Receiver

    async def request(self) -> None:
        """Reads and records one request."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        self.receiver.requests.append(head + await self.reader.readexactly(length))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()
        self.receiver.sent += len(data)

    async def flood(self, data: bytes) -> None:
        """Sends the data repeatedly until the client closes the connection."""
        while True:
            await self.send(data)
            await asyncio.sleep(0)

    async def wait(self) -> None:
        """Sends nothing until the client closes the connection."""
        while await self.reader.read(1024):
            pass


T = TypeVar("T")
Handler = Callable[[Connection], Awaitable[None]]


@asynccontextmanager
async def running_receiver(
    handle: Handler, *, host: str = PUBLIC, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[Receiver]:
    """Runs a receiver that calls `handle` for each connection."""
    receiver = Receiver(port)
    connections = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        receiver.connections += 1
        connections.add(asyncio.current_task())
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await handle(Connection(reader, writer, receiver))
        writer.close()
        with suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()

    server = await asyncio.start_server(serve, host, port, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


def run(main: Awaitable[T]) -> T:
    """Runs a test on uvloop, as Roster does, with a timeout."""

    async def limited() -> T:
        async with asyncio.timeout(TIMEOUT):
            return await main

    return uvloop.run(limited())


def responding(head: str, body: bytes = b"") -> Handler:
    """Returns a handler that responds to one request and closes the connection."""

    async def handle(connection: Connection) -> None:
        await connection.request()
        await connection.send(head.replace("\n", "\r\n").encode("latin-1") + b"\r\n\r\n" + body)

    return handle


async def ok(connection: Connection) -> None:
    """Responds to all requests of a connection with 200."""
    while True:
        await connection.request()
        await connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


async def hang(connection: Connection) -> None:
    await connection.wait()


def post_once(
    handle: Handler,
    *,
    body: bytes = b"{}",
    headers: Mapping[str, str] | None = None,
    seconds: float = TIMEOUT_SECONDS,
) -> tuple[Outcome, Receiver]:
    """Sends one request to a receiver with this handler."""

    async def main() -> tuple[Outcome, Receiver]:
        async with (
            running_receiver(handle) as receiver,
            Client(EGRESS_POLICY, seconds=seconds) as client,
        ):
            return await client.post(receiver.url, body, headers or {}), receiver

    return run(main())


def lookup_returning(*results: Sequence[str]) -> Callable[[str], Awaitable[list[Address]]]:
    """Returns a lookup that returns each result once, and then always the last one."""
    left = list(results)

    async def lookup(_host: str) -> list[Address]:
        result = left.pop(0) if len(left) > 1 else left[0]
        return [ip_address(text) for text in result]

    return lookup
