"""The HTTP server: limits on connections, request lines and headers.

Each connection uses a file descriptor, and a process without free descriptors can open neither
its database nor a log. The number of connections, idle ones included, is therefore limited;
connections beyond the limit receive a 503.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, cast

from aiohttp import web

from .connections import HEAD_SECONDS, LINGERING_SECONDS, RejectedConnection
from .load_shedding import LoadShedder
from .shedding_connection import Request, SheddingConnection

# How long a connection may be idle; aiohttp's default is an hour.
KEEPALIVE_SECONDS = 30.0
# The longest request line and header field, in bytes, and the most fields.
MAX_LINE_BYTES = 8_190
MAX_HEADERS = 128
# How many connections may wait until they are accepted. Where aiohttp's default of 128 is
# full, a client tries again only after a second.
BACKLOG = 1_024
# How long to wait, in seconds, until queued connections are accepted, and until they send a
# request.
CLOSING_SECONDS = 0.05
# The most connections at once, and how many descriptors are left for everything else.
MAX_CONNECTIONS = 10_000
OTHER_DESCRIPTORS = 256


class Server(web.Server):
    """aiohttp's low-level server, with these limits.

    A client that goes away cancels its request. What was not begun for it then is not done;
    a write that was begun is finished.
    """

    def __init__(
        self, handler: Callable[[web.BaseRequest], Awaitable[Any]], load: LoadShedder | None = None
    ) -> None:
        super().__init__(
            handler,
            request_factory=self._request,
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=KEEPALIVE_SECONDS,
            lingering_time=LINGERING_SECONDS,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
        )
        # How many connections there may be, and how many there was no room for.
        self.capacity = capacity()
        self.refused = 0
        self._refused: set[RejectedConnection] = set()
        self.load = load or LoadShedder()

    def __call__(self) -> asyncio.Protocol:  # type: ignore[override]  # some are refused
        if len(self._connections) >= self.capacity:
            self.refused += 1
            return RejectedConnection(self._refused)
        return SheddingConnection(self, self.load, loop=self._loop, **self._kwargs)

    def _request(
        self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any
    ) -> web.BaseRequest:
        return Request(message, payload, protocol, writer, task, self._loop)


class Site(web.BaseSite):
    """A port on which a runner's server listens, over TLS if there is a context for it.

    Where it `shares_port`, others may listen on the same one, and the system deals out
    the connections. `start` raises OSError if the port cannot be had.
    """

    def __init__(
        self,
        runner: web.ServerRunner,
        host: str,
        port: int,
        *,
        tls: ssl.SSLContext | None,
        shares_port: bool,
    ) -> None:
        super().__init__(runner, ssl_context=tls, backlog=BACKLOG)
        self._place = (host, port)
        self._shares_port = shares_port

    @property
    def name(self) -> str:
        """The port in use."""
        (_, port, *_), *_ = self._runner.addresses
        return str(port)

    async def start(self) -> None:
        await super().start()
        assert self._runner.server is not None
        # aiohttp's own site leaves a client a minute to shake hands.
        self._server = await asyncio.get_running_loop().create_server(
            self._runner.server,
            *self._place,
            ssl=self._ssl_context,
            ssl_handshake_timeout=HEAD_SECONDS if self._ssl_context else None,
            backlog=BACKLOG,
            reuse_port=self._shares_port,
        )

    async def stop(self) -> None:
        """Stops accepting connections, except those already queued in the kernel."""
        if self._server is not None:
            # Closed at once, the port would reset connections that wait until they are accepted.
            # This way there are none: who comes now tries again, and finds it closed.
            for door in cast("asyncio.Server", self._server).sockets:
                with socket.socket(fileno=os.dup(door.fileno())) as listening:
                    listening.listen(0)
            await asyncio.sleep(CLOSING_SECONDS)
        await super().stop()
        # aiohttp would close connections that have not sent a request yet.
        await asyncio.sleep(CLOSING_SECONDS)


def capacity() -> int:
    """Returns how many connections there may be.

    Raises this process's own limit of open descriptors, as far as it may be raised:
    what a shell gives by default is for programs that wait on few at once.
    """
    wanted = MAX_CONNECTIONS + OTHER_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MAX_CONNECTIONS
    if soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(MAX_CONNECTIONS, max(soft - OTHER_DESCRIPTORS, soft // 2))
