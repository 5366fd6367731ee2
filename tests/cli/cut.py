"""A connection that breaks: stands between a command and a service, and cuts an answer off."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

PIECE = 1 << 16
# A client that sees an end while it has data to read may take neither.
SECONDS_TO_READ = 0.2


class Cut:
    """A port that passes everything on to `address` and back.

    Of the next answer that grows beyond `after` bytes only so many are passed on; then
    `then` is called, and the connection is closed. Without `then`, the rest of the
    answer is taken in, so that the service does all that it was asked. That happens once.
    """

    def __init__(self, address: str, after: int, then: Callable[[], object] | None) -> None:
        host, _, port = address.rpartition(":")
        self._target = (host, int(port))
        self.after: int | None = after
        self._then = then
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """Where a command finds it."""
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self) -> None:
        """Takes no more connections."""
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                service = socket.create_connection(self._target)
                for work in (self._send, self._answer):
                    threading.Thread(target=work, args=(client, service), daemon=True).start()

    def _send(self, client: socket.socket, service: socket.socket) -> None:
        with suppress(OSError):
            while piece := client.recv(PIECE):
                service.sendall(piece)
            service.shutdown(socket.SHUT_WR)

    def _answer(self, client: socket.socket, service: socket.socket) -> None:
        passed = 0
        with suppress(OSError):
            while piece := service.recv(PIECE):
                if self.after is not None and passed + len(piece) > self.after:
                    client.sendall(piece[: self.after - passed])
                    self.after = None
                    if self._then is None:
                        take_rest(service)
                    else:
                        self._then()
                    time.sleep(SECONDS_TO_READ)
                    break
                client.sendall(piece)
                passed += len(piece)
        for each in (client, service):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def take_rest(service: socket.socket) -> None:
    """Reads a chunked answer to its end."""
    tail = b""
    while not tail.endswith(b"0\r\n\r\n") and (piece := service.recv(PIECE)):
        tail = (tail + piece)[-5:]


@contextmanager
def cut(address: str, after: int, then: Callable[[], object] | None = None) -> Iterator[Cut]:
    """A Cut for as long as the block runs."""
    between = Cut(address, after, then)
    try:
        yield between
    finally:
        between.close()
