"""A webhook receiver in a thread, for tests of running services."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import orjson
from standardwebhooks import Webhook

TIMEOUT = 60.0


class Received(NamedTuple):
    """A received request. Header names are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        return orjson.loads(self.body)

    def verified(self, secret: str) -> Any:
        """Returns the envelope. Raises WebhookVerificationError if the secret did not sign it."""
        return Webhook(secret).verify(self.body, dict(self.headers))


class Reply(NamedTuple):
    """A response, and a function to call before it is sent."""

    status: int = 200
    body: bytes = b"ok"
    before: Callable[[], Any] = lambda: None


@dataclass
class Receiver:
    """A running receiver. It responds with each of `replies` once, then with 200."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)

    def respond_to(self, request: Received) -> Reply:
        self.received.append(request)
        return self.replies.pop(0) if self.replies else Reply()

    def wait_for(self, count: int) -> list[Received]:
        """Waits until `count` requests have been received, and returns all."""
        end = time.monotonic() + TIMEOUT
        while len(self.received) < count:
            assert time.monotonic() < end, f"{len(self.received)} of {count} requests received"
            time.sleep(0.005)
        return self.received


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.receiver.respond_to(Received(self.path, headers, body))
        reply.before()
        self.send_response(reply.status)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""


@contextmanager
def listening() -> Iterator[Receiver]:
    receiver = Receiver()
    server = _Server(receiver)
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
