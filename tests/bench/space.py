"""Measures the space that rows take in a compact database, in bytes each, on both databases.

python -m tests.bench.space
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import psycopg

from .. import reaper
from ..features.webhooks.receiver import Receiver, listening
from ..postgres import running
from ..processes import Service, start
from .measurement import send

ROWS = 10_000
# Each change adds an entry to the history of a subscriber.
CHANGES = ("Ada", "Grace", "Mary", "Edith")


def sqlite_size(service: Service) -> int:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "compact.db"
        with closing(apsw.Connection(str(service.database))) as connection:
            connection.execute("VACUUM INTO ?", (str(file),))
        return file.stat().st_size


def postgres_size(service: Service) -> int:
    with psycopg.connect(service.database_url, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        row = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    assert row is not None
    return int(row[0])


def import_all(service: Service, first_name: str) -> None:
    """Imports the same subscribers, and updates those that exist."""
    rows = [
        {
            "email": f"person.{number}@example{number % 50}.com",
            "firstName": first_name,
            "lastName": "Lovelace",
            "tags": ["newsletter", "customer"],
        }
        for number in range(ROWS)
    ]
    body = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    path = "/api/subscribers/import?onConflict=UPDATE&results=SUMMARY"
    response = send(service.http, "POST", path, body, service.first_key, "application/x-ndjson")
    summary = json.loads(response).get("summary", {})
    if summary.get("created") != ROWS and summary.get("updated") != ROWS:
        raise SystemExit(f"the import has failed: {response.decode()}")


def create_webhook(service: Service, url: str, event_type: str) -> None:
    body = {"url": url, "eventTypes": [event_type]}
    send(service.http, "POST", "/api/webhooks", body, service.first_key)


def sizes(
    service: Service, size_of: Callable[[Service], int], receiver: Receiver
) -> Iterator[tuple[str, float]]:
    """Yields the bytes of rows of each kind."""

    def growth(first_name: str, deliveries: int = 0) -> float:
        before = size_of(service)
        import_all(service, first_name)
        while len(receiver.received) < deliveries:
            time.sleep(0.1)
        # Results of deliveries are stored together, soon after.
        time.sleep(2)
        return (size_of(service) - before) / ROWS

    names = iter(CHANGES)
    yield "subscriber with two tags", growth(next(names))
    change = growth(next(names))
    yield "change of a subscriber", change
    # Events are recorded for all webhooks of an account; this one receives none of these.
    create_webhook(service, receiver.url, "tag.deleted")
    event = growth(next(names)) - change
    yield "event", event
    create_webhook(service, receiver.url, "subscriber.*")
    yield "delivery with one attempt", growth(next(names), ROWS) - change - event


def main() -> None:
    reaper.start()
    with tempfile.TemporaryDirectory() as folder, running() as server, listening() as receiver:
        url, key = server.new_database(), server.secret_key
        on_postgres = {"ROSTER_DATABASE_URL": url, "ROSTER_SECRET_KEY": key}
        subjects = (("SQLite", sqlite_size, {}), ("PostgreSQL", postgres_size, on_postgres))
        for name, size_of, settings in subjects:
            path = Path(folder) / name
            path.mkdir()
            service = start(path, **settings)
            receiver.received.clear()
            try:
                for kind, size in sizes(service, size_of, receiver):
                    print(f"{name}: {size:,.0f} bytes for each {kind}", flush=True)
            finally:
                service.stop()


if __name__ == "__main__":
    main()
