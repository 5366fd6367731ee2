"""Clients that call over persistent connections and record each response."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from .components import TIMEOUT
from .fronts import is_ended

# Errors of a broken connection.
BROKEN = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Exchange:
    """A request about a subscriber, its start and end times, and its response.

    The status is 0 if no response arrived.
    """

    client: int
    email: str
    began: float
    ended: float
    status: int
    body: Any


class LoadEnded(Exception):
    """The load has ended."""


class Client:
    """A client. It connects to the next address after a failed attempt, until `ended` is set."""

    def __init__(self, number: int, addresses: list[str], key: str, ended: threading.Event) -> None:
        self.number = number
        self._ended = ended
        self._addresses = addresses
        self._key = key
        self._address_number = number
        self._connection: http.client.HTTPConnection | None = None

    def send(
        self, method: str, path: str, body: Any = None, *, email: str = "", **headers: str
    ) -> Exchange:
        """Sends one request and waits for its response, after connecting if necessary.

        A text is sent unchanged, another body as JSON. Raises LoadEnded if the load ends before
        a connection exists.
        """
        began = time.monotonic()
        if self._connection is not None and is_ended(self._connection):
            self.close()
        while self._connection is None:
            if self._ended.is_set():
                raise LoadEnded
            began = time.monotonic()
            self._connection = self._connected()
        fields = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        fields |= {name.replace("_", "-"): value for name, value in headers.items()}
        content: Any
        try:
            text = body if body is None or isinstance(body, str) else json.dumps(body)
            self._connection.request(method, path, text and text.encode(), fields)
            response = self._connection.getresponse()
            status, content = response.status, response.read().decode()
            if response.headers.get_content_type() == "application/json":
                content = json.loads(content or "null")
            if response.will_close:
                self.close()
        except BROKEN:
            status, content = 0, ""
            self.close()
        return Exchange(self.number, email, began, time.monotonic(), status, content)

    def close(self) -> None:
        """Ends the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> http.client.HTTPConnection | None:
        self._address_number += 1
        address = self._addresses[self._address_number % len(self._addresses)]
        connection = http.client.HTTPConnection(address, timeout=TIMEOUT)
        with suppress(OSError):
            connection.connect()
            # http.client would otherwise reconnect by itself and send a lost request again.
            connection.auto_open = 0
            return connection
        time.sleep(0.01)
        return None


# Sends one request. The second argument counts the requests of the client.
Task = Callable[[Client, int], Exchange]


class Load:
    """Concurrent clients of one account. Each pauses `pause` seconds between two requests."""

    def __init__(self, addresses: list[str], key: str, *, pause: float = 0) -> None:
        self._addresses = addresses
        self._key = key
        self._pause = pause
        self._ended = threading.Event()
        self.exchanges: list[Exchange] = []

    @contextmanager
    def running(self, *tasks: Task) -> Iterator[Load]:
        """Runs one client per function for the length of a block."""
        with ThreadPoolExecutor(len(tasks)) as pool:
            runs = [pool.submit(self._run, number, task) for number, task in enumerate(tasks)]
            try:
                yield self
            finally:
                self._ended.set()
            for run in runs:
                run.result()

    def _run(self, number: int, task: Task) -> None:
        client, count = Client(number, self._addresses, self._key, self._ended), 0
        with suppress(LoadEnded):
            while not self._ended.wait(self._pause):
                self.exchanges.append(task(client, count))
                count += 1
        client.close()

    def acknowledged(self) -> list[str]:
        """Returns the email addresses of acknowledged creations."""
        return [exchange.email for exchange in list(self.exchanges) if exchange.status == 201]

    def failed(self) -> list[Exchange]:
        """Returns the requests that did not succeed."""
        return [exchange for exchange in list(self.exchanges) if exchange.status not in (200, 201)]

    def wait_for_more(self, count: int) -> None:
        """Waits until so many more creations are acknowledged."""
        expected, end = len(self.acknowledged()) + count, time.monotonic() + TIMEOUT
        while len(self.acknowledged()) < expected:
            assert time.monotonic() < end, self.exchanges[-20:]
            time.sleep(0.01)


def create(client: Client, iteration: int) -> Exchange:
    """Creates a subscriber with one request."""
    email = f"{client.number}-{iteration}@example.com"
    return client.send("POST", "/api/subscribers", {"email": email, "tags": ["load"]}, email=email)


def stored(database_url: str, account: str) -> list[str]:
    """Returns the email addresses that the database stores for an account."""
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT email FROM subscriber WHERE account_id = %s", [account])
        return [email for (email,) in rows]
