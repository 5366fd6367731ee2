"""Receivers of webhooks on this machine, as bad as they come."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

import uvloop

from server.webhooks.client import SECONDS, Client
from server.webhooks.outcome import Outcome
from server.webhooks.reach import Address, Reach

# Tests take this machine's first address for a public one; its others stay private.
PUBLIC = "127.0.0.1"
PRIVATE = "127.0.0.2"
REACH = Reach([ip_network(f"{PUBLIC}/32")], http=True)

Behaviour = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Receiver:
    """A listening receiver, and what it has seen."""

    port: int = 0
    connections: int = 0
    requests: list[bytes] = field(default_factory=list)
    # What it could send before its client went away.
    sent: int = 0
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def receiving(
    behave: Behaviour,
    *,
    host: str = PUBLIC,
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Receiver]:
    """Runs a receiver, which behaves so once for each connection."""
    receiver = Receiver()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        receiver.connections += 1
        told = Told(writer, receiver)
        with suppress(OSError, asyncio.IncompleteReadError):
            await behave(Heard(reader, receiver), told)
        writer.close()

    server = await asyncio.start_server(serve, host, port, ssl=tls)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
