"""The panels of the dashboard, in the order in which an incident is investigated.

Overall health, then calls and errors, the database, webhooks, operations, and resource usage.
"""

from __future__ import annotations

from typing import NamedTuple

from ..observability import metrics as m
from .queries import CHOSEN, SPAN, mean, now, quantile, rate, total

# Status codes that are errors of the service, not of the client.
FAILED = 'code=~"INTERNAL|UNAVAILABLE|DEADLINE_EXCEEDED|UNKNOWN|DATA_LOSS"'
# Metrics that the Prometheus client library exposes for every process.
CPU, MEMORY = "process_cpu_seconds_total", "process_resident_memory_bytes"
FILES, MOST_FILES = "process_open_fds", "process_max_fds"
STARTED = "process_start_time_seconds"


class Panel(NamedTuple):
    """A graph, or a single number if `is_number`: queries with their legends, and a unit.

    Values above `red_above` are shown in red.
    """

    title: str
    help: str
    unit: str
    queries: tuple[tuple[str, str], ...]
    is_number: bool = False
    red_above: float | None = None


class Row(NamedTuple):
    """A heading and its panels."""

    title: str
    panels: tuple[Panel, ...]


def number(title: str, help: str, unit: str, query: str, red_above: float | None = None) -> Panel:
    return Panel(title, help, unit, ((query, ""),), is_number=True, red_above=red_above)


ROWS = (
    Row(
        "Health",
        (
            number("Calls", "RPCs per second.", "reqps", rate(m.RPC_CALLS)),
            number(
                "Error rate",
                "Share of RPCs that failed with a server error. The log has each under its request"
                " ID.",
                "percentunit",
                f"({rate(m.RPC_CALLS, match=FAILED)} or vector(0)) / {rate(m.RPC_CALLS)}",
                0.01,
            ),
            number(
                "p99 latency",
                "99th percentile of the duration of all RPCs. The panel below splits it by method.",
                "s",
                quantile(0.99, m.RPC_SECONDS),
                1.0,
            ),
            number(
                "Queued writes",
                "A process rejects writes with 503 when more than 2,000 are queued.",
                "short",
                total(m.EXECUTOR_QUEUED, match='executor="writer"'),
                500.0,
            ),
            number(
                "Oldest due delivery",
                "Time since the oldest webhook delivery became due.",
                "s",
                f"max({now(m.WEBHOOK_OLDEST)})",
                300.0,
            ),
            number(
                "Starts in the last hour",
                "Process starts. More than were intended indicate crashes.",
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
                "Calls by RPC",
                "RPCs per second, over gRPC and HTTP.",
                "reqps",
                ((rate(m.RPC_CALLS, "rpc"), "{{rpc}}"),),
            ),
            Panel(
                "Errors by RPC and status",
                "INTERNAL, UNAVAILABLE and DEADLINE_EXCEEDED are server errors; the others are"
                " client errors.",
                "reqps",
                ((rate(m.RPC_CALLS, "rpc", "code", match='code!="OK"'), "{{rpc}} {{code}}"),),
            ),
            Panel(
                "p99 latency by RPC",
                "The duration of imports and exports depends on the client.",
                "s",
                (
                    (quantile(0.99, m.HTTP_SECONDS), "all HTTP requests"),
                    (quantile(0.99, m.RPC_SECONDS, "rpc"), "{{rpc}}"),
                ),
            ),
            Panel(
                "HTTP requests by status",
                "Includes unknown paths. 499: the client closed the connection first.",
                "reqps",
                ((rate(m.HTTP_REQUESTS, "status"), "{{status}}"),),
            ),
            Panel(
                "HTTP bodies",
                "Bytes per second, received and sent.",
                "Bps",
                ((rate(m.HTTP_RECEIVED), "received"), (rate(m.HTTP_SENT), "sent")),
            ),
            Panel(
                "In progress and rejected",
                "RPCs and HTTP requests in progress, open HTTP connections; requests and"
                " connections per second that were rejected with 503.",
                "short",
                (
                    (total(m.RPC_RUNNING), "RPCs"),
                    (total(m.HTTP_RUNNING), "requests"),
                    (total(m.HTTP_CONNECTIONS), "connections"),
                    (rate(m.HTTP_REQUESTS_REJECTED), "requests rejected/s"),
                    (rate(m.HTTP_CONNECTIONS_REJECTED), "connections rejected/s"),
                ),
            ),
        ),
    ),
    Row(
        "Database",
        (
            Panel(
                "Database queue",
                "Queued work items and busy threads of each executor. A queue that stays long"
                " indicates a slow disk or server, or too few connections.",
                "short",
                (
                    (total(m.EXECUTOR_QUEUED, "executor"), "{{executor}} queued"),
                    (total(m.EXECUTOR_BUSY, "executor"), "{{executor}} busy"),
                ),
            ),
            Panel(
                "Connection utilization",
                "Share of the time in which the threads of an executor are busy. Near 100 % the"
                " executor is saturated.",
                "percentunit",
                (
                    (
                        f"{rate(m.EXECUTOR_BUSY_SECONDS, 'executor')}"
                        f" / {total(m.EXECUTOR_THREADS, 'executor')}",
                        "{{executor}}",
                    ),
                ),
            ),
            Panel(
                "Rejected work items",
                "Work items per second rejected because the queue was full or the wait too long."
                " Nothing was changed; clients received 503.",
                "reqps",
                ((rate(m.EXECUTOR_REJECTED, "executor"), "{{executor}}"),),
            ),
            Panel(
                "Commit latency",
                "Duration of commits, until they are durable on the disk or the standby.",
                "s",
                (
                    (quantile(0.5, m.COMMIT_SECONDS), "p50"),
                    (quantile(0.99, m.COMMIT_SECONDS), "p99"),
                ),
            ),
            Panel(
                "Batch size",
                "The SQLite writer commits queued work items in one batch, which grows with load.",
                "short",
                ((mean(m.EXECUTOR_BATCH_SIZE, "executor"), "{{executor}}"),),
            ),
            Panel(
                "SQLite file size",
                "The write-ahead log stays near 4 MiB. It grows while a long read transaction, such"
                " as a backup or a shell, is open.",
                "bytes",
                ((total(m.SQLITE_BYTES, "file"), "{{file}}"),),
            ),
            Panel(
                "Database nodes",
                "Calls for accounts on a node that does not respond fail until it does.",
                "short",
                ((total(m.DATABASE_NODES, "state"), "{{state}}"),),
            ),
        ),
    ),
    Row(
        "Webhooks",
        (
            Panel(
                "Backlog",
                "Deliveries that are due and not completed.",
                "short",
                ((f"max({now(m.WEBHOOK_BACKLOG)})", "due"),),
            ),
            Panel(
                "Age of the oldest delivery",
                "It grows if no worker runs or endpoints are slow.",
                "s",
                ((f"max({now(m.WEBHOOK_OLDEST)})", "oldest"),),
            ),
            Panel(
                "Attempts by outcome",
                "Delivery attempts per second.",
                "reqps",
                ((rate(m.WEBHOOK_ATTEMPTS, "outcome"), "{{outcome}}"),),
            ),
        ),
    ),
    Row(
        "Operations",
        (
            Panel(
                "Subscribers processed",
                "Subscribers that operations have processed, per second.",
                "reqps",
                ((rate(m.OPERATION_SUBSCRIBERS), "subscribers"),),
            ),
            Panel(
                "Time of steps",
                "The share of time in which steps run. Between steps, calls use the writer.",
                "percentunit",
                ((rate(m.OPERATION_STEP_SECONDS), "steps"),),
            ),
        ),
    ),
    Row(
        "Process",
        (
            Panel(
                "CPU usage",
                "A process uses about one core: near 1 it is saturated, and another worker helps.",
                "short",
                ((f"rate({CPU}{{{CHOSEN}}}[{SPAN}])", "{{instance}} {{worker}}"),),
            ),
            Panel(
                "Memory",
                "Resident memory of each process.",
                "bytes",
                ((f"{MEMORY}{{{CHOSEN}}}", "{{instance}} {{worker}}"),),
            ),
            Panel(
                "Descriptors, connections and workers",
                "Shares of the file descriptors and HTTP connections in use; workers whose metrics"
                " cannot be read.",
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
                    (f"{now(m.WORKER_UP)} == 0", "unreachable: {{instance}} {{worker}}"),
                ),
            ),
            Panel(
                "Failures in the background",
                "Failed runs of periodic tasks, and dropped log lines, per second.",
                "short",
                (
                    (rate(m.MAINTENANCE_FAILURES, "task"), "{{task}}"),
                    (rate(m.LOG_LINES_DROPPED), "dropped log lines"),
                ),
            ),
        ),
    ),
)
