"""P11: kill -9 of the service while it imports files.

Each file has the same rows with other addresses: new ones, invalid ones, repeated ones, and opt-
outs of addresses that are earlier in the file. Each import creates a custom field. Every third
import is a dry run, which is then run. The service is killed while it inspects the file or imports
it, and restarted. In the end each import has the summary and the failed rows of the first one,
which was not interrupted, and each row is stored once, with one event.
"""

from __future__ import annotations

import json
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rosterd.server.features.accounts.rules import make_secret
from rosterd.server.storage.databases import reading

from ...processes import Service, start
from ...storage.helpers import differences, select
from .api import call, download, read, settings_with, until
from .checker import Results
from .contents import account_in

SUMMARIES, FAILURES = "imports with another summary", "imports with other failed rows"
STORED, EVENTS = "files that are not stored once", "events missing or repeated"
DIFFERENCES = "differences found by roster check"
AT_MOST: Results = dict.fromkeys((SUMMARIES, FAILURES, STORED, EVENTS, DIFFERENCES), 0)
AT_LEAST: Results = {"kills in imports": 1}

ROWS = 4_000
# A service is killed at most so many seconds after the first step of a run or the upload.
SECONDS = 0.3
_WEBHOOK = {"url": "https://127.0.0.1:1/", "eventTypes": ["subscriber.*"], "enabled": False}


def run(kills: int, folder: Path, **settings: str) -> Results:
    """Imports one file after another, and kills the service in each."""
    key, rng = make_secret(), random.Random()
    settings |= settings_with(key)
    results: Counter[str] = Counter()
    service = start(folder, **settings)
    expected: list[Any] = []
    try:
        call(service, key, "POST", "/api/webhooks", _WEBHOOK)
        for number in range(kills + 1):
            is_killed, is_dry_run = number > 0, number % 3 == 2
            path = _upload(service, key, number)
            kills_inspection = is_killed and number % 4 == 0
            if kills_inspection:
                service = _killed(service, rng, folder, settings)
            until(service, key, path, _is_settled)
            body = {"dryRun": is_dry_run}
            call(service, key, "POST", f"{path}/start", body)
            if is_killed:
                if not kills_inspection:
                    while not (job := read(service, key, path))["processed"]:
                        time.sleep(0.005)
                    results["kills in imports"] += not _is_settled(job)
                service = _killed(service, rng, folder, settings)
            summary = until(service, key, path, _is_settled)["summary"]
            if is_dry_run:
                results[SUMMARIES] += _without_columns(summary) != expected[0]
                call(service, key, "POST", f"{path}/start", {})
                summary = until(service, key, path, _is_settled)["summary"]
            failed = _failures(service, key, path, number)
            expected = expected or [_without_columns(summary), failed]
            results[SUMMARIES] += _without_columns(summary) != expected[0]
            results[FAILURES] += failed != expected[1]
    finally:
        service.stop()
    results.update(_count(service.database_url, kills + 1))
    return {"kills": kills, **{name: results[name] for name in (*AT_LEAST, *AT_MOST)}}


def _is_settled(job: dict[str, Any]) -> bool:
    return job["state"] not in ("INSPECTING", "RUNNING")


def _file(number: int) -> bytes:
    """Returns a file, whose rows have the number of the file in their addresses."""
    lines = ["email,firstName,status,town"]
    for row in range(ROWS):
        kind = row % 10
        if kind == 3:
            lines.append(f"p{row},Ann,,Rome")
        elif kind == 6:
            again = f"p{number}-{row // 2 // 10 * 10}@example.com; p{number}-{row}@example.com"
            lines.append(f"{again},Again,UNSUBSCRIBED,Oslo")
        elif kind == 8:
            lines.append(f"p{number}-{row - 1}@example.com,Again,,Paris")
        else:
            lines.append(f"p{number}-{row}@example.com,Ann,CONFIRMED,Rome")
    return "\n".join(lines).encode()


def _upload(service: Service, key: str, number: int) -> str:
    content = _file(number)
    new = {"column": "town", "label": f"Town {number}"}
    options = {"newFields": [new], "addTags": ["imported"]}
    body = {"name": "people.csv", "size": len(content), "options": options}
    path = f"/api/imports/{call(service, key, 'POST', '/api/imports', body)['import']['id']}"
    half = len(content) // 2
    for offset, part in ((0, content[:half]), (half, content[half:])):
        call(service, key, "PUT", f"{path}/content?offset={offset}", raw=part)
    return path


def _killed(
    service: Service, rng: random.Random, folder: Path, settings: dict[str, str]
) -> Service:
    time.sleep(rng.uniform(0, SECONDS))
    service.stop(signal.SIGKILL)
    return start(folder, **settings)


def _without_columns(summary: dict[str, Any]) -> dict[str, Any]:
    """Returns a summary without the field that the import created."""
    return {name: summary[name] for name in summary if name not in ("createdFields", "dryRun")}


def _failures(service: Service, key: str, path: str, number: int) -> list[Any]:
    """Returns the failed rows of an import, without the number of the file."""
    text = download(service, key, "GET", f"{path}/failures").decode()
    return [json.loads(line.replace(f"p{number}-", "p-")) for line in text.splitlines() if line]


def _count(database_url: str, files: int) -> Counter[str]:
    """Compares the stored subscribers of each file, and their events, with those of the first."""
    account = account_in(database_url)
    with reading(database_url) as tx:
        rows = select(
            f"SELECT email_key, status FROM subscriber WHERE account_id = '{account}'", tx
        )
        sql = f"SELECT subscriber_id, event_type FROM event WHERE account_id = '{account}'"
        events = [row for row in select(sql, tx) if row[1].startswith("subscriber.")]
    by_file: dict[str, list[tuple[str, int]]] = {}
    for email, status in rows:
        name, _, row = email.partition("-")
        by_file.setdefault(name, []).append((row, status))
    first = sorted(by_file["p0"])
    results: Counter[str] = Counter()
    for number in range(files):
        results[STORED] += sorted(by_file.get(f"p{number}", [])) != first
    repeated = Counter(events)
    results[EVENTS] = sum(count - 1 for count in repeated.values())
    results[EVENTS] += abs(
        sum(kind == "subscriber.created" for _, kind in repeated) - len(first) * files
    )
    results[DIFFERENCES] = len(differences(database_url))
    return results
