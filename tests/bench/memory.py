"""Memory of a service, its start time, and its files of exports and imports."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from ..processes import Service, start
from .measurement import SHORT, Stats, compared, spread
from .transfers import EXPORT_ROWS, IMPORT_ROWS, exports_compared, import_rows, outcome, stream

STARTS = 3 if SHORT else 5
EXPORTS = 1 if SHORT else 3


def memory_mib(process: int) -> float:
    """Returns the resident memory of a process in MiB."""
    output = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(process)], stdout=subprocess.PIPE, text=True, check=True
    )
    return int(output.stdout) / 1024


def start_stats(folder: Path) -> Iterator[Stats]:
    """Starts the service some times. Yields the seconds to ready, and the idle memory."""
    times, memory = [], []
    for _ in range(STARTS):
        started = time.perf_counter()
        service = start(folder)
        times.append(time.perf_counter() - started)
        memory.append(memory_mib(service.process.pid))
        service.stop()
    yield spread("idle_memory_mib", memory, 1) | spread("seconds_to_ready", times, 2)


def export_stats(service: Service) -> Iterator[Stats]:
    """Yields the rates of exports and of the import of a file, and the memory of exports in MiB."""
    import_rows(service, IMPORT_ROWS)
    yield exports_compared("export_links", "export-links", service)
    yield exports_compared("export_file", "export-file", service)
    yield compared(
        "import_file",
        lambda: import_rows(service, IMPORT_ROWS, "import-file"),
        lambda: import_rows(service, IMPORT_ROWS),
    )
    import_rows(service, EXPORT_ROWS)
    yield spread("export_memory_mib", [_growth(service) for _ in range(EXPORTS)], 1)


def _growth(service: Service) -> float:
    before = memory_mib(service.process.pid)
    client, most = stream("export", service), before
    while client.poll() is None:
        most = max(most, memory_mib(service.process.pid))
        time.sleep(0.05)
    if outcome(client)["lines"] < EXPORT_ROWS:
        raise SystemExit("an export ended early")
    return most - before
