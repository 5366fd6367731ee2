"""P11: kill -9 of the service while operations change subscribers.

Each operation sets a custom field of all subscribers to its number; every third one is a dry run,
and every fourth one undoes the last change. The service is killed meanwhile and restarted. In the
end each operation has changed each subscriber once, with one event, and each dry run has counted
each subscriber once.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from pathlib import Path

from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.storage.databases import reading

from ...processes import Service, start
from ...storage.helpers import differences, select
from .api import call, read, settings_with, until
from .checker import Results
from .contents import account_in

UNCHANGED, REPEATED = "subscribers not changed", "subscribers changed twice"
EVENTS, WRONG = "events missing or repeated", "operations with other counts"
DIFFERENCES = "differences found by roster check"
AT_MOST: Results = dict.fromkeys((UNCHANGED, REPEATED, EVENTS, WRONG, DIFFERENCES), 0)
AT_LEAST: Results = {"kills in operations": 1}

SUBSCRIBERS = 1_500
# A service is killed at most so many seconds after the first step of its operation.
SECONDS = 0.2


def run(kills: int, folder: Path, **settings: str) -> Results:
    """Runs operations one after another, and kills the service in each."""
    key, rng = make_secret(), random.Random()
    settings |= settings_with(key)
    results: Counter[str] = Counter()
    service = start(folder, **settings)
    try:
        call(service, key, "POST", "/api/webhooks", _WEBHOOK)
        call(service, key, "POST", "/api/custom-fields", {"label": "Round", "dataType": "NUMBER"})
        _create_subscribers(service, key)
        operations, changes, last = [], 0, ""
        for number in range(kills):
            action = {"setCustomFields": {"round": number}}
            body = {"filter": "email:*", "action": action, "dryRun": number % 3 == 2}
            path = "/api/subscribers/batch"
            if is_undo := number % 4 == 3:
                until(service, key, f"/api/operations/{last}")
                path, body = f"/api/operations/{last}/undo", {"dryRun": False}
            operation = call(service, key, "POST", path, body)["operation"]
            operations.append(operation["id"])
            changes += not operation["dryRun"]
            if not operation["dryRun"] and not is_undo:
                last = operation["id"]
            while not operation["processed"]:
                time.sleep(0.005)
                operation = read(service, key, f"/api/operations/{operation['id']}")
            results["kills in operations"] += not operation["done"]
            time.sleep(rng.uniform(0, SECONDS))
            service.stop(signal.SIGKILL)
            service = start(folder, **settings)
        for operation_id in operations:
            ended = until(service, key, f"/api/operations/{operation_id}")
            changed = ended["wouldChange" if ended["dryRun"] else "changed"]
            results[WRONG] += (ended["state"], ended["processed"], changed, ended["failed"]) != (
                "SUCCEEDED",
                SUBSCRIBERS,
                SUBSCRIBERS,
                [],
            )
    finally:
        service.stop()
    results.update(_count_changes(service.database_url, changes))
    return {"kills": kills, **{name: results[name] for name in (*AT_LEAST, *AT_MOST)}}


_WEBHOOK = {"url": "https://127.0.0.1:1/", "eventTypes": ["subscriber.*"], "enabled": False}


def _count_changes(database_url: str, operations: int) -> Counter[str]:
    """Compares the histories and the events of all subscribers with the operations."""
    account = account_in(database_url)
    results: Counter[str] = Counter()
    queries = {
        "changes": f"SELECT subscriber_id FROM subscriber_history WHERE account_id = '{account}'",
        "events": f"SELECT subscriber_id FROM event WHERE account_id = '{account}'"
        " AND event_type = 'subscriber.updated'",
    }
    with reading(database_url) as tx:
        found = {name: Counter(id_ for (id_,) in select(sql, tx)) for name, sql in queries.items()}
        rows = select(f"SELECT id FROM subscriber WHERE account_id = '{account}'", tx)
    assert len(rows) == SUBSCRIBERS
    for (subscriber_id,) in rows:
        results[UNCHANGED] += max(operations - found["changes"][subscriber_id], 0)
        results[REPEATED] += max(found["changes"][subscriber_id] - operations, 0)
        results[EVENTS] += found["events"][subscriber_id] != operations
    results[DIFFERENCES] = len(differences(database_url))
    return results


def _create_subscribers(service: Service, key: str) -> None:
    for first in range(0, SUBSCRIBERS, 100):
        rows = [{"email": f"{first + number}@example.com"} for number in range(100)]
        call(service, key, "POST", "/api/subscribers/bulk", {"subscribers": rows})
