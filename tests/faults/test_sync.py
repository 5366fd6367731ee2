"""A client that follows a list in the order of changes misses none, while others write.

Eight clients create, update, tag and change the status of subscribers. The marked cases also kill
the service in between. In the end, the copy of the client equals the list of the service.
"""

from __future__ import annotations

import http.client
import json
import random
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from rosterd.server.features.accounts.rules import make_secret

from ..components import Component, free_port, launch, wait_until, wait_until_ready
from ..postgres import Postgres

WRITERS = 8
STATUSES = ("CONFIRMED", "UNSUBSCRIBED", "UNCONFIRMED", "BOUNCED")
LIST = "/api/subscribers"
# Changes and passes between two kills, and after the last one.
CHANGES, PASSES = 50, 2


class Http:
    """Sends requests to an address, each over a connection of its own."""

    def __init__(self, address: str, key: str) -> None:
        self._address = address
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def send(self, method: str, path: str, body: Any = None) -> tuple[int, Any, str]:
        """Returns the status, the body and the Link header. Raises OSError or HTTPException."""
        connection = http.client.HTTPConnection(self._address, timeout=20)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, self._headers)
            response = connection.getresponse()
            found = json.loads(response.read() or b"{}")
            return response.status, found, response.getheader("Link") or ""
        finally:
            connection.close()

    def pages(self, **query: Any) -> list[list[dict[str, Any]]]:
        """Returns all pages by page tokens. Raises OSError if the service does not respond."""
        pages, token = [], ""
        while True:
            text = urlencode({"view": "FULL", **query, **({"pageToken": token} if token else {})})
            status, body, link = self.send("GET", f"{LIST}?{text}")
            if status != 200:
                raise OSError(f"status {status}")
            pages.append(body["subscribers"])
            if not link:
                return pages
            url = link.partition("<")[2].partition(">")[0]
            (token,) = parse_qs(urlsplit(url).query)["pageToken"]


def write(client: Http, number: int, ended: threading.Event, counts: list[int]) -> None:
    """Changes subscribers at random until the end. Failed requests are not repeated."""
    rng, ids = random.Random(number), list[str]()
    while not ended.is_set():
        what = rng.randrange(5) if ids else 0
        person = f"{LIST}/{rng.choice(ids)}" if ids else LIST
        text = f"{number}-{counts[number]}"
        requests: list[tuple[str, str, Any]] = [
            ("POST", LIST, {"email": f"{text}@b.io"}),
            ("PATCH", person, {"firstName": text}),
            ("POST", f"{person}/tags", {"tags": [f"t{rng.randrange(9)}"]}),
            ("PUT", f"{person}/status", {"status": rng.choice(STATUSES)}),
            (
                "POST",
                f"{LIST}/bulk",
                {"subscribers": [{"email": f"{text}-{n}@b.io"} for n in "ab"]},
            ),
        ]
        try:
            status, body, _ = client.send(*requests[what])
        except (OSError, http.client.HTTPException):
            time.sleep(0.05)
            continue
        if status == 201:
            ids.append(body["subscriber"]["id"])
        counts[number] += 1


class Follower:
    """A copy of the subscribers, kept by reading what changed since the last pass."""

    def __init__(self, client: Http) -> None:
        self._client = client
        self._after: dict[str, str] = {}
        self.copy: dict[str, dict[str, Any]] = {}
        self.passes = 0

    def read(self) -> None:
        pages = self._client.pages(orderBy="updatedAt", limit=20, **self._after)
        rows = [row for page in pages for row in page]
        self.copy |= {row["id"]: row for row in rows}
        if rows:
            self._after = {"updatedAfter": rows[-1]["updatedAt"]}
        self.passes += 1

    def follow(self, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                self.read()
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)


def run(folder: Path, database_url: str, kills: int, **more: str) -> None:
    key, address = make_secret(), f"127.0.0.1:{free_port()}"
    settings = {
        "ROSTER_DATABASE_URL": database_url,
        "ROSTER_BOOTSTRAP_API_KEY": key,
        "ROSTER_HTTP_ADDRESS": address,
        **more,
    }

    def started() -> Component:
        return wait_until_ready(launch("serve", folder / "service.log", **settings))

    service, client, ended = started(), Http(address, key), threading.Event()
    follower, counts = Follower(client), [0] * WRITERS

    def wait_for_more() -> None:
        changes, passes = sum(counts) + CHANGES, follower.passes + PASSES
        wait_until(
            lambda: sum(counts) >= changes and follower.passes >= passes, "more changes and passes"
        )

    try:
        with ThreadPoolExecutor(WRITERS + 1) as pool:
            try:
                tasks = [pool.submit(write, client, n, ended, counts) for n in range(WRITERS)]
                tasks.append(pool.submit(follower.follow, ended))
                for _ in range(kills):
                    wait_for_more()
                    service.stop(signal.SIGKILL)
                    service = started()
                wait_for_more()
            finally:
                ended.set()
            for task in tasks:
                task.result()
        follower.read()
        stored = {row["id"]: row for page in client.pages(limit=100) for row in page}
    finally:
        service.stop()
    assert follower.copy == stored


each_number = pytest.mark.parametrize(
    "kills", [0, pytest.param(4, marks=pytest.mark.verify)], ids=["no kill", "kills"]
)


@each_number
def test_client_that_follows_changes_misses_none(tmp_path: Path, kills: int) -> None:
    run(tmp_path, f"sqlite:///{tmp_path}/roster.db", kills)


@pytest.mark.verify
@each_number
def test_client_that_follows_changes_on_postgres_misses_none(
    postgres: Postgres, tmp_path: Path, kills: int
) -> None:
    run(tmp_path, postgres.new_roster(), kills, ROSTER_SECRET_KEY=postgres.secret_key)
