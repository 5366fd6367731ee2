"""P11 for exports: a file is the same if the service is killed while it is written."""

from __future__ import annotations

import hashlib
import random
import signal
import time
from pathlib import Path

from ..conftest import Account
from ..fronts import HttpFront
from ..processes import start

KILLS = 6
PEOPLE = 4_000


def test_a_file_is_the_same_after_kills_at_any_point(tmp_path: Path) -> None:
    service = start(tmp_path)
    front = HttpFront("http", service.http)
    account = Account("", service.first_key, front, service)
    account.ok("CreateCustomField", label="Text")
    for first in range(0, PEOPLE, 100):
        people = [
            {"email": f"p{number}@b.io", "customFields": {"text": "x" * 900}}
            for number in range(first, first + 100)
        ]
        assert account.ok("BulkCreateSubscribers", subscribers=people)["failed"] == []
    path = "/api/subscribers/export?format=CSV"
    _, _, expected = front.exchange("GET", path, account.key)
    export = account.ok("CreateExport")["export"]
    random.seed(11)
    for _ in range(KILLS):
        time.sleep(random.uniform(0.0, 0.05))
        service.stop(signal.SIGKILL)
        service = start(tmp_path)
        front = HttpFront("http", service.http)
        account = Account("", account.key, front, service)
    while not export["done"]:
        time.sleep(0.05)
        export = account.ok("GetExport", id=export["id"])["export"]
    _, _, body = front.exchange("GET", f"/api/exports/{export['id']}/file", account.key)
    assert (export["state"], export["processed"]) == ("SUCCEEDED", PEOPLE)
    assert body == expected
    assert export["sha256"] == hashlib.sha256(body).hexdigest()
    service.stop()
