"""`make bench`: measures the cost of Roster as ratios within one run.

    python -m tests.bench                          all groups of measurements
    python -m tests.bench requests gateway         some of them; bench.json keeps the other results

Machines differ and are shared, so each measurement runs in turns with its baseline and the
median of the ratios is reported. The service runs with default settings, in one process, at 32
connections; on PostgreSQL two processes are compared with one. All groups take less than half an
hour together; the time of each is printed. ROSTER_BENCH=short runs each
benchmark briefly, which only checks that it works.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .. import reaper, tools
from ..processes import Service, start
from . import (
    codec,
    compared_with_apsw,
    gateway,
    memory,
    operations,
    requests_on_databases,
    web_console,
    webhooks,
    workers,
)
from .measurement import Stats, ToolMissing
from .subjects import Subjects, on_databases
from .tables import HEADER, RESULTS, rows

# Measures in a new folder, and yields results.
Group = Callable[[Path], Iterator[Stats]]


def _with_service(stats: Callable[[Service], Iterator[Stats]]) -> Group:
    """Measures a service on SQLite."""

    def run(folder: Path) -> Iterator[Stats]:
        service = start(folder, **webhooks.SETTINGS)
        try:
            yield from stats(service)
        finally:
            service.stop()

    return run


def _on_databases(stats: Callable[[Subjects], Iterator[Stats]]) -> Group:
    """Measures services on both databases."""

    def run(folder: Path) -> Iterator[Stats]:
        with on_databases(folder) as subjects:
            yield from stats(subjects)

    return run


# The columns of output that is not a terminal.
WIDTH = 180
GROUPS: dict[str, Group] = {
    "start": memory.start_stats,
    "requests": _on_databases(requests_on_databases.stats),
    "bulks": _on_databases(requests_on_databases.bulk_stats),
    "imports": _on_databases(compared_with_apsw.stats),
    "exports": _with_service(memory.export_stats),
    "webhooks": _with_service(webhooks.stats),
    "deliveries": _with_service(webhooks.delivery_stats),
    "hanging-endpoint": lambda _: webhooks.hanging_endpoint_stats(),
    "operations": operations.stats,
    "workers": workers.stats,
    "gateway": lambda _: gateway.stats(),
    "channel": lambda _: gateway.channel_stats(),
    "codec": lambda _: codec.stats(),
    "console": web_console.stats,
}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}. The groups are {', '.join(GROUPS)}.")
    reaper.start()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    results: Stats = {}
    others = json.loads(RESULTS.read_text()) if names and RESULTS.exists() else {}
    for name in names or GROUPS:
        console.print(f"Measuring {name} ...")
        started = time.monotonic()
        try:
            with tempfile.TemporaryDirectory(dir=".") as folder:
                for group in GROUPS[name](Path(folder)):
                    results |= group
                    # Now, because a later measurement can end the program.
                    RESULTS.write_text(json.dumps(others | results, indent=2) + "\n")
        except ToolMissing as missing:
            if tools.are_required():
                raise SystemExit(str(missing)) from None
            console.print(f"{name} skipped: {missing}")
        console.print(f"  {time.monotonic() - started:,.0f} s")
    table = Table(*HEADER, box=None)
    for cells in rows(results):
        table.add_row(*cells)
    console.print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
