"""`make faults`: checks Roster's promises under faults.

A short run takes some minutes. ROSTER_FAULTS=full runs the documented number of repetitions,
which takes hours. Arguments select promises by the beginning of their names; without any, all
run. Results are written to faults.json.
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

from ... import fork_server, reaper
from .checker import Results
from .table import PROMISES, Promise

RESULTS_FILE = Path("faults.json")


def check_promise(promise: Promise, repetitions: int, console: Console) -> list[str]:
    """Returns the broken bounds. A run that only reached too little runs once more.

    One that found a loss, or ended with an error, does not.
    """
    broken = run_promise(promise, repetitions, console)
    if broken and promise.at_least.keys() >= set(broken):
        console.print(f"{promise.name} runs once more, because it checked too little.")
        broken = run_promise(promise, repetitions, console)
    return [f"{promise.name}: {name}" for name in broken]


def run_promise(promise: Promise, repetitions: int, console: Console) -> list[str]:
    """Checks a promise, prints and stores its results, and returns the broken bounds."""
    began = time.monotonic()
    try:
        results = promise.run(repetitions)
    except Exception:  # noqa: BLE001 - the other promises still run
        traceback.print_exc()
        return ["ended early"]
    results = {"repetitions": repetitions, **results, "seconds": round(time.monotonic() - began, 1)}
    console.print(results_table(promise, results))
    known = json.loads(RESULTS_FILE.read_text()) if RESULTS_FILE.exists() else {}
    RESULTS_FILE.write_text(json.dumps(known | {promise.name: results}, indent=2) + "\n")
    return promise.broken(results)


def results_table(promise: Promise, results: Results) -> Table:
    table = Table(promise.name, "result", "bound", box=None, min_width=60)
    for name, found in results.items():
        bounds = [f"at most {promise.at_most[name]:g}"] if name in promise.at_most else []
        bounds += [f"at least {promise.at_least[name]:g}"] if name in promise.at_least else []
        table.add_row(name, f"{found:,g}" if found < 1e6 else f"{found:,}", ", ".join(bounds))
    return table


def main() -> None:
    reaper.start()
    fork_server.enable()
    console, names = Console(highlight=False), tuple(sys.argv[1:])
    full = os.environ.get("ROSTER_FAULTS") == "full"
    chosen = [
        (item, item.repetitions(full=full))
        for item in PROMISES
        if item.repetitions(full=full) and (not names or item.name.startswith(names))
    ]
    for promise, _ in chosen:
        if missing := promise.needs():
            console.print(f"{promise.name} is skipped: {missing}.")
    runnable = [(promise, count) for promise, count in chosen if not promise.needs()]
    broken = [
        line
        for promise, repetitions in runnable
        for line in check_promise(promise, repetitions, console)
    ]
    if broken:
        raise SystemExit("Broken: " + ", ".join(broken))
    console.print(f"{len(runnable)} promises kept." if chosen else "No promise has such a name.")


if __name__ == "__main__":
    main()
