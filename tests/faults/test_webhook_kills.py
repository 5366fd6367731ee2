"""kill -9 of service and receiver while events are delivered: none is lost, and none is changed.

ROSTER_WEBHOOK_KILLS makes the rounds more than the few that there are by themselves.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import apsw
import pytest
from peewee import SQL

from server.accounts.rules import make_secret
from server.storage.statements import Statement
from server.storage.transaction import Transaction

from ..postgres import Postgres
from ..processes import Service, start

ROUNDS = int(os.environ.get("ROSTER_WEBHOOK_KILLS", "2"))
CLIENTS = 3
SETTINGS = {
    "ROSTER_WEBHOOK_ALLOW_NETS": "127.0.0.0/8",
    "ROSTER_WEBHOOK_ALLOW_HTTP": "yes",
    "ROSTER_LOG_LEVEL": "error",
    "ROSTER_SECRET_KEY": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
}
# What has failed waits for minutes, and what a killed process was sending for one. Here
# the time is over at once. Whoever changes deliveries locks their queue first.
OVER = (
    "UPDATE delivery_queue SET due_at = 0",
    "UPDATE delivery SET due_at = 0 WHERE due_at IS NOT NULL",
    "UPDATE webhook SET paused_until = 0",
)
PATIENCE = 60.0


@dataclass
class Receiver:
    """A receiver that can be killed, and comes back to where it was."""

    file: Path
    port: int = 0

    def start(self) -> None:
        command = [sys.executable, "-m", "tests.webhooks.keeping", str(self.port), str(self.file)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def received(self) -> dict[str, list[str]]:
        """Returns the digests of the bodies that came with each event's id."""
        found = defaultdict(list)
        # The last line is half written where the receiver was killed in the midst of it.
        for line in self.file.read_text().splitlines():
            event_id, _, digest = line.partition(" ")
            if len(digest) == 64:
                found[event_id].append(digest)
        return found


@dataclass
class Load:
    """Clients that create tags, one after the other, until the service is gone."""

    service: Service
    key: str
    prefix: str
    acknowledged: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.threads = [threading.Thread(target=self._create, args=(n,)) for n in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def join(self) -> None:
        for thread in self.threads:
            thread.join()

    def _create(self, client: int) -> None:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        with closing(HTTPConnection(self.service.http, timeout=20)) as connection:
            for turn in range(100_000):
                name = f"{self.prefix}-{client}-{turn}"
                try:
                    connection.request("POST", "/api/tags", json.dumps({"name": name}), headers)
                    response = connection.getresponse()
                    answer = response.read()
                except (OSError, HTTPException):
                    return
                if response.status != 201:
                    self.wrong.append(str(answer))
                    return
                self.acknowledged.append(name)


def select(sql: str, tx: Transaction) -> list[Any]:
    return tx.all(Statement(lambda _: SQL(sql)))


def let_time_pass(service: Service) -> None:
    with service.unit_of_work() as tx:
        for text in OVER:
            tx.run(Statement(lambda _, text=text: SQL(text)))  # type: ignore[misc]


def until_all_is_delivered(service: Service) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        let_time_pass(service)
        time.sleep(0.3)
        with service.unit_of_work() as tx:
            ((waiting,),) = select("SELECT COUNT(*) FROM delivery WHERE status <> 3", tx)
            ((events,),) = select("SELECT COUNT(*) FROM event", tx)
            ((deliveries,),) = select("SELECT COUNT(*) FROM delivery", tx)
        if waiting == 0 and events == deliveries:
            return
        assert time.monotonic() < end, f"{waiting} of {deliveries} are left, {events} events"


def add_webhook(service: Service, key: str, port: int) -> None:
    with closing(HTTPConnection(service.http, timeout=20)) as connection:
        headers = {"Authorization": f"Bearer {key}"}
        body = json.dumps({"url": f"http://127.0.0.1:{port}/"})
        connection.request("POST", "/api/webhooks", body, headers)
        assert connection.getresponse().status == 201


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_no_event_is_lost_when_service_and_receiver_are_killed(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    key, dice = make_secret(), random.Random(1)
    settings = SETTINGS | {"ROSTER_BOOTSTRAP_API_KEY": key}
    if store == "postgres":
        postgres: Postgres = request.getfixturevalue("postgres")
        settings["ROSTER_DATABASE_URL"] = postgres.new_database()
    receiver = Receiver(tmp_path / "received")
    receiver.start()
    acknowledged: list[str] = []
    try:
        service = start(tmp_path, **settings)
        add_webhook(service, key, receiver.port)
        for number in range(ROUNDS):
            load = Load(service, key, f"round{number}")
            load.start()
            time.sleep(dice.uniform(0.05, 0.5))
            if dice.random() < 0.5:
                receiver.kill()
                receiver.start()
                time.sleep(dice.uniform(0.0, 0.2))
            service.stop(signal.SIGKILL)
            load.join()
            assert load.wrong == []
            acknowledged += load.acknowledged
            service = start(tmp_path, **settings)
            let_time_pass(service)
        until_all_is_delivered(service)
        with service.unit_of_work() as tx:
            events = dict(select("SELECT id, envelope FROM event ORDER BY sequence", tx))
            tags = {name for (name,) in select("SELECT name FROM tag", tx)}
            sequences = [number for (number,) in select("SELECT sequence FROM event", tx)]
    finally:
        service.stop(signal.SIGKILL)
        receiver.kill()

    told = [json.loads(text)["data"]["tag"]["name"] for text in events.values()]
    received = receiver.received()
    assert set(acknowledged) <= tags == set(told)
    assert len(told) == len(tags)
    assert sorted(sequences) == list(range(1, len(events) + 1))
    assert received.keys() == events.keys()
    assert {len(set(digests)) for digests in received.values()} == {1}
    if store == "sqlite":
        with closing(apsw.Connection(str(service.database))) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
