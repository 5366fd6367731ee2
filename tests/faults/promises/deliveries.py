"""P3: kill -9 of the service, and of a receiver, while events are delivered.

Clients create tags; the service and the receiver are killed and come back. In the end every
event has arrived, those of acknowledged changes among them, and each with one body only.
"""

from __future__ import annotations

import json
import random
import signal
import tempfile
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from peewee import SQL

from server.accounts.rules import make_secret
from server.storage.statements import Statement

from ...postgres import running
from ...processes import Service, start
from ...storage.helpers import select
from .checker import Figures
from .contents import damages_of
from .receiver import Receiver

LOST, CHANGED, GAPS, DAMAGES = "lost", "changed on the way", "gaps", "damages"
UNTOLD, WRONG = "changes without an event", "unexpected answers"
AT_MOST: Figures = dict.fromkeys((LOST, CHANGED, GAPS, DAMAGES, UNTOLD, WRONG), 0)
SETTINGS = {
    "ROSTER_WEBHOOK_ALLOW_NETS": "127.0.0.0/8",
    "ROSTER_WEBHOOK_ALLOW_HTTP": "true",
    "ROSTER_LOG_LEVEL": "error",
    "ROSTER_SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
}
# What has failed waits for minutes, and what a killed process was sending for one. Here
# the time is over at once. Whoever changes deliveries locks their queue first.
OVER = (
    "UPDATE delivery_queue SET due_at = 0",
    "UPDATE delivery SET due_at = 0 WHERE due_at IS NOT NULL",
    "UPDATE webhook SET paused_until = 0, enabled = {yes}",
)
CLIENTS = 3
# A service is killed after so many answers at most, and a moment in seconds.
ANSWERS, SECONDS = 60, 0.05
PATIENCE = 120.0


@dataclass
class Load:
    """Clients that create tags, one after the other, until the service is gone."""

    service: Service
    key: str
    prefix: str
    acknowledged: list[str] = field(default_factory=list)
    wrong: int = 0

    def until_killed(self, chance: random.Random, receiver: Receiver) -> None:
        """Creates, and kills the service in the midst of it, and maybe the receiver before."""
        threads = [threading.Thread(target=self._create, args=(n,)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        wanted = chance.randrange(ANSWERS)
        while len(self.acknowledged) < wanted and any(thread.is_alive() for thread in threads):
            time.sleep(0.001)
        if chance.random() < 0.5:
            receiver.kill()
            receiver.start()
        time.sleep(chance.uniform(0, SECONDS))
        self.service.stop(signal.SIGKILL)
        for thread in threads:
            thread.join()

    def _create(self, client: int) -> None:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        with closing(HTTPConnection(self.service.http, timeout=20)) as connection:
            for run_cycle in range(100_000):
                name = f"{self.prefix}-{client}-{run_cycle}"
                try:
                    connection.request("POST", "/api/tags", json.dumps({"name": name}), headers)
                    response = connection.getresponse()
                    response.read()
                except (OSError, HTTPException):
                    return
                if response.status != 201:
                    self.wrong += 1
                    return
                self.acknowledged.append(name)


def run(rounds: int) -> Figures:
    """Kills a service on SQLite so many times, and returns what became of its events."""
    with tempfile.TemporaryDirectory() as folder:
        return _run(rounds, Path(folder), SETTINGS)


def on_postgres(rounds: int) -> Figures:
    """Does the same with a service on PostgreSQL."""
    with tempfile.TemporaryDirectory() as folder, running() as postgres:
        url = postgres.new_database()
        return _run(rounds, Path(folder), SETTINGS | {"ROSTER_DATABASE_URL": url})


def _run(rounds: int, folder: Path, settings: dict[str, str]) -> Figures:
    key, chance = make_secret(), random.Random()
    acknowledged: list[str] = []
    figures: Figures = {WRONG: 0}
    receiver = Receiver(folder / "received")
    receiver.start()
    service = start(folder, ROSTER_BOOTSTRAP_API_KEY=key, **settings)
    try:
        add_webhook(service, key, receiver.url)
        for number in range(rounds):
            load = Load(service, key, f"round{number}")
            load.until_killed(chance, receiver)
            figures[WRONG] += load.wrong
            acknowledged += load.acknowledged
            service = start(folder, ROSTER_BOOTSTRAP_API_KEY=key, **settings)
            let_time_pass(service)
        until_all_is_delivered(service)
        return figures | checked(service, receiver, acknowledged)
    finally:
        service.stop(signal.SIGKILL)
        receiver.kill()


def checked(service: Service, receiver: Receiver, acknowledged: list[str]) -> Figures:
    """Holds what was received to what was recorded, and that to what was acknowledged."""
    with service.unit_of_work() as tx:
        rows = select("SELECT id, envelope, sequence FROM event ORDER BY sequence", tx)
        tags = {name for (name,) in select("SELECT name FROM tag", tx)}
    told = [json.loads(envelope)["data"]["tag"]["name"] for _, envelope, _ in rows]
    received = receiver.received()
    digests = [digest for bodies in received.values() for digest in bodies]
    return {
        "acknowledged": len(acknowledged),
        "events": len(rows),
        "delivered again": len(digests) - len(received),
        LOST: len({event_id for event_id, *_ in rows} - received.keys()),
        CHANGED: sum(len(set(bodies)) > 1 for bodies in received.values()),
        GAPS: sum(row[2] != place for place, row in enumerate(rows, 1)),
        UNTOLD: len({*acknowledged} - tags) + len(tags ^ {*told}) + len(told) - len({*told}),
        DAMAGES: len(damages_of(service.database_url)),
    }


def add_webhook(service: Service, key: str, url: str) -> None:
    """Has all events sent there from now on."""
    with closing(HTTPConnection(service.http, timeout=20)) as connection:
        headers = {"Authorization": f"Bearer {key}"}
        connection.request("POST", "/api/webhooks", json.dumps({"url": url}), headers)
        response = connection.getresponse()
        assert response.status == 201, response.read()


def let_time_pass(service: Service) -> None:
    """Makes everything due that waits."""
    yes = "1" if service.database_url.startswith("sqlite") else "true"
    with service.unit_of_work() as tx:
        for text in OVER:
            tx.run(Statement(lambda _, text=text: SQL(text.replace("{yes}", yes))))  # type: ignore[misc]


def until_all_is_delivered(service: Service) -> None:
    """Lets time pass until nothing waits any more."""
    end = time.monotonic() + PATIENCE
    while True:
        let_time_pass(service)
        time.sleep(0.2)
        with service.unit_of_work() as tx:
            ((waiting,),) = select("SELECT COUNT(*) FROM delivery WHERE status <> 3", tx)
            ((events,),) = select("SELECT COUNT(*) FROM event", tx)
            ((deliveries,),) = select("SELECT COUNT(*) FROM delivery", tx)
        if waiting == 0 and events == deliveries:
            return
        if time.monotonic() > end:
            raise TimeoutError(f"{waiting} of {deliveries} deliveries of {events} events are left")
