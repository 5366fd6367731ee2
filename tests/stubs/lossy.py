"""A TCP proxy that loses what it is told to lose, at exactly that moment."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from enum import Enum
from typing import Any

FRAME_HEADER = 9
HEADERS_FRAME = 1


class Loss(Enum):
    """What becomes of a connection."""

    CONNECTION = "closed as soon as it stands"
    ANSWER = "closed in place of the first answer, which the service has given by then"


class Proxy(socketserver.ThreadingTCPServer):
    """Hands connections on to a service. Those of `losses` come first, in their order.

    The service is named by host and port, or by the path of its socket.
    """

    daemon_threads = False

    def __init__(self, service: str, *losses: Any, handler: type[Handler] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), handler or Handler)
        self._service = service
        self.losses = list(losses)
        self.open: list[socket.socket] = []

    def connected(self) -> socket.socket:
        """Returns a connection to the service."""
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
        with self.server.connected() as service:
            asking = threading.Thread(target=hand_on, args=(self.request, service))
            asking.start()
            if loss is Loss.ANSWER:
                hand_on_until_answer(service, self.request)
            else:
                hand_on(service, self.request)
            for side in (service, self.request):
                end(side)
            asking.join()


def hand_on(source: socket.socket, target: socket.socket) -> None:
    """Hands on what comes until one side ends."""
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    end(target)


def hand_on_until_answer(source: socket.socket, target: socket.socket) -> None:
    """Hands on HTTP/2 frames up to the first that begins an answer."""
    with source.makefile("rb") as frames:
        while header := frames.read(FRAME_HEADER):
            if header[3] == HEADERS_FRAME:
                return
            target.sendall(header + frames.read(int.from_bytes(header[:3])))


def end(side: socket.socket) -> None:
    """Ends a connection, if it has not ended."""
    with suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)


def losing(service: str, *losses: Loss) -> AbstractContextManager[Proxy]:
    """Runs a proxy before a service while the block runs."""
    return running(Proxy(service, *losses))


@contextmanager
def running(proxy: Proxy) -> Iterator[Proxy]:
    """Runs a proxy while the block runs."""
    with proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
            for connection in proxy.open:
                end(connection)
