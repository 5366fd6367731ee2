"""Clients that call over connections that they keep, and note what came of each call."""

from __future__ import annotations

import http.client
import json
import select
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg

from .parts import LONG

# What a connection breaks with, from whichever side.
BROKEN = (OSError, http.client.HTTPException)


@dataclass(frozen=True)
class Sent:
    """A request about a subscriber: when it began and ended, and what was answered.

    The status is 0 where no answer came.
    """

    client: int
    email: str
    began: float
    ended: float
    status: int
    body: Any


class Over(Exception):
    """The load has ended."""


class Client:
    """One client. It goes on to the next address where it cannot connect, until `ended`."""

    def __init__(self, number: int, addresses: list[str], key: str, ended: threading.Event) -> None:
        self.number = number
        self._ended = ended
        self._addresses = addresses
        self._key = key
        self._place = number
        self._connection: http.client.HTTPConnection | None = None

    def ask(
        self, method: str, path: str, body: Any = None, *, email: str = "", **headers: str
    ) -> Sent:
        """Sends one request and waits for its answer; beforehand, for a connection.

        Raises Over if there is none until the end.
        """
        began = time.monotonic()
        if self._connection is not None and is_ended(self._connection):
            self.close()
        while self._connection is None:
            if self._ended.is_set():
                raise Over
            began = time.monotonic()
            self._connection = self._connected()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            text = None if body is None else json.dumps(body)
            self._connection.request(method, path, text, sent)
            answer = self._connection.getresponse()
            status, told = answer.status, json.loads(answer.read() or "null")
            if answer.will_close:
                self.close()
        except BROKEN:
            status, told = 0, None
            self.close()
        return Sent(self.number, email, began, time.monotonic(), status, told)

    def close(self) -> None:
        """Ends the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> http.client.HTTPConnection | None:
        self._place += 1
        address = self._addresses[self._place % len(self._addresses)]
        connection = http.client.HTTPConnection(address, timeout=LONG)
        with suppress(OSError):
            connection.connect()
            # Else it would connect anew by itself, and a request that was lost be sent again.
            connection.auto_open = 0
            return connection
        time.sleep(0.01)
        return None


def is_ended(connection: http.client.HTTPConnection) -> bool:
    """Whether the other side has ended a connection on which no answer is due.

    Every client that keeps connections looks before it sends: what it sent would be lost
    with a process that is long gone.
    """
    readable, _, _ = select.select([connection.sock], [], [], 0)
    return bool(readable)


# What a client does in one turn, whose number it is given.
Turn = Callable[[Client, int], Sent]


class Load:
    """Clients of one account, all at once; each rests for `rest` seconds between two turns."""

    def __init__(self, addresses: list[str], key: str, *, rest: float = 0) -> None:
        self._addresses = addresses
        self._key = key
        self._rest = rest
        self._ended = threading.Event()
        self.sent: list[Sent] = []

    @contextmanager
    def running(self, *turns: Turn) -> Iterator[Load]:
        """Has a client for each of these take turns for the length of a block."""
        with ThreadPoolExecutor(len(turns)) as pool:
            runs = [pool.submit(self._run, number, turn) for number, turn in enumerate(turns)]
            try:
                yield self
            finally:
                self._ended.set()
            for run in runs:
                run.result()

    def _run(self, number: int, turn: Turn) -> None:
        client, count = Client(number, self._addresses, self._key, self._ended), 0
        with suppress(Over):
            while not self._ended.wait(self._rest):
                self.sent.append(turn(client, count))
                count += 1
        client.close()

    def taken(self) -> list[str]:
        """Returns the addresses whose creation was acknowledged so far."""
        return [each.email for each in list(self.sent) if each.status == 201]

    def failed(self) -> list[Sent]:
        """Returns the requests that did not succeed."""
        return [each for each in list(self.sent) if each.status not in (200, 201)]

    def wait_for_more(self, count: int) -> None:
        """Returns once so many more creations were acknowledged."""
        wanted, end = len(self.taken()) + count, time.monotonic() + LONG
        while len(self.taken()) < wanted:
            assert time.monotonic() < end, self.sent[-20:]
            time.sleep(0.01)


def create(client: Client, turn: int) -> Sent:
    """Creates a subscriber, once, whatever comes of it."""
    email = f"{client.number}-{turn}@example.com"
    return client.ask("POST", "/api/subscribers", {"email": email, "tags": ["load"]}, email=email)


def stored(database_url: str, account: str) -> list[str]:
    """Returns the email addresses of an account, as the database itself has them."""
    with psycopg.connect(database_url) as connection:
        rows = connection.execute("SELECT email FROM subscriber WHERE account_id = %s", [account])
        return [email for (email,) in rows]
