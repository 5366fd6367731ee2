"""P3: kill -9 of the service and of a webhook receiver while events are delivered.

Clients create tags; the service and the receiver are killed and restarted. In the end every
event of a stored change has arrived, and each with one body only.
"""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from peewee import SQL

from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.storage.statements import Statement

from ...processes import Service, start
from ...storage.helpers import differences, select
from .checker import Results
from .receiver import Receiver

LOST, CHANGED_IN_TRANSIT, GAPS, INTEGRITY_ERRORS = (
    "lost",
    "changed in transit",
    "gaps",
    "integrity errors",
)
MISSING_EVENTS, WRONG = "changes without an event", "unexpected responses"
AT_MOST: Results = dict.fromkeys(
    (LOST, CHANGED_IN_TRANSIT, GAPS, INTEGRITY_ERRORS, MISSING_EVENTS, WRONG), 0
)
SETTINGS = {
    "ROSTER_WEBHOOK_ALLOW_NETS": "127.0.0.0/8",
    "ROSTER_WEBHOOK_ALLOW_HTTP": "true",
    "ROSTER_LOG_LEVEL": "error",
    "ROSTER_SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
}
# Makes all deliveries due. A failed delivery would wait for minutes, and one that a killed process
# had leased for one minute. Every writer of deliveries locks their queue first.
MAKE_DUE = (
    "UPDATE delivery_queue SET due_at = 0",
    "UPDATE delivery SET due_at = 0 WHERE due_at IS NOT NULL",
    "UPDATE webhook SET paused_until = 0, enabled = {yes}",
)
CLIENTS = 3
# A service is killed after at most so many responses, and at most so many seconds after that.
RESPONSES, SECONDS = 60, 0.05
TIMEOUT = 120.0


@dataclass
class Load:
    """Clients that create tags, one after another, until the service is killed."""

    service: Service
    key: str
    prefix: str
    acknowledged: list[str] = field(default_factory=list)
    wrong: int = 0

    def until_killed(self, rng: random.Random, receiver: Receiver) -> None:
        """Creates tags and kills the service meanwhile, and sometimes the receiver first."""
        threads = [threading.Thread(target=self._create, args=(n,)) for n in range(CLIENTS)]
        for thread in threads:
            thread.start()
        target_count = rng.randrange(RESPONSES)
        while len(self.acknowledged) < target_count and any(
            thread.is_alive() for thread in threads
        ):
            time.sleep(0.001)
        if rng.random() < 0.5:
            receiver.kill()
            receiver.start()
        time.sleep(rng.uniform(0, SECONDS))
        self.service.stop(signal.SIGKILL)
        for thread in threads:
            thread.join()

    def _create(self, client: int) -> None:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        with closing(HTTPConnection(self.service.http, timeout=20)) as connection:
            for iteration in range(100_000):
                name = f"{self.prefix}-{client}-{iteration}"
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


def run(repetitions: int, folder: Path, **settings: str) -> Results:
    """Kills a service so many times and returns the results."""
    settings = SETTINGS | settings
    key, rng = make_secret(), random.Random()
    acknowledged: list[str] = []
    results: Results = {WRONG: 0}
    receiver = Receiver(folder / "received")
    receiver.start()
    service = start(folder, ROSTER_BOOTSTRAP_API_KEY=key, **settings)
    try:
        add_webhook(service, key, receiver.url)
        for number in range(repetitions):
            load = Load(service, key, f"round{number}")
            load.until_killed(rng, receiver)
            results[WRONG] += load.wrong
            acknowledged += load.acknowledged
            service = start(folder, ROSTER_BOOTSTRAP_API_KEY=key, **settings)
            make_everything_due(service)
        until_all_is_delivered(service)
        return results | checked(service, receiver, acknowledged)
    finally:
        service.stop(signal.SIGKILL)
        receiver.kill()


def checked(service: Service, receiver: Receiver, acknowledged: list[str]) -> Results:
    """Compares received events with stored events, and these with acknowledged changes."""
    with service.unit_of_work() as tx:
        rows = select("SELECT id, envelope, sequence FROM event ORDER BY sequence", tx)
        tags = {name for (name,) in select("SELECT name FROM tag", tx)}
    event_tags = [json.loads(envelope)["data"]["tag"]["name"] for _, envelope, _ in rows]
    received = receiver.received()
    digests = [digest for bodies in received.values() for digest in bodies]
    return {
        "acknowledged": len(acknowledged),
        "events": len(rows),
        "delivered again": len(digests) - len(received),
        LOST: len({event_id for event_id, *_ in rows} - received.keys()),
        CHANGED_IN_TRANSIT: sum(len(set(bodies)) > 1 for bodies in received.values()),
        GAPS: sum(row[2] != number for number, row in enumerate(rows, 1)),
        MISSING_EVENTS: len({*acknowledged} - tags)
        + len(tags ^ {*event_tags})
        + len(event_tags)
        - len({*event_tags}),
        INTEGRITY_ERRORS: len(differences(service.database_url)),
    }


def add_webhook(service: Service, key: str, url: str) -> None:
    """Creates a webhook for all events."""
    with closing(HTTPConnection(service.http, timeout=20)) as connection:
        headers = {"Authorization": f"Bearer {key}"}
        connection.request("POST", "/api/webhooks", json.dumps({"url": url}), headers)
        response = connection.getresponse()
        assert response.status == 201, response.read()


def make_everything_due(service: Service) -> None:
    """Makes all waiting deliveries due."""
    yes = "1" if service.database_url.startswith("sqlite") else "true"
    with service.unit_of_work() as tx:
        for text in MAKE_DUE:
            tx.run(Statement(lambda _, text=text: SQL(text.replace("{yes}", yes))))


def until_all_is_delivered(service: Service) -> None:
    """Makes deliveries due until none is waiting. Raises TimeoutError after TIMEOUT seconds."""
    end = time.monotonic() + TIMEOUT
    while True:
        make_everything_due(service)
        time.sleep(0.2)
        with service.unit_of_work() as tx:
            ((waiting,),) = select("SELECT COUNT(*) FROM delivery WHERE status <> 3", tx)
            ((events,),) = select("SELECT COUNT(*) FROM event", tx)
            ((deliveries,),) = select("SELECT COUNT(*) FROM delivery", tx)
        if waiting == 0 and events == deliveries:
            return
        if time.monotonic() > end:
            raise TimeoutError(f"{waiting} of {deliveries} deliveries of {events} events are left")
