"""kill -9 under load: what was acknowledged is there afterwards."""

from __future__ import annotations

import json
import signal
import threading
from contextlib import closing
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import apsw

from server.accounts.rules import make_secret

from ..processes import Service, start

ROUNDS = 5
CLIENTS = 6
# Each round dies after this many answers, in the midst of the writes that run then.
ANSWERS = 150


@dataclass
class Load:
    """Clients that create subscribers, one after the other, until the service is gone."""

    service: Service
    key: str
    prefix: str
    acknowledged: dict[str, str] = field(default_factory=dict)
    enough: threading.Event = field(default_factory=threading.Event)
    wrong: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Creates, kills the service once there are enough answers, and ends every client."""
        threads = [
            threading.Thread(target=self._create, args=(number,)) for number in range(CLIENTS)
        ]
        for thread in threads:
            thread.start()
        self.enough.wait(20)
        assert self.service.stop(signal.SIGKILL) == -signal.SIGKILL
        for thread in threads:
            thread.join()

    def _create(self, client: int) -> None:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        with closing(HTTPConnection(self.service.http, timeout=20)) as connection:
            for turn in range(100_000):
                email = f"{self.prefix}-{client}-{turn}@example.com"
                body = json.dumps({"email": email, "tags": ["load", f"client {client}"]})
                try:
                    connection.request("POST", "/api/subscribers", body, headers)
                    response = connection.getresponse()
                    answer = json.loads(response.read())
                except (OSError, HTTPException, ValueError):
                    return
                if response.status != 201:
                    self.wrong.append(str(answer))
                    return
                self.acknowledged[email] = answer["subscriber"]["id"]
                if len(self.acknowledged) >= ANSWERS:
                    self.enough.set()


def stored(path: Path) -> dict[str, str]:
    """Returns the id of every stored address, after a look at the file's health."""
    with closing(apsw.Connection(str(path))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        untagged = "SELECT count(*) FROM subscriber WHERE id NOT IN" + (
            " (SELECT subscriber_id FROM subscriber_tag GROUP BY 1 HAVING count(*) = 2)"
        )
        assert connection.execute(untagged).fetchall() == [(0,)]
        rows = connection.execute("SELECT email, id FROM subscriber")
        return {str(email): str(subscriber_id) for email, subscriber_id in rows}


def test_no_acknowledged_subscriber_is_lost_when_the_service_is_killed(tmp_path: Path) -> None:
    key = make_secret()
    acknowledged: dict[str, str] = {}

    for number in range(ROUNDS + 1):
        service = start(tmp_path, ROSTER_BOOTSTRAP_API_KEY=key, ROSTER_LOG_LEVEL="error")
        try:
            recovered = stored(service.database)
            assert acknowledged.items() <= recovered.items()
            if number == ROUNDS:
                break
            load = Load(service, key, f"round{number}")
            load.run()
        finally:
            service.stop(signal.SIGKILL)

        assert load.wrong == []
        assert len(load.acknowledged) >= ANSWERS
        assert min(load.acknowledged.values()) > max(recovered.values(), default="")
        acknowledged |= load.acknowledged
