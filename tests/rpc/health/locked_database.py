"""Locked databases, and services that wait for them during their start."""

from __future__ import annotations

import json
import select
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import apsw
import psycopg

from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.storage.postgres.connection import open_database
from rosterd.server.storage.postgres.schema import schema_lock

from ...components import Component, accepts_connections, free_port, launch, wait_until
from ...postgres import Postgres

# Counts the sessions that wait for a lock. For the schema lock, they sleep between attempts.
_WAITING = (
    "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
    " AND (wait_event_type = 'Lock' OR wait_event = 'PgSleep')"
)


class LockedDatabase:
    """A locked database; `settings` are those of a service on it."""

    def __init__(self, settings: dict[str, str], lock: ExitStack) -> None:
        self.settings = settings
        self._lock = lock

    def release(self) -> None:
        """Unlocks the database."""
        self._lock.close()


@contextmanager
def locked_file(folder: Path) -> Iterator[LockedDatabase]:
    """An empty SQLite file in which another program writes.

    A service waits for it for five seconds.
    """
    path = folder / "roster.db"
    with closing(apsw.Connection(str(path))) as connection, ExitStack() as lock:
        connection.execute("PRAGMA journal_mode = wal")
        connection.execute("BEGIN IMMEDIATE")
        lock.callback(connection.execute, "ROLLBACK")
        yield LockedDatabase({"ROSTER_DATABASE_URL": f"sqlite:///{path}"}, lock)


@contextmanager
def locked_schema(postgres: Postgres) -> Iterator[LockedDatabase]:
    """An empty PostgreSQL database that another process is going to migrate."""
    url = postgres.new_database()
    with ExitStack() as lock:
        lock.enter_context(schema_lock(lock.enter_context(open_database(url))))
        settings = {"ROSTER_DATABASE_URL": url, "ROSTER_SECRET_KEY": postgres.secret_key}
        yield LockedDatabase(settings, lock)


def waits_for_lock(url: str) -> bool:
    """Whether a session waits for a lock in a PostgreSQL database."""
    with psycopg.connect(url) as connection:
        row = connection.execute(_WAITING, (connection.info.dbname,)).fetchone()
    assert row is not None
    return bool(row[0])


@dataclass
class StartingService:
    """A process that waits for its database, and a connection to it."""

    component: Component
    http: str
    grpc: str
    key: str
    connection: HTTPConnection

    def send(self, method: str, path: str) -> tuple[int, Any, dict[str, str]]:
        """Returns the status, body and headers of a response over the connection."""
        headers = {"X-API-Key": self.key, "X-Request-Id": "abc"}
        self.connection.request(method, path, headers=headers)
        response = self.connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        return response.status, json.loads(response.read() or b"null"), headers

    def has_printed(self) -> bool:
        """Whether the process has printed its addresses."""
        return bool(select.select([self.component.process.stdout], [], [], 0)[0])


@contextmanager
def starting(
    command: str, folder: Path, database: LockedDatabase, **settings: str
) -> Iterator[StartingService]:
    """Starts a process on a locked database, and waits until it listens."""
    http_address, grpc_address, metrics_address = (f"127.0.0.1:{free_port()}" for _ in range(3))
    key = make_secret()
    defaults = {
        "ROSTER_HTTP_ADDRESS": http_address,
        "ROSTER_GRPC_ADDRESS": grpc_address,
        "ROSTER_METRICS_ADDRESS": metrics_address,
        "ROSTER_BOOTSTRAP_API_KEY": key,
    }
    component = launch(
        command, folder / f"{command}.log", **{**defaults, **database.settings, **settings}
    )
    addresses = {"serve": http_address, "serve-grpc": grpc_address, "worker": metrics_address}
    try:
        wait_until(lambda: accepts_connections(addresses[command]), "the process does not listen")
        with closing(HTTPConnection(http_address, timeout=20)) as connection:
            yield StartingService(component, http_address, grpc_address, key, connection)
    finally:
        if component.process.poll() is None:
            component.stop(signal.SIGKILL)
