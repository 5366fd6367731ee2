"""Services with an account of 10,000 subscribers, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..postgres import running
from ..processes import Service, start
from .measurement import row, send

SUBSCRIBERS = 10_000
TAGS = ["newsletter", "customer"]
# Subscribers that are read and changed.
SAMPLE = 1_000


class Subject(NamedTuple):
    """A service, its processes and those of its database, and IDs of some of its subscribers."""

    service: Service
    processes: Sequence[int]
    ids: Sequence[str]

    @property
    def key(self) -> str:
        return self.service.first_key


# The service on SQLite and that on PostgreSQL, by the suffix of their statistics.
Subjects = dict[str, Subject]


@contextmanager
def on_databases(folder: Path) -> Iterator[Subjects]:
    """Starts a service on each database."""
    with (
        running(on_disk=True) as server,
        started(folder / "on-sqlite") as on_sqlite,
        started(
            folder / "on-postgres",
            server.pid,
            ROSTER_DATABASE_URL=server.new_database("TEMPLATE template0"),
            ROSTER_SECRET_KEY=server.secret_key,
        ) as on_postgres,
    ):
        yield {"": on_sqlite, "_on_postgresql": on_postgres}


@contextmanager
def started(folder: Path, *database: int, **settings: str) -> Iterator[Subject]:
    """Starts a service and fills it. `database` are the processes of its database server."""
    folder.mkdir()
    service = start(folder, **settings)
    try:
        for _ in range(SUBSCRIBERS // 100):
            rows = {"subscribers": [{**row(), "tags": TAGS} for _ in range(100)]}
            send(service.http, "POST", "/api/subscribers/bulk", rows, service.first_key)
        ids: list[str] = []
        for number in range(SAMPLE // 100):
            path = f"/api/subscribers?limit=100&page={number + 1}"
            page = json.loads(send(service.http, "GET", path, b"", service.first_key))
            ids += [subscriber["id"] for subscriber in page["subscribers"]]
        yield Subject(service, [service.process.pid, *database], ids)
    finally:
        service.stop()
