"""A TCP proxy that drops connections at a defined point."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import Enum
from typing import Any, TypeVar

FRAME_HEADER = 9
HEADERS_FRAME = 1


class Loss(Enum):
    """The point at which a connection is closed."""

    CONNECTION = "after it was accepted"
    RESPONSE = "before the first response, which the service has sent"


class Proxy(socketserver.ThreadingTCPServer):
    """Forwards connections to a service. `losses` apply to the first connections, in order.

    The service is a host and port, or the path of a Unix socket.
    """

    daemon_threads = False

    def __init__(self, service: str, *losses: Any, handler: type[Handler] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler or Handler)
        self._service = service
        self.losses = list(losses)
        self.open: list[socket.socket] = []

    def connect(self) -> socket.socket:
        if self._service.startswith("/"):
            service = socket.socket(socket.AF_UNIX)
            service.connect(self._service)
            return service
        host, _, port = self._service.rpartition(":")
        return socket.create_connection((host, int(port)))

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, peer = super().get_request()
        self.open.append(connection)
        return connection, peer

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class Handler(socketserver.BaseRequestHandler):
    server: Proxy

    def handle(self) -> None:
        loss = self.server.losses.pop(0) if self.server.losses else None
        if loss is Loss.CONNECTION:
            return
        with self.server.connect() as service:
            sending = threading.Thread(target=forward, args=(self.request, service))
            sending.start()
            if loss is Loss.RESPONSE:
                forward_until_response(service, self.request)
            else:
                self.respond(service)
            for side in (service, self.request):
                shut_down(side)
            sending.join()

    def respond(self, service: socket.socket) -> None:
        forward(service, self.request)


def forward(source: socket.socket, target: socket.socket) -> None:
    """Forwards data until one side closes."""
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    shut_down(target)


def forward_until_response(source: socket.socket, target: socket.socket) -> None:
    """Forwards HTTP/2 frames until the first one of a response."""
    with source.makefile("rb") as frames:
        while header := frames.read(FRAME_HEADER):
            if header[3] == HEADERS_FRAME:
                return
            target.sendall(header + frames.read(int.from_bytes(header[:3])))


def shut_down(side: socket.socket) -> None:
    with suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)


P = TypeVar("P", bound=Proxy)


def losing(service: str, *losses: Loss) -> AbstractContextManager[Proxy]:
    """Runs a proxy for a service."""
    return running(Proxy(service, *losses))


@contextmanager
def running(proxy: P) -> Iterator[P]:
    with proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
            for connection in proxy.open:
                shut_down(connection)
