"""A receiver in its own process, which records each request before it responds.

    python -m tests.features.webhooks.recording_receiver PORT FILE

Each line of the file is an event id and the SHA-256 digest of the body. The receiver runs until
it is killed, and can be started again with the same port.
"""

from __future__ import annotations

import hashlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    file: Path

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.file.open("a") as file:
            file.write(f"{self.headers['webhook-id']} {hashlib.sha256(body).hexdigest()}\n")
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Logs nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any) -> None:
        """Logs nothing about clients that were killed."""


if __name__ == "__main__":
    Handler.file = Path(sys.argv[2])
    server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
