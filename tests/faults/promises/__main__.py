"""`make faults`: whether Roster keeps its promises under faults.

A short run takes some minutes; ROSTER_FAULTS=full tries as often as is promised, which takes
some hours. Arguments name the promises to try, by the beginning of their names, if not all.
Every figure goes into faults.json.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ... import reaper
from .checker import Figures
from .table import PROMISES, Promise

KEPT = Path("faults.json")


def tried(promise: Promise, rounds: int, console: Console) -> list[str]:
    """Tries a promise, prints and keeps its figures, and returns those that break it."""
    began = time.monotonic()
    try:
        figures = promise.run(rounds)
    except Exception:  # noqa: BLE001 - the others are tried all the same
        traceback.print_exc()
        return [f"{promise.name}: ended early"]
    figures = {"rounds": rounds, **figures, "seconds": round(time.monotonic() - began, 1)}
    console.print(drawn(promise, figures))
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    KEPT.write_text(json.dumps(known | {promise.name: figures}, indent=2) + "\n")
    return [f"{promise.name}: {name}" for name in promise.broken(figures)]


def drawn(promise: Promise, figures: Figures) -> Table:
    """Returns the figures as a table."""
    table = Table(promise.name, "found", "has to be", box=None, min_width=60)
    for name, found in figures.items():
        bounds = [f"at most {promise.at_most[name]:g}"] if name in promise.at_most else []
        bounds += [f"at least {promise.at_least[name]:g}"] if name in promise.at_least else []
        table.add_row(name, f"{found:,g}" if found < 1e6 else f"{found:,}", ", ".join(bounds))
    return table


def main() -> None:
    reaper.start()
    console, names = Console(highlight=False), tuple(sys.argv[1:])
    full = os.environ.get("ROSTER_FAULTS") == "full"
    chosen = [
        (each, each.rounds(full=full))
        for each in PROMISES
        if each.rounds(full=full) and (not names or each.name.startswith(names))
    ]
    broken = [line for promise, rounds in chosen for line in tried(promise, rounds, console)]
    if broken:
        raise SystemExit("Broken: " + ", ".join(broken))
    console.print(f"{len(chosen)} promises kept." if chosen else "There is no such promise.")


if __name__ == "__main__":
    main()
