"""Receives events from Roster. To install: pip install standardwebhooks."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

from standardwebhooks import Webhook, WebhookVerificationError

webhook = Webhook(os.environ["WEBHOOK_SECRET"])
# Use a database for both: an event that was accepted with 2xx is not sent again.
seen: set[str] = set()
waiting: Queue[dict[str, Any]] = Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        # Verify the raw bytes: JSON that was parsed and serialized again can differ.
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = webhook.verify(body, dict(self.headers))
        except (WebhookVerificationError, ValueError):
            self.respond(400)
            return
        if event["id"] not in seen:
            seen.add(event["id"])
            waiting.put(event)
        self.respond(204)

    def respond(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()


def work() -> None:
    while True:
        event = waiting.get()
        print(event["sequence"], event["type"], event["data"], flush=True)


Thread(target=work, daemon=True).start()
address = ("127.0.0.1", int(os.environ.get("PORT", "8000")))
ThreadingHTTPServer(address, Receiver).serve_forever()
