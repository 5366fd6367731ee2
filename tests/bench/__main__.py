"""`make bench`: measures the cost of Roster as ratios within one run.

    python -m tests.bench                          all groups of measurements
    python -m tests.bench requests gateway         some of them; bench.json keeps the other results

Machines differ and are shared, so each measurement runs in turns with its baseline and the
median of the ratios is reported. The service runs with default settings, in one process, at 32
connections; on PostgreSQL two processes are compared with one. ROSTER_BENCH=short runs each
benchmark briefly, which only checks that it works.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .. import reaper, tools
from ..memory import folder as memory_folder
from ..processes import Service, start
from . import codec, compared_with_apsw, gateway, requests_on_databases, webhooks, workers
from .measurement import Figures, ToolMissing
from .memory import export_memory_mib, seconds_to_ready
from .subjects import on_databases
from .tables import HEADER, RESULTS, rows
from .transfers import IMPORT_ROWS, exports_with_links, import_rows


@contextmanager
def _service(folder: Path) -> Iterator[Service]:
    service = start(folder, **webhooks.SETTINGS)
    try:
        yield service
    finally:
        service.stop()


def _requests(folder: Path) -> Iterator[Figures]:
    with on_databases(folder) as subjects:
        yield from requests_on_databases.stats(subjects)


def _imports(folder: Path) -> Iterator[Figures]:
    with on_databases(folder) as subjects:
        yield from compared_with_apsw.stats(subjects)


def _exports(folder: Path) -> Iterator[Figures]:
    with _service(folder) as service:
        import_rows(service, IMPORT_ROWS)
        yield exports_with_links(service)
        yield export_memory_mib(service)


def _webhooks(folder: Path) -> Iterator[Figures]:
    with _service(folder) as service:
        yield from webhooks.stats(service)


def _deliveries(folder: Path) -> Iterator[Figures]:
    with _service(folder) as service:
        yield webhooks.delays(service)
    with memory_folder() as path:
        yield webhooks.with_hanging_endpoint(path)


# The columns of output that is not a terminal.
WIDTH = 180
# Each measures in a new folder.
GROUPS: dict[str, Callable[[Path], Iterator[Figures]]] = {
    "start": lambda folder: iter([seconds_to_ready(folder)]),
    "requests": _requests,
    "imports": _imports,
    "exports": _exports,
    "webhooks": _webhooks,
    "deliveries": _deliveries,
    "workers": workers.stats,
    "gateway": lambda _: gateway.stats(),
    "channel": lambda _: gateway.channel(),
    "codec": lambda _: codec.stats(),
}


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in GROUPS]
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}. The groups are {', '.join(GROUPS)}.")
    reaper.start()
    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    results: Figures = {}
    for name in names or GROUPS:
        try:
            with tempfile.TemporaryDirectory(dir=".") as folder:
                for figures in GROUPS[name](Path(folder)):
                    results |= figures
        except ToolMissing as missing:
            if tools.are_required():
                raise SystemExit(str(missing)) from None
            console.print(f"{name} skipped: {missing}")
    table = Table(*HEADER, box=None)
    for cells in rows(results):
        table.add_row(*cells)
    console.print(table)
    others = json.loads(RESULTS.read_text()) if names and RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(others | results, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
