"""The HTTP edge: what a client may send before anything is read of it, and how many may come.

A connection takes a file descriptor, and a process without any left can open neither
its database nor a log. So there are only as many connections as leave some over, idle
ones included; whoever comes then is told to try again.
"""

from __future__ import annotations

import asyncio
import resource
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from .connections import HEAD_SECONDS, LINGERING_SECONDS, Connection, Refused

# How long a connection may be idle; aiohttp's default is an hour.
KEEPALIVE_SECONDS = 30.0
# The longest request line and header field, in bytes, and the most fields.
MAX_LINE_BYTES = 8_190
MAX_HEADERS = 128
# How many connections may wait until they are accepted. Where aiohttp's default of 128 is
# full, a client tries again only after a second.
BACKLOG = 1_024
# The most connections at once, and how many descriptors are left for everything else.
MAX_CONNECTIONS = 10_000
OTHER_DESCRIPTORS = 256


class Server(web.Server):
    """aiohttp's low-level server, with these limits."""

    def __init__(self, handler: Callable[[web.BaseRequest], Awaitable[Any]]) -> None:
        super().__init__(
            handler,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=KEEPALIVE_SECONDS,
            lingering_time=LINGERING_SECONDS,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
        )
        self._room = room()
        self._refused: set[Refused] = set()

    def __call__(self) -> asyncio.Protocol:  # type: ignore[override]  # some are refused
        if len(self._connections) >= self._room:
            return Refused(self._refused)
        return Connection(self, loop=self._loop, **self._kwargs)


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


def room() -> int:
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
