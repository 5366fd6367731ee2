"""`make bench`: measures the cost of Roster as ratios within one run.

Machines differ and are shared, so each measurement runs in turns with its baseline and the
median of the ratios is reported. The service runs with default settings, in one process, at 32
connections; on PostgreSQL two processes are compared with one. ROSTER_BENCH=short runs each
benchmark briefly, which only checks that it works.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .. import reaper
from ..memory import folder as memory_folder
from ..processes import start
from . import (
    codec,
    compared_with_aiohttp,
    compared_with_apsw,
    gateway,
    operations,
    webhooks,
    workers,
)
from .measurement import Comparison
from .memory import export_memory_mib, seconds_to_ready
from .transfers import exports_with_links

# Lower bounds of ratios, and upper bounds of other results.
AT_LEAST = {
    "get_by_id": 0.45,
    "page_of_20": 0.30,
    "create": 0.25,
    "bulk_of_100": 0.40,
    "import": 0.50,
    # With status, time and tag.
    "import_csv": 0.50,
    "export_links": 0.50,
    "create_with_a_webhook": 0.70,
    "create_with_20_webhooks": 0.90,
    "gateway_over_grpc": 0.85,
    # If each process has its own core, apart from the load generator and the database.
    "two_workers_get_by_id": 1.6,
    "two_workers_create": 1.6,
    **dict.fromkeys(codec.NAMES, 8.0),
}
AT_MOST = {
    "idle_memory_mib": 120.0,
    "seconds_to_ready": 2.0,
    "export_memory_mib": 30.0,
    "in_process_call_us": 10.0,
    "webhook_median_ms": 100.0,
    "webhook_99th_ms": 1_000.0,
    "webhook_99th_with_hanging_endpoint": 1.2,
    "get_99th_beside_operation": 1.5,
    "operation_us_per_row": 200.0,
    "get_99th_beside_operation_on_postgres": 1.5,
    "operation_us_per_row_on_postgres": 200.0,
}


def stats(measurements: dict[str, float]) -> Iterator[Comparison]:
    """Yields every ratio. Results without a baseline go into `measurements`."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        (Path(folder) / "ready").mkdir()
        ready, memory = seconds_to_ready(Path(folder) / "ready")
        measurements |= {"idle_memory_mib": round(memory, 1), "seconds_to_ready": round(ready, 2)}
        service = start(Path(folder), **webhooks.SETTINGS)
        try:
            yield from compared_with_aiohttp.stats(service)
            yield from compared_with_apsw.stats(service)
            yield exports_with_links(service)
            yield from webhooks.stats(service)
            delays = webhooks.delays(service)
            measurements |= {
                "webhook_median_ms": round(delays.median, 1),
                "webhook_99th_ms": round(delays.last, 1),
            }
            measurements["export_memory_mib"] = round(export_memory_mib(service), 1)
        finally:
            service.stop()
        with memory_folder() as path:
            ratio = webhooks.with_hanging_endpoint(path)
        measurements["webhook_99th_with_hanging_endpoint"] = round(ratio, 2)
        for costs in operations.stats(Path(folder)):
            measurements |= costs
        yield from workers.stats(Path(folder))
    yield from gateway.stats()
    measurements["in_process_call_us"] = round(gateway.channel_microseconds(), 1)
    yield from codec.stats()


def main() -> None:
    reaper.start()
    table = Table("benchmark", "Roster", "baseline", "ratio", "target", box=None)
    measurements: dict[str, float] = {}
    ratios: dict[str, float] = {}
    for comparison in stats(measurements):
        ratios[comparison.name] = round(comparison.ratio, 3)
        table.add_row(
            comparison.name,
            f"{comparison.roster:,.0f} {comparison.unit}",
            f"{comparison.versus} {comparison.baseline:,.0f}",
            f"{comparison.ratio:.2f}",
            f"{AT_LEAST[comparison.name]:.2f} or more",
        )
    for name, bound in AT_MOST.items():
        table.add_row(name, f"{measurements[name]}", "", "", f"{bound:g} or less")
    Console(highlight=False).print(table)
    Path("bench.json").write_text(json.dumps(ratios | measurements, indent=2) + "\n")


if __name__ == "__main__":
    main()
