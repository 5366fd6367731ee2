"""What the dashboard shows, in the order in which one asks when something is wrong.

Is it well; what is called, and what fails; where does the time go; do events leave; what
does the process itself take.
"""

from __future__ import annotations

from typing import NamedTuple

from ..observability import metrics as m
from .queries import CHOSEN, SPAN, mean, now, quantile, rate, total

# Statuses that are the service's fault, not the caller's.
FAILED = 'code=~"INTERNAL|UNAVAILABLE|DEADLINE_EXCEEDED|UNKNOWN|DATA_LOSS"'
# What the Prometheus client tells of every process.
CPU, MEMORY = "process_cpu_seconds_total", "process_resident_memory_bytes"
FILES, MOST_FILES = "process_open_fds", "process_max_fds"
STARTED = "process_start_time_seconds"


class Panel(NamedTuple):
    """A graph, or one number where it `is_number`: queries with their legends, and its unit.

    Beyond `alarming` a value is red.
    """

    title: str
    help: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    is_number: bool = False
    alarming: float | None = None


class Row(NamedTuple):
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...]


def number(title: str, help: str, unit: str, query: str, alarming: float | None = None) -> Panel:
    """Returns a panel of one number."""
    return Panel(title, help, unit, ((query, ""),), is_number=True, alarming=alarming)


ROWS = (
    Row(
        "Is it well?",
        (
            number("Calls", "Calls of the services in a second.", "reqps", rate(m.RPC_CALLS)),
            number(
                "Failing",
                "Share of calls that failed by no fault of the caller. The log has the story of"
                " each under its request id.",
                "percentunit",
                f"({rate(m.RPC_CALLS, match=FAILED)} or vector(0)) / {rate(m.RPC_CALLS)}",
                0.01,
            ),
            number(
                "99 % take less than",
                "Of all calls. Which are slow is shown below.",
                "s",
                quantile(0.99, m.RPC_SECONDS),
                1.0,
            ),
            number(
                "Writes waiting",
                "Beyond 2,000 in a process callers are refused with 503.",
                "short",
                total(m.EXECUTOR_QUEUED, match='lane="writer"'),
                500.0,
            ),
            number(
                "Oldest event due",
                "For how long the oldest delivery to a webhook has been due.",
                "s",
                f"max({now(m.WEBHOOK_OLDEST)})",
                300.0,
            ),
            number(
                "Starts in an hour",
                "Processes that were started: more than those that were meant to be have crashed.",
                "short",
                f"sum(changes({STARTED}{{{CHOSEN}}}[1h]))",
                1.0,
            ),
        ),
    ),
    Row(
        "Calls",
        (
            Panel(
                "Calls by rpc",
                "Calls in a second, over both fronts.",
                "reqps",
                ((rate(m.RPC_CALLS, "rpc"), "{{rpc}}"),),
            ),
            Panel(
                "Not OK, by rpc and status",
                "INVALID_ARGUMENT and the like are the caller's; INTERNAL, UNAVAILABLE and"
                " DEADLINE_EXCEEDED are the service's.",
                "reqps",
                ((rate(m.RPC_CALLS, "rpc", "code", match='code!="OK"'), "{{rpc}} {{code}}"),),
            ),
            Panel(
                "99 % of calls take less than",
                "Imports and exports last as long as their clients take.",
                "s",
                (
                    (quantile(0.99, m.HTTP_SECONDS), "HTTP, all together"),
                    (quantile(0.99, m.RPC_SECONDS, "rpc"), "{{rpc}}"),
                ),
            ),
            Panel(
                "Requests over HTTP by status",
                "Those at no path (`none`) included. 499: the client left first.",
                "reqps",
                ((rate(m.HTTP_REQUESTS, "status"), "{{status}}"),),
            ),
            Panel(
                "Bodies over HTTP",
                "Bytes in a second, received and sent.",
                "Bps",
                ((rate(m.HTTP_RECEIVED), "received"), (rate(m.HTTP_SENT), "sent")),
            ),
            Panel(
                "Under way, and turned away",
                "Calls that run, open connections over HTTP; and in a second, requests and"
                " connections that there was no room for, which got 503.",
                "short",
                (
                    (total(m.RPC_RUNNING), "rpcs"),
                    (total(m.HTTP_RUNNING), "requests"),
                    (total(m.HTTP_CONNECTIONS), "connections"),
                    (rate(m.HTTP_REQUESTS_SHED), "requests refused/s"),
                    (rate(m.HTTP_CONNECTIONS_REFUSED), "connections refused/s"),
                ),
            ),
        ),
    ),
    Row(
        "Database",
        (
            Panel(
                "Waiting for the database",
                "Units of work in the queue of each lane. One that stays long has a slow disk or"
                " server, or more load than there are connections.",
                "short",
                ((total(m.EXECUTOR_QUEUED, "lane"), "{{lane}}"),),
            ),
            Panel(
                "Use of the connections",
                "Share of the time in which the threads of a lane, each with a connection, work."
                " Near 100 % the lane is full.",
                "percentunit",
                (
                    (
                        f"{rate(m.EXECUTOR_BUSY_SECONDS, 'lane')}"
                        f" / {total(m.EXECUTOR_THREADS, 'lane')}",
                        "{{lane}}",
                    ),
                ),
            ),
            Panel(
                "Work refused",
                "Units of work in a second that were refused since too much waited or none was free"
                " in time. Nothing was changed; callers got 503.",
                "reqps",
                ((rate(m.EXECUTOR_REJECTED, "lane"), "{{lane}}"),),
            ),
            Panel(
                "Commits take",
                "Until they are durable: what a disk, or a standby, takes.",
                "s",
                (
                    (quantile(0.5, m.COMMIT_SECONDS), "half less than"),
                    (quantile(0.99, m.COMMIT_SECONDS), "99 % less than"),
                ),
            ),
            Panel(
                "Units of work in a batch",
                "SQLite's writer commits together what had waited: it grows with the load.",
                "short",
                ((mean(m.EXECUTOR_BATCH_SIZE, "lane"), "{{lane}}"),),
            ),
            Panel(
                "SQLite's files",
                "The write-ahead log stays near 4 MiB. One that grows is held by a reader that does"
                " not end, such as a backup or a shell.",
                "bytes",
                ((total(m.SQLITE_BYTES, "file"), "{{file}}"),),
            ),
        ),
    ),
    Row(
        "Webhooks",
        (
            Panel(
                "Backlog",
                "Deliveries that are due and not done.",
                "short",
                ((f"max({now(m.WEBHOOK_BACKLOG)})", "due"),),
            ),
            Panel(
                "Age of the oldest",
                "It grows where no worker runs, or endpoints are slow.",
                "s",
                ((f"max({now(m.WEBHOOK_OLDEST)})", "oldest"),),
            ),
            Panel(
                "Attempts by outcome",
                "In a second.",
                "reqps",
                ((rate(m.WEBHOOK_ATTEMPTS, "outcome"), "{{outcome}}"),),
            ),
        ),
    ),
    Row(
        "Process",
        (
            Panel(
                "Processors in use",
                "A process answers on one: near 1 it is full, and another worker would help.",
                "short",
                ((f"rate({CPU}{{{CHOSEN}}}[{SPAN}])", "{{instance}} {{worker}}"),),
            ),
            Panel(
                "Memory",
                "What the processes hold.",
                "bytes",
                ((f"{MEMORY}{{{CHOSEN}}}", "{{instance}} {{worker}}"),),
            ),
            Panel(
                "Room for connections, and workers",
                "Shares of the file descriptors and of the connections over HTTP that are taken;"
                " workers that do not tell their figures.",
                "percentunit",
                (
                    (
                        f"{FILES}{{{CHOSEN}}} / {MOST_FILES}{{{CHOSEN}}}",
                        "descriptors {{instance}} {{worker}}",
                    ),
                    (
                        f"{total(m.HTTP_CONNECTIONS)} / {total(m.HTTP_CONNECTIONS_LIMIT)}",
                        "connections",
                    ),
                    (f"{now(m.WORKER_UP)} == 0", "silent: {{instance}} {{worker}}"),
                ),
            ),
        ),
    ),
)
