"""Backs up under load, kills the service, restores, and compares the data with the snapshot.

Each client keeps a model of its own subscribers, which each of its requests changes. The restored
data of a client equals its model after one of its requests: at the earliest the last one with a
response before the backup began, at the latest the last one sent before it ended. All clients are
at the same point in time: no write is missing if a later one is present.

ROSTER_DRILL_ROUNDS sets the number of rounds. Each starts with what the previous one restored.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.storage.backups.create import back_up

from ..bench.scale_fill import ACCOUNT, fill
from ..cli.commands import json_output
from ..load import Client, Exchange, Load, LoadEnded, Task
from ..processes import Service, start
from ..storage.helpers import differences, select

pytestmark = pytest.mark.verify

ROUNDS = int(os.environ.get("ROSTER_DRILL_ROUNDS", "2"))
CLIENTS = 6
# Subscribers of another account, so that a backup takes some time.
OTHERS = 20_000
TURNS = 4

ADD_ACCOUNT = (
    "INSERT INTO account (id, email, email_verified, created_at)"
    f" VALUES ('{ACCOUNT}', 'others@example.com', 1, 0)"
)

# Last names by address.
Model = dict[str, str]


def request_cycle(number: int) -> Task:
    """Returns requests that create two subscribers, change the first and delete the second."""
    made: dict[tuple[int, int], Exchange] = {}

    def run_cycle(client: Client, count: int) -> Exchange:
        step = count % TURNS
        if step < 2:
            email = f"round{number}-client{client.number}-{count}@example.com"
            sent = client.send("POST", "/api/subscribers", {"email": email}, email=email)
            made[client.number, count] = sent
            return sent
        old = made[client.number, count - 2]
        if old.status == 0:
            raise LoadEnded
        path = f"/api/subscribers/{old.body['subscriber']['id']}"
        if step == 2:
            return client.send("PATCH", path, {"lastName": f"turn {count}"}, email=old.email)
        return client.send("DELETE", path, email=old.email)

    return run_cycle


def model(sent: list[Exchange], turns: int) -> Model:
    """Returns the subscribers of a client after a number of its requests."""
    found: Model = {}
    for count, each in enumerate(sent[:turns]):
        if count % TURNS < 2:
            found[each.email] = ""
        elif count % TURNS == 2:
            found[each.email] = f"turn {count}"
        else:
            del found[each.email]
    return found


def all_subscribers(service: Service, key: str) -> dict[str, dict[str, Any]]:
    """Returns all subscribers of the account by address, as the pages of the API contain them."""
    client = Client(0, [service.http], key, threading.Event())
    found: dict[str, dict[str, Any]] = {}
    number, total = 1, 1
    while (number - 1) * 100 < total:
        page = client.send("GET", f"/api/subscribers?limit=100&page={number}").body
        assert page["total"] in (total, page["total"] if number == 1 else None)
        total, number = page["total"], number + 1
        found |= {subscriber["email"]: subscriber for subscriber in page["subscribers"]}
    client.close()
    assert len(found) == total
    return found


def assert_consistent(
    found: dict[str, dict[str, Any]], sent: list[Exchange], began: float, ended: float
) -> None:
    """Asserts that the data of all clients is from one point in time during the backup."""
    newest = max((item["id"] for item in found.values()), default="")
    names = {email: each["lastName"] for email, each in found.items()}
    left = dict(names)
    for number in range(CLIENTS):
        own = [item for item in sent if item.client == number]
        assert {item.status for item in own} <= {200, 201, 204, 0}
        emails = {item.email for item in own}
        seen = {email: left.pop(email) for email in emails & left.keys()}
        least = sum(item.ended < began and item.status != 0 for item in own)
        most = sum(item.began < ended for item in own)
        (turns,) = [n for n in range(least, most + 1) if model(own, n) == seen]
        for count, each in enumerate(own[turns:], turns):
            if count % TURNS < 2 and each.status == 201:
                assert each.body["subscriber"]["id"] > newest
    assert left == {}


def test_restored_database_is_that_of_the_snapshot(tmp_path: Path) -> None:
    key, url = make_secret(), f"sqlite:///{tmp_path}/roster.db"
    settings = {"ROSTER_BOOTSTRAP_API_KEY": key, "ROSTER_LOG_LEVEL": "error"}
    fill(url, OTHERS)
    before: dict[str, dict[str, Any]] = {}

    for number in range(ROUNDS):
        file = tmp_path / f"{number}.backup"
        service = start(tmp_path, **settings)
        try:
            if number == 0:
                with service.unit_of_work() as tx:
                    select(ADD_ACCOUNT, tx)
            with Load([service.http], key).running(*[request_cycle(number)] * CLIENTS) as load:
                load.wait_for_more(60)
                began = time.monotonic()
                # The command takes longer to start than the backup takes.
                back_up(service.database, file, lambda *_: None)
                ended = time.monotonic()
                load.wait_for_more(60)
                assert service.stop(signal.SIGKILL) == -signal.SIGKILL
        finally:
            service.stop(signal.SIGKILL)
        json_output(url, "restore", str(file))
        service = start(tmp_path, **settings)
        try:
            found = all_subscribers(service, key)
        finally:
            assert service.stop() == 0

        assert differences(url) == []
        assert {email: each for email, each in found.items() if email in before} == before
        fresh = {email: each for email, each in found.items() if email not in before}
        assert_consistent(fresh, load.exchanges, began, ended)
        before = found
