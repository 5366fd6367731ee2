"""Declares the metrics. The exposition and the documented table use these rows.

Names follow the Prometheus conventions: base units, and `_total` for counters. Label values
come from a small, fixed set: never an account, an ID or a path that a client has sent.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ..values.histogram import Histogram


class Kind(Enum):
    """The Prometheus metric types in use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """The name, type, help text and label names of a metric."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


class Sample(NamedTuple):
    """The current value of a metric for one combination of label values."""

    metric: Metric
    value: float | Histogram
    labels: tuple[str, ...] = ()


BUILD = Metric(
    "roster_build_info", Kind.GAUGE, "Always 1; the label contains the version.", ("version",)
)
RPC_CALLS = Metric(
    "roster_rpc_calls_total",
    Kind.COUNTER,
    "Completed RPCs, by method and gRPC status code.",
    ("rpc", "code"),
)
RPC_SECONDS = Metric(
    "roster_rpc_duration_seconds", Kind.HISTOGRAM, "Duration of completed RPCs.", ("rpc",)
)
RPC_RUNNING = Metric("roster_rpc_in_flight", Kind.GAUGE, "RPCs in progress.")
HTTP_REQUESTS = Metric(
    "roster_http_requests_total",
    Kind.COUNTER,
    "Completed HTTP requests, by RPC or page (`none` for an unknown path) and status code;"
    " 499 if the client closed the connection first.",
    ("route", "status"),
)
HTTP_SECONDS = Metric(
    "roster_http_request_duration_seconds",
    Kind.HISTOGRAM,
    "Duration of completed HTTP requests, from the end of the request headers.",
    ("route",),
)
HTTP_RUNNING = Metric("roster_http_requests_in_flight", Kind.GAUGE, "HTTP requests in progress.")
HTTP_RECEIVED = Metric(
    "roster_http_received_bytes_total", Kind.COUNTER, "Bytes of HTTP request bodies received."
)
HTTP_SENT = Metric(
    "roster_http_sent_bytes_total", Kind.COUNTER, "Bytes of HTTP response bodies sent."
)
HTTP_CONNECTIONS = Metric("roster_http_connections", Kind.GAUGE, "Open HTTP connections.")
HTTP_CONNECTIONS_LIMIT = Metric(
    "roster_http_connections_limit", Kind.GAUGE, "Maximum number of open HTTP connections."
)
HTTP_CONNECTIONS_REJECTED = Metric(
    "roster_http_connections_rejected_total",
    Kind.COUNTER,
    "HTTP connections rejected because the limit was reached.",
)
HTTP_REQUESTS_REJECTED = Metric(
    "roster_http_requests_rejected_total",
    Kind.COUNTER,
    "HTTP requests rejected because the server was overloaded.",
)
EXECUTOR_QUEUED = Metric(
    "roster_executor_queue_length",
    Kind.GAUGE,
    "Work items waiting for a database thread of an executor (the writer or the readers).",
    ("executor",),
)
EXECUTOR_REJECTED = Metric(
    "roster_executor_rejected_total",
    Kind.COUNTER,
    "Work items rejected because the queue was full or the wait too long.",
    ("executor",),
)
EXECUTOR_BATCH_SIZE = Metric(
    "roster_executor_batch_size", Kind.HISTOGRAM, "Work items per batch.", ("executor",)
)
EXECUTOR_THREADS = Metric(
    "roster_executor_threads",
    Kind.GAUGE,
    "Database threads of an executor, each with its own connection.",
    ("executor",),
)
EXECUTOR_BUSY = Metric(
    "roster_executor_busy_threads", Kind.GAUGE, "Database threads currently busy.", ("executor",)
)
EXECUTOR_BUSY_SECONDS = Metric(
    "roster_executor_busy_seconds_total",
    Kind.COUNTER,
    "Total time that database threads were busy. The executor is saturated if the rate reaches"
    " `roster_executor_threads`.",
    ("executor",),
)
COMMIT_SECONDS = Metric(
    "roster_commit_duration_seconds",
    Kind.HISTOGRAM,
    "Duration of commits, until they were durable.",
)
SQLITE_BYTES = Metric(
    "roster_sqlite_file_size_bytes",
    Kind.GAUGE,
    "Size of the SQLite database file (`database`) and its write-ahead log (`wal`).",
    ("file",),
)
DATABASE_NODES = Metric(
    "roster_database_nodes",
    Kind.GAUGE,
    "Nodes of a distributed database that store accounts, by whether they respond to this process:"
    " `responding` or `not_responding`.",
    ("state",),
)
WEBHOOK_BACKLOG = Metric(
    "roster_webhook_backlog", Kind.GAUGE, "Webhook deliveries that are due and not completed."
)
WEBHOOK_OLDEST = Metric(
    "roster_webhook_oldest_age_seconds",
    Kind.GAUGE,
    "Time since the oldest of these deliveries became due.",
)
WEBHOOK_ATTEMPTS = Metric(
    "roster_webhook_attempts_total",
    Kind.COUNTER,
    "Webhook delivery attempts, by outcome.",
    ("outcome",),
)
OPERATION_SUBSCRIBERS = Metric(
    "roster_operation_subscribers_total",
    Kind.COUNTER,
    "Subscribers that operations of this process have processed.",
)
OPERATION_STEP_SECONDS = Metric(
    "roster_operation_step_seconds_total",
    Kind.COUNTER,
    "Time that steps of operations took.",
)
MAINTENANCE_FAILURES = Metric(
    "roster_maintenance_failures_total",
    Kind.COUNTER,
    "Runs of periodic tasks, such as backups, that failed. Also a purge that failed for some"
    " accounts only.",
    ("task",),
)
LOG_LINES_DROPPED = Metric(
    "roster_log_lines_dropped_total",
    Kind.COUNTER,
    "Log lines that were not written, because standard error accepted no more.",
)
WORKER_UP = Metric(
    "roster_worker_up",
    Kind.GAUGE,
    "1 for each process of `--workers` whose metrics could be read, otherwise 0.",
    ("worker",),
)

METRICS: tuple[Metric, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Metric)
)
