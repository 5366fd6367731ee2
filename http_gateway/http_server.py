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

from .connections import HEAD_LIMITS, Connection, RejectedConnection
from .load_shedding import LoadShedder
from .options import Options
from .request import Request

# Connections that may wait to be accepted. If aiohttp's default of 128 is full, a client tries
# again only after a second.
BACKLOG = 1_024
# Time in seconds until queued connections are accepted, and until they send a request.
CLOSING_SECONDS = 0.05
# File descriptors that are not used for connections of HTTP; a gRPC port can have 1,000.
OTHER_DESCRIPTORS = 1_256


class Server(web.Server):
    """aiohttp's low-level server with the limits of a gateway.

    If a client disconnects, the handler of its request is canceled.
    """

    def __init__(
        self,
        handler: Callable[[Request], Awaitable[Any]],
        options: Options | None = None,
        load: LoadShedder | None = None,
    ) -> None:
        super().__init__(
            cast("Any", handler), request_factory=self._request, handler_cancellation=True
        )
        self._event_loop = asyncio.get_running_loop()
        self.options = options or Options()
        self.load = load or LoadShedder(self.options)
        self._is_draining = lambda: self.load.is_draining
        # The most connections at once, and how many beyond them were rejected so far.
        self.capacity = capacity(self.options.max_connections)
        self.rejected = 0
        self._rejected: set[RejectedConnection] = set()

    def __call__(self) -> asyncio.Protocol:  # type: ignore[override]  # some are rejected
        if len(self.connections) >= self.capacity:
            self.rejected += 1
            return RejectedConnection(self.options, self._rejected)
        return Connection(
            self,
            self.options,
            self.load,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=self.options.keepalive_seconds,
            lingering_time=self.options.lingering_seconds,
            **HEAD_LIMITS,
        )

    def _request(
        self, message: Any, payload: Any, connection: Any, writer: Any, task: Any
    ) -> Request:
        request = Request(message, payload, connection, writer, task, self._event_loop)
        request.options, request.is_draining = self.options, self._is_draining
        return request


class Listener:
    """A port on which a server accepts connections."""

    def __init__(self, server: Server, listening: asyncio.Server) -> None:
        self._server = server
        self._listening = listening

    @classmethod
    async def open(
        cls, server: Server, host: str, port: int, *, tls: ssl.SSLContext | None, shares_port: bool
    ) -> Listener:
        """Listens on a port, over TLS if there is a context for it. Raises OSError.

        If it `shares_port`, other processes may listen on the port as well, and the kernel
        distributes the connections.
        """
        listening = await asyncio.get_running_loop().create_server(
            cast("Callable[[], asyncio.Protocol]", server),
            host,
            port,
            ssl=tls,
            # The default is a minute.
            ssl_handshake_timeout=server.options.head_seconds if tls else None,
            backlog=BACKLOG,
            reuse_port=shares_port,
        )
        return cls(server, listening)

    @property
    def port(self) -> int:
        """The port in use."""
        return int(self._listening.sockets[0].getsockname()[1])

    async def close(self, grace_seconds: float) -> None:
        """Closes the port, accepts queued connections, and waits for the running requests."""
        # Closing a port resets the connections in its queue. With a queue of length zero, new
        # clients try again and find the port closed, while queued connections are accepted.
        for listening in self._listening.sockets:
            with socket.socket(fileno=os.dup(listening.fileno())) as duplicate:
                duplicate.listen(0)
        await asyncio.sleep(CLOSING_SECONDS)
        self._listening.close()
        # Otherwise connections that have not sent a request yet would be closed.
        await asyncio.sleep(CLOSING_SECONDS)
        self._server.pre_shutdown()
        await self._server.shutdown(grace_seconds)


def capacity(max_connections: int) -> int:
    """Returns the most connections that this process can have, up to a maximum.

    Raises the soft limit of file descriptors as needed: that of a shell is often 1,024.
    """
    needed = max_connections + OTHER_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return max_connections
    if soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return min(max_connections, max(soft - OTHER_DESCRIPTORS, soft // 2))
