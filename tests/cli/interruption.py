"""A proxy between a command and a service that interrupts a response."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

CHUNK_BYTES = 1 << 16
# If data and the end of the connection arrive together, a client may ignore the data.
SECONDS_TO_READ = 0.2


class InterruptingProxy:
    """Forwards all data to `address` and back, and interrupts one response.

    Of the next response longer than `after` bytes, it forwards only the first `after` bytes. Then
    it calls `then` and closes the connection. Without `then`, it reads the rest of the response, so
    that the service completes the request.
    """

    def __init__(self, address: str, after: int, then: Callable[[], object] | None) -> None:
        host, _, port = address.rpartition(":")
        self._target = (host, int(port))
        self._after: int | None = after
        self._then = then
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                service = socket.create_connection(self._target)
                for forward in (self._forward_request, self._forward_response):
                    threading.Thread(target=forward, args=(client, service), daemon=True).start()

    def _forward_request(self, client: socket.socket, service: socket.socket) -> None:
        with suppress(OSError):
            while chunk := client.recv(CHUNK_BYTES):
                service.sendall(chunk)
            service.shutdown(socket.SHUT_WR)

    def _forward_response(self, client: socket.socket, service: socket.socket) -> None:
        forwarded = 0
        with suppress(OSError):
            while chunk := service.recv(CHUNK_BYTES):
                if self._after is not None and forwarded + len(chunk) > self._after:
                    client.sendall(chunk[: self._after - forwarded])
                    self._after = None
                    if self._then is None:
                        read_rest(service, chunk)
                    else:
                        self._then()
                    time.sleep(SECONDS_TO_READ)
                    break
                client.sendall(chunk)
                forwarded += len(chunk)
        for connection in (client, service):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def read_rest(service: socket.socket, tail: bytes) -> None:
    """Reads a chunked response to its end. `tail` is what was read of it before."""
    while not tail.endswith(b"0\r\n\r\n") and (chunk := service.recv(CHUNK_BYTES)):
        tail = (tail + chunk)[-5:]


@contextmanager
def interrupting(
    address: str, after: int, then: Callable[[], object] | None = None
) -> Iterator[InterruptingProxy]:
    """Runs a proxy for the duration of the block."""
    proxy = InterruptingProxy(address, after, then)
    try:
        yield proxy
    finally:
        proxy.close()
