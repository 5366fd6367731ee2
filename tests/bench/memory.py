"""Memory of a service, and its start time."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from ..processes import Service, start
from .measurement import Stats
from .transfers import EXPORT_ROWS, IMPORT_ROWS, exports_compared, import_rows, outcome, stream


def memory_mib(process: int) -> float:
    """Returns the resident memory of a process in MiB."""
    output = subprocess.run(
        ["ps", "-o", "rss=", "-p", str(process)], stdout=subprocess.PIPE, text=True, check=True
    )
    return int(output.stdout) / 1024


def start_stats(folder: Path) -> Iterator[Stats]:
    """Starts the service three times. Yields the median seconds to ready, and idle memory."""
    times, memory = [], 0.0
    for _ in range(3):
        started = time.perf_counter()
        service = start(folder)
        times.append(time.perf_counter() - started)
        memory = memory_mib(service.process.pid)
        service.stop()
    yield {
        "idle_memory_mib": round(memory, 1),
        "seconds_to_ready": round(statistics.median(times), 2),
    }


def export_stats(service: Service) -> Iterator[Stats]:
    """Yields the rate of exports, and the memory growth of a service during one, in MiB."""
    import_rows(service, IMPORT_ROWS)
    yield exports_compared("export_links", "export-links", service)
    yield exports_compared("export_file", "export-file", service)
    import_rows(service, EXPORT_ROWS)
    before = memory_mib(service.process.pid)
    client, most = stream("export", service), before
    while client.poll() is None:
        most = max(most, memory_mib(service.process.pid))
        time.sleep(0.05)
    if outcome(client)["lines"] < EXPORT_ROWS:
        raise SystemExit("an export ended early")
    yield {"export_memory_mib": round(most - before, 1)}
