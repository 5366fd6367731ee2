"""Imports and exports of a running service, by a client in its own process."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import count

from ..processes import Service
from .measurement import SHORT, Stats, compared

# Rows of a timed import, and of the export whose memory is measured.
IMPORT_ROWS = 6_000 if SHORT else 60_000
EXPORT_ROWS = 50_000 if SHORT else 1_000_000

_imported = count()


def stream(what: str, service: Service, *more: str) -> subprocess.Popen[str]:
    """Starts the client of the streams."""
    arguments = [what, service.http, service.first_key, *more]
    command = [sys.executable, "-m", "tests.bench.streams", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def outcome(client: subprocess.Popen[str]) -> dict[str, float]:
    """Returns the output of a stream client. Ends the program if anything failed."""
    printed, _ = client.communicate(timeout=600)
    result: dict[str, float] = json.loads(printed)
    if client.returncode or result["failures"]:
        raise SystemExit(f"a stream failed: {result}")
    return result


def exports_compared(name: str, what: str, service: Service) -> Stats:
    """Compares exports of some kind with streamed ones without links, in turns."""

    def rows_per_second(what: str) -> float:
        result = outcome(stream(what, service))
        return result["lines"] / result["seconds"]

    return compared(name, lambda: rows_per_second(what), lambda: rows_per_second("export"))


def import_rows(service: Service, count: int, what: str = "import") -> float:
    """Imports new rows over HTTP, as NDJSON or `import-csv`, and returns rows per second."""
    result = outcome(stream(what, service, str(count), str(first_number())))
    return result["lines"] / result["seconds"]


def first_number() -> int:
    """Returns the number of the first row of an import, so that its rows are new."""
    return next(_imported) * EXPORT_ROWS
