"""A proxy between a command and a service that interrupts a response."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ..stubs.lossy_proxy import Handler, Proxy, running

CHUNK_BYTES = 1 << 16
# If data and the end of the connection arrive together, a client may ignore the data.
SECONDS_TO_READ = 0.2


class InterruptingProxy(Proxy):
    """Interrupts one response.

    Of the next response longer than `after` bytes, it forwards only the first `after` bytes. Then
    it calls `then` and closes the connection. Without `then`, it reads the rest of the response, so
    that the service completes the request.
    """

    after: int | None
    then: Callable[[], object] | None

    @property
    def url(self) -> str:
        return f"http://{self.address}"


class InterruptingHandler(Handler):
    server: InterruptingProxy

    def respond(self, service: socket.socket) -> None:
        forwarded, proxy = 0, self.server
        with suppress(OSError):
            while chunk := service.recv(CHUNK_BYTES):
                if proxy.after is not None and forwarded + len(chunk) > proxy.after:
                    self.request.sendall(chunk[: proxy.after - forwarded])
                    proxy.after = None
                    if proxy.then is None:
                        read_rest(service, chunk)
                    else:
                        proxy.then()
                    time.sleep(SECONDS_TO_READ)
                    return
                self.request.sendall(chunk)
                forwarded += len(chunk)


def read_rest(service: socket.socket, tail: bytes) -> None:
    """Reads a chunked response to its end. `tail` is what was read of it before."""
    while not tail.endswith(b"0\r\n\r\n") and (chunk := service.recv(CHUNK_BYTES)):
        tail = (tail + chunk)[-5:]


@contextmanager
def interrupting(
    address: str, after: int, then: Callable[[], object] | None = None
) -> Iterator[InterruptingProxy]:
    """Runs a proxy for the duration of the block."""
    proxy = InterruptingProxy(address, handler=InterruptingHandler)
    proxy.after, proxy.then = after, then
    with running(proxy):
        yield proxy
