"""Updates the tables of benchmarks in the Markdown files from bench.json.

python -m tests.bench.tables
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent.parent
RESULTS = Path("bench.json")
DATABASES = ("SQLite", "PostgreSQL")
# Columns for each database.
FIGURES = ("p50, p99 in ms", "CPU in s")
HEADER = (
    "measurement",
    *(column for database in DATABASES for column in (database, *FIGURES)),
    *("baseline", "ratio", "target"),
)
# Columns of the table in README.md.
IN_README = [index for index, name in enumerate(HEADER) if name not in {"CPU in s", "target"}]
# What follows the names of statistics of rates in bench.json.
SUFFIXES = (
    *("_per_second", "_median_ms", "_99th_ms", "_cpu_seconds", "_baseline"),
    *("_lowest", "_highest", "_per_second_lowest", "_per_second_highest"),
)


class Row(NamedTuple):
    """A row of the table: a rate, or one value that has an upper bound.

    `name` is that in bench.json, and `on_postgresql` that of the same measurement on PostgreSQL.
    `target` is the lower bound of the ratio to the baseline, `at_most` the upper bound of a value
    in `unit`, and `delays` are those of the 50th and 99th percentile.
    """

    label: str
    name: str
    unit: str = "requests/s"
    baseline: str = ""
    target: float | None = None
    at_most: float | None = None
    delays: tuple[int, int] | None = None
    in_readme: bool = False
    on_sqlite: bool = True
    on_postgresql: str = ""

    @property
    def is_rate(self) -> bool:
        return self.at_most is None and self.delays is None

    @property
    def names(self) -> tuple[str, str]:
        """The names in bench.json by database, empty if it was not measured on that one."""
        return (self.name if self.on_sqlite else "", self.on_postgresql)

    def is_in(self, results: Mapping[str, float]) -> bool:
        """Whether there are results for all databases of the row."""
        suffix = "_per_second" if self.is_rate else "_99th_ms" if self.delays else ""
        return all(f"{name}{suffix}" in results for name in self.names if name)

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
        figures = [cell for name in self.names for cell in self._figures(name, results)]
        baseline = ratio = ""
        if self.baseline:
            baseline = self.baseline
        if self.baseline and self.is_rate:
            baseline += f": {_rounded(results[f'{self.name}_baseline'])} {self.unit}"
            ratio = f"{results[self.name]:.2f}{_range(self.name, results, '{:.2f}'.format)}"
        return [self.label, *figures, baseline, ratio, self.bound]

    def _figures(self, name: str, results: Mapping[str, float]) -> tuple[str, str, str]:
        """Returns the value, the percentiles and the CPU time on one database."""
        value = percentiles = cpu = ""
        if name and self.is_rate:
            rate = f"{name}_per_second"
            value = f"{_rounded(results[rate])} {self.unit}{_range(rate, results, _rounded)}"
        elif name and self.at_most is not None:
            form, unit = ("{:.2f}".format, "times") if self.baseline else (_brief, self.unit)
            value = f"{form(results[name])} {unit}{_range(name, results, form)}"
        if f"{name}_99th_ms" in results:
            median, last = results[f"{name}_median_ms"], results[f"{name}_99th_ms"]
            percentiles = f"{_brief(median)}, {_brief(last)}"
            percentiles += _range(f"{name}_99th_ms", results, _brief)
        if f"{name}_cpu_seconds" in results:
            cpu = f"{results[f'{name}_cpu_seconds']:.2g}"
        return value, percentiles, cpu


def _range(name: str, results: Mapping[str, float], form: Callable[[float], str]) -> str:
    """Returns the lowest and the highest result in parentheses, if they were recorded."""
    if f"{name}_lowest" not in results:
        return ""
    return f" ({form(results[f'{name}_lowest'])} to {form(results[f'{name}_highest'])})"


def _rounded(rate: float) -> str:
    return f"{round(rate, -2 if rate >= 1_000 else -1):,.0f}"


def _brief(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


AIOHTTP = "bare aiohttp that returns the same bytes"
ROWS = (
    Row(
        "read by id",
        "get_by_id",
        baseline=AIOHTTP,
        target=0.43,
        in_readme=True,
        on_postgresql="get_by_id_on_postgresql",
    ),
    Row(
        "page of 20",
        "page_of_20",
        baseline=AIOHTTP,
        target=0.16,
        in_readme=True,
        on_postgresql="page_of_20_on_postgresql",
    ),
    Row("durable update", "update", in_readme=True, on_postgresql="update_on_postgresql"),
    Row(
        "durable create",
        "create",
        baseline=AIOHTTP,
        target=0.22,
        in_readme=True,
        on_postgresql="create_on_postgresql",
    ),
    Row(
        "bulk of 100",
        "bulk_of_100",
        "rows/s",
        "bare apsw that writes the same rows, 100 per transaction",
        target=0.40,
        in_readme=True,
        on_postgresql="bulk_of_100_on_postgresql",
    ),
    Row(
        "import of NDJSON",
        "import",
        "rows/s",
        "bare apsw that writes the same rows, 2,000 per transaction",
        target=0.50,
        in_readme=True,
        on_postgresql="import_on_postgresql",
    ),
    Row(
        "import of CSV with statuses and times",
        "import_csv",
        "rows/s",
        "bare apsw, as above",
        0.50,
    ),
    Row("export with links", "export_links", "rows/s", "without links", 0.50),
    Row("export to a file", "export_file", "rows/s", "streamed", 1.00),
    Row("import of an uploaded file", "import_file", "rows/s", "streamed", 0.90),
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
        "99th percentile of reads by id, 500 per second, while an operation runs",
        "get_99th_with_operation",
        baseline="without it",
        at_most=1.5,
        on_postgresql="get_99th_with_operation_on_postgres",
    ),
    Row(
        "time of an operation per subscriber",
        "operation_us_per_row",
        "µs",
        at_most=200,
        on_postgresql="operation_us_per_row_on_postgres",
    ),
    Row(
        "time of an operation per subscriber, during these reads",
        "operation_us_per_row_with_lookups",
        "µs",
        at_most=200,
        on_postgresql="operation_us_per_row_with_lookups_on_postgres",
    ),
    Row(
        "read by id, two processes",
        "two_workers_get_by_id",
        baseline="one process",
        target=1.6,
        on_sqlite=False,
        on_postgresql="two_workers_get_by_id",
    ),
    Row(
        "durable create, two processes",
        "two_workers_create",
        baseline="one process",
        target=1.6,
        on_sqlite=False,
        on_postgresql="two_workers_create",
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
    Row(
        "console with 1,000,000 people, until it is usable",
        "console_usable_ms",
        "ms",
        at_most=300,
        in_readme=True,
    ),
    Row(
        "console, until the slowest other view is shown", "console_next_view_ms", "ms", at_most=100
    ),
    Row("console, longest frame of a scroll", "console_longest_frame_ms", "ms", at_most=50),
    Row("console, growth of the heap in 10 minutes", "console_heap_growth_mib", "MiB", at_most=2),
)


def rows(results: Mapping[str, float], *, in_readme: bool = False) -> list[list[str]]:
    """Returns the rows of the table, or of the one in README.md, that have results."""
    return [
        _columns(row.cells(results), in_readme)
        for row in ROWS
        if row.is_in(results) and (row.in_readme or not in_readme)
    ]


def header(*, in_readme: bool = False) -> list[str]:
    """Returns the names of the columns."""
    return _columns(HEADER, in_readme)


def _columns(cells: Sequence[str], in_readme: bool) -> list[str]:
    return [cells[index] for index in IN_README] if in_readme else list(cells)


def form(cells: Sequence[str], names: Sequence[str]) -> list[str]:
    """Returns what does not depend on the results in a row of a table with these columns.

    Percentiles, CPU times and the range of a ratio are not measured for all rows.
    """
    shown = (
        cell.partition(" (")[0]
        for name, cell in zip(names, cells, strict=True)
        if name not in FIGURES
    )
    label, *others = shown
    return [label, *(re.sub(r"\d[\d,.]*", "#", cell) for cell in others)]


def updated(text: str, results: Mapping[str, float], *, in_readme: bool = False) -> str:
    """Returns the text of a Markdown file with the table of these results."""
    names = header(in_readme=in_readme)
    top = f"{_line(names)}\n|{'---|' * len(names)}\n"
    lines = [f"{_line(cells)}\n" for cells in rows(results, in_readme=in_readme)]
    new, tables = re.subn(f"{re.escape(top)}(?:\\|.*\n)*", top + "".join(lines), text)
    if tables != 1:
        raise SystemExit(f"{tables} tables have the header {top!r}, not one")
    return new


def _line(cells: Sequence[str]) -> str:
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def main() -> None:
    results = json.loads(RESULTS.read_text())
    missing = [row.name for row in ROWS if not row.is_in(results)]
    if missing:
        raise SystemExit(f"{RESULTS} has no {', '.join(missing)}: run make bench")
    for path, in_readme in ((ROOT / "README.md", True), (ROOT / "tests/README.md", False)):
        path.write_text(updated(path.read_text(), results, in_readme=in_readme))


if __name__ == "__main__":
    main()
