"""Databases that nobody can migrate for a while, and services that wait for that."""

from __future__ import annotations

import http.client
import json
import select
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw
import psycopg

from server.accounts.rules import make_secret
from server.storage.postgres.connection import opened, schema_lock

from ..parts import Part, free_port, launch, listens, wait_until
from ..postgres import Postgres

# The sessions of a service that wait for a lock which another session has.
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND wait_event_type = 'Lock'"


class Held:
    """A database that is locked; `settings` are those that a service on it is started with."""

    def __init__(self, settings: dict[str, str], lock: ExitStack) -> None:
        self.settings = settings
        self._lock = lock

    def release(self) -> None:
        """Lets whoever waits go on."""
        self._lock.close()


@contextmanager
def held_file(folder: Path) -> Iterator[Held]:
    """An empty file in which another program has begun to write.

    A service waits for it, five seconds at most.
    """
    path = folder / "roster.db"
    with closing(apsw.Connection(str(path))) as connection, ExitStack() as lock:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("BEGIN IMMEDIATE")
        lock.callback(connection.execute, "ROLLBACK")
        yield Held({"ROSTER_DATABASE_URL": f"sqlite:///{path}"}, lock)


@contextmanager
def held_schema(postgres: Postgres) -> Iterator[Held]:
    """An empty database that another process is about to migrate."""
    url = postgres.new_database()
    with ExitStack() as lock:
        lock.enter_context(schema_lock(lock.enter_context(opened(url))))
        settings = {"ROSTER_DATABASE_URL": url, "ROSTER_SECRET_KEY": postgres.secret_key}
        yield Held(settings, lock)


def waits_for_lock(url: str) -> bool:
    """Whether anybody waits for a lock in a database of a server."""
    with psycopg.connect(url) as connection:
        row = connection.execute(WAITING, (connection.info.dbname,)).fetchone()
    assert row is not None
    return bool(row[0])


@dataclass
class Waiting:
    """A process that waits for its database. What it answers comes over one connection."""

    part: Part
    http: str
    grpc: str
    key: str
    connection: http.client.HTTPConnection

    def ask(self, method: str, path: str) -> tuple[int, Any, dict[str, str]]:
        """Returns status, body and headers of an answer over the connection."""
        self.connection.request(method, path, headers={"X-API-Key": self.key, "X-Request-Id": "me"})
        answer = self.connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return answer.status, json.loads(answer.read() or b"null"), headers

    def says_that_it_serves(self) -> bool:
        """Whether anything was printed by now."""
        return bool(select.select([self.part.process.stdout], [], [], 0)[0])


@contextmanager
def waiting(command: str, folder: Path, held: Held, **settings: str) -> Iterator[Waiting]:
    """Runs a process on a database that is held, for a block, which begins once it listens."""
    http_address, grpc_address, figures = (f"127.0.0.1:{free_port()}" for _ in range(3))
    key = make_secret()
    own = {
        "ROSTER_HTTP_ADDRESS": http_address,
        "ROSTER_GRPC_ADDRESS": grpc_address,
        "ROSTER_METRICS_ADDRESS": figures,
        "ROSTER_BOOTSTRAP_API_KEY": key,
    }
    part = launch(command, folder / f"{command}.log", **{**own, **held.settings, **settings})
    listening = {"serve": http_address, "server": grpc_address, "worker": figures}[command]
    try:
        wait_until(lambda: listens(listening), "it does not listen")
        with closing(http.client.HTTPConnection(http_address, timeout=20)) as connection:
            yield Waiting(part, http_address, grpc_address, key, connection)
    finally:
        if part.process.poll() is None:
            part.stop(signal.SIGKILL)
