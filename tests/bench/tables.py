"""Updates the tables of benchmarks in the Markdown files from bench.json.

python -m tests.bench.tables
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
RESULTS = Path("bench.json")
HEADER = ("measurement", "Roster", "p50, p99 in ms", "CPU in s", "baseline", "ratio", "target")
# The table in README.md has no targets.
HEADER_IN_README = HEADER[:-1]
# What follows the names of statistics of rates in bench.json.
SUFFIXES = ("_per_second", "_median_ms", "_99th_ms", "_cpu_seconds", "_baseline")


class Row(NamedTuple):
    """A row of the table: a rate, or one value that has an upper bound.

    `name` is that in bench.json. `target` is the lower bound of the ratio to the baseline,
    `at_most` the upper bound of a value in `unit` or of a ratio, and `delays` are those of the
    50th and 99th percentile.
    """

    label: str
    name: str
    unit: str = "requests/s"
    baseline: str = ""
    target: float | None = None
    at_most: float | None = None
    delays: tuple[int, int] | None = None
    in_readme: bool = False

    @property
    def is_rate(self) -> bool:
        return self.at_most is None and self.delays is None

    @property
    def key(self) -> str:
        """The name of a result that the row cannot do without."""
        suffix = "_per_second" if self.is_rate else "_99th_ms" if self.delays else ""
        return self.name + suffix

    @property
    def bound(self) -> str:
        if self.delays is not None:
            return "≤ {:,}, {:,}".format(*self.delays)
        if self.target is not None:
            return f"≥ {self.target:.2f}"
        if self.at_most is not None:
            return f"≤ {self.at_most:g}"
        return ""

    def cells(self, results: Mapping[str, float]) -> list[str]:
        """Returns the cells of the row for some results."""
        value = quantiles = cpu = baseline = ratio = ""
        if self.is_rate:
            value = f"{_rounded(results[self.key])} {self.unit}"
        elif self.at_most is not None and not self.baseline:
            value = f"{_brief(results[self.key])} {self.unit}"
        if f"{self.name}_99th_ms" in results:
            median, last = results[f"{self.name}_median_ms"], results[f"{self.name}_99th_ms"]
            quantiles = f"{_brief(median)}, {_brief(last)}"
        if f"{self.name}_cpu_seconds" in results:
            cpu = f"{results[f'{self.name}_cpu_seconds']:.2g}"
        if self.baseline:
            baseline, ratio = self.baseline, f"{results[self.name]:.2f}"
            if self.is_rate:
                baseline += f": {_rounded(results[f'{self.name}_baseline'])}"
        return [self.label, value, quantiles, cpu, baseline, ratio, self.bound]


def _rounded(rate: float) -> str:
    return f"{round(rate, -2 if rate >= 1_000 else -1):,.0f}"


def _brief(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


AIOHTTP = "bare aiohttp that returns the same bytes"
ON_POSTGRESQL = "the same on PostgreSQL"
ROWS = (
    Row("read by id", "get_by_id", baseline=AIOHTTP, target=0.43, in_readme=True),
    Row(ON_POSTGRESQL, "get_by_id_on_postgresql", in_readme=True),
    Row("page of 20", "page_of_20", baseline=AIOHTTP, target=0.16, in_readme=True),
    Row(ON_POSTGRESQL, "page_of_20_on_postgresql", in_readme=True),
    Row("durable update", "update", in_readme=True),
    Row(ON_POSTGRESQL, "update_on_postgresql", in_readme=True),
    Row("durable create", "create", baseline=AIOHTTP, target=0.22, in_readme=True),
    Row(ON_POSTGRESQL, "create_on_postgresql", in_readme=True),
    Row(
        "bulk of 100",
        "bulk_of_100",
        "rows/s",
        "bare apsw that writes the same rows, 100 per transaction",
        target=0.40,
        in_readme=True,
    ),
    Row(ON_POSTGRESQL, "bulk_of_100_on_postgresql", "rows/s", in_readme=True),
    Row(
        "import of NDJSON",
        "import",
        "rows/s",
        "bare apsw that writes the same rows, 2,000 per transaction",
        target=0.50,
        in_readme=True,
    ),
    Row(ON_POSTGRESQL, "import_on_postgresql", "rows/s", in_readme=True),
    Row(
        "import of CSV with statuses and times",
        "import_csv",
        "rows/s",
        "bare apsw, as above",
        0.50,
    ),
    Row("export with links", "export_links", "rows/s", "without links", 0.50),
    Row(
        "durable create, with a webhook",
        "create_with_a_webhook",
        baseline="without a webhook",
        target=0.70,
    ),
    Row(
        "durable create, with 20 webhooks",
        "create_with_20_webhooks",
        baseline="with one",
        target=0.90,
    ),
    Row(
        "commit to webhook request, at 200 changes/s",
        "webhook",
        delays=(100, 1_000),
        in_readme=True,
    ),
    Row(
        "99th percentile of that, with a hanging endpoint, on files in memory",
        "webhook_99th_with_hanging_endpoint",
        baseline="without it",
        at_most=1.2,
    ),
    Row(
        "99th percentile of reads by id, 500 per second, beside an operation",
        "get_99th_beside_operation",
        baseline="without it",
        at_most=1.5,
    ),
    Row(
        ON_POSTGRESQL,
        "get_99th_beside_operation_on_postgres",
        baseline="without it",
        at_most=1.5,
    ),
    Row("time of an operation per subscriber", "operation_us_per_row", "µs", at_most=200),
    Row(ON_POSTGRESQL, "operation_us_per_row_on_postgres", "µs", at_most=200),
    Row(
        "time of an operation per subscriber, beside these reads",
        "operation_us_per_row_beside_lookups",
        "µs",
        at_most=200,
    ),
    Row(
        ON_POSTGRESQL,
        "operation_us_per_row_beside_lookups_on_postgres",
        "µs",
        at_most=200,
    ),
    Row(
        "read by id, two processes on PostgreSQL",
        "two_workers_get_by_id",
        baseline="one process",
        target=1.6,
    ),
    Row(
        "durable create, two processes on PostgreSQL",
        "two_workers_create",
        baseline="one process",
        target=1.6,
    ),
    Row(
        "gateway over a network channel",
        "gateway_over_grpc",
        baseline="aiohttp and grpc.aio alone",
        target=0.85,
    ),
    *(
        Row(f"a {what} of 100, {done}", f"{verb}_{what}_of_100", "messages/s", "json_format", 8.0)
        for what in ("page", "bulk")
        for verb, done in (("write", "written"), ("read", "read"))
    ),
    Row("a call over the in-process channel", "in_process_call_us", "µs", at_most=10),
    Row("memory that an export of 1,000,000 adds", "export_memory_mib", "MiB", at_most=30),
    Row("idle memory", "idle_memory_mib", "MiB", at_most=120, in_readme=True),
    Row("start until ready", "seconds_to_ready", "s", at_most=2, in_readme=True),
)


def rows(results: Mapping[str, float], *, in_readme: bool = False) -> list[list[str]]:
    """Returns the rows of the table, or of the one in README.md, that have results."""
    width = len(HEADER_IN_README if in_readme else HEADER)
    return [
        row.cells(results)[:width]
        for row in ROWS
        if row.key in results and (row.in_readme or not in_readme)
    ]


def form(cells: Sequence[str]) -> list[str]:
    """Returns what does not depend on the results in a row."""
    label, value, _, _, baseline, ratio, *bound = cells
    return [label, *(re.sub(r"\d[\d,.]*", "#", cell) for cell in (value, baseline, ratio)), *bound]


def updated(text: str, results: Mapping[str, float], *, in_readme: bool = False) -> str:
    """Returns the text of a Markdown file with the table of these results."""
    header = HEADER_IN_README if in_readme else HEADER
    top = f"{_line(header)}\n|{'---|' * len(header)}\n"
    lines = [f"{_line(cells)}\n" for cells in rows(results, in_readme=in_readme)]
    new, tables = re.subn(f"{re.escape(top)}(?:\\|.*\n)*", top + "".join(lines), text)
    if tables != 1:
        raise SystemExit(f"{tables} tables have the header {top!r}, not one")
    return new


def _line(cells: Sequence[str]) -> str:
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def main() -> None:
    results = json.loads(RESULTS.read_text())
    missing = [row.name for row in ROWS if row.key not in results]
    if missing:
        raise SystemExit(f"{RESULTS} has no {', '.join(missing)}: run make bench")
    for path, in_readme in ((ROOT / "README.md", True), (ROOT / "tests/README.md", False)):
        path.write_text(updated(path.read_text(), results, in_readme=in_readme))


if __name__ == "__main__":
    main()
