"""P11: kill -9 of the service while it writes the files of exports.

Each export has another format, and is of all subscribers or of half of them. The service is killed
meanwhile and restarted. In the end each file has the bytes of the stream
with the same options, each subscriber once, and its SHA-256.

A fast machine ends an export before it is killed: only kills before its end count, at random times
within the duration of an export that is not killed.
"""

from __future__ import annotations

import hashlib
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from rosterd.server.features.accounts.rules import make_secret

from ...processes import Service, start
from ...storage.helpers import differences
from .api import call, download, settings_with, until
from .checker import Results

FILES, HASHES = "files that differ from the stream", "files with another SHA-256"
DIFFERENCES = "differences found by roster check"
AT_MOST: Results = dict.fromkeys((FILES, HASHES, DIFFERENCES), 0)
AT_LEAST: Results = {"kills in exports": 1}

SUBSCRIBERS = 6_000
# So many exports run at most for each kill in one.
ATTEMPTS = 10
_OPTIONS: tuple[dict[str, Any], ...] = (
    {"format": "CSV"},
    {"format": "NDJSON", "view": "FULL"},
    {"format": "CSV", "bom": True, "filter": "tags:even"},
    {"format": "NDJSON", "filter": "tags:even"},
)


def run(kills: int, folder: Path, **settings: str) -> Results:
    """Runs one export after another, and kills the service in each."""
    key, rng = make_secret(), random.Random()
    settings |= settings_with(key)
    results: Counter[str] = Counter()
    service = start(folder, **settings)
    try:
        call(service, key, "POST", "/api/custom-fields", {"label": "Text"})
        _create_subscribers(service, key)
        started = time.monotonic()
        until(service, key, _start_export(service, key, _OPTIONS[0]))
        seconds = time.monotonic() - started
        for number in range(ATTEMPTS * kills):
            if results["kills in exports"] == kills:
                break
            options = _OPTIONS[number % len(_OPTIONS)]
            path = _start_export(service, key, options)
            time.sleep(rng.uniform(0, seconds))
            service.stop(signal.SIGKILL)
            service = start(folder, **settings)
            results["kills in exports"] += not call(service, key, "GET", path)["export"]["done"]
            export = until(service, key, path)
            file = download(service, key, "GET", f"{path}/file")
            streamed = f"/api/subscribers/export?{urlencode(options).replace('True', 'true')}"
            results[FILES] += file != download(service, key, "GET", streamed)
            results[HASHES] += export["sha256"] != hashlib.sha256(file).hexdigest()
            # The maximum of an account is 20.
            download(service, key, "DELETE", path)
    finally:
        service.stop()
    results[DIFFERENCES] = len(differences(service.database_url))
    return {"kills": kills, **{name: results[name] for name in (*AT_LEAST, *AT_MOST)}}


def _start_export(service: Service, key: str, options: dict[str, Any]) -> str:
    export = call(service, key, "POST", "/api/exports", options)["export"]
    return f"/api/exports/{export['id']}"


def _create_subscribers(service: Service, key: str) -> None:
    for first in range(0, SUBSCRIBERS, 100):
        rows = [
            {
                "email": f"{number}@example.com",
                "tags": ["odd" if number % 2 else "even"],
                "customFields": {"text": "x" * 900},
            }
            for number in range(first, first + 100)
        ]
        call(service, key, "POST", "/api/subscribers/bulk", {"subscribers": rows})
