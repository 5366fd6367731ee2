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


def counter(name: str, help: str, *labels: str) -> Metric:
    return Metric(name, Kind.COUNTER, help, labels)


def gauge(name: str, help: str, *labels: str) -> Metric:
    return Metric(name, Kind.GAUGE, help, labels)


def histogram(name: str, help: str, *labels: str) -> Metric:
    return Metric(name, Kind.HISTOGRAM, help, labels)


BUILD = gauge("roster_build_info", "Always 1; the label contains the version.", "version")
READY = gauge(
    "roster_ready",
    "1 if the process can take calls, otherwise 0. A gateway can if a server is reachable.",
)
RPC_CALLS = counter(
    "roster_rpc_calls_total", "Completed RPCs, by method and gRPC status code.", "rpc", "code"
)
RPC_SECONDS = histogram("roster_rpc_duration_seconds", "Duration of completed RPCs.", "rpc")
RPC_RUNNING = gauge("roster_rpc_calls_in_flight", "RPCs in progress.")
HTTP_REQUESTS = counter(
    "roster_http_requests_total",
    "Completed HTTP requests, by RPC or page (`none` for an unknown path) and status code;"
    " 499 if the client closed the connection first.",
    "route",
    "status",
)
HTTP_SECONDS = histogram(
    "roster_http_request_duration_seconds",
    "Duration of completed HTTP requests, from the end of the request headers.",
    "route",
)
HTTP_RUNNING = gauge("roster_http_requests_in_flight", "HTTP requests in progress.")
HTTP_RECEIVED = counter(
    "roster_http_request_body_bytes_total", "Bytes of HTTP request bodies received."
)
HTTP_SENT = counter("roster_http_response_body_bytes_total", "Bytes of HTTP response bodies sent.")
HTTP_CONNECTIONS = gauge("roster_http_connections", "Open HTTP connections.")
HTTP_CONNECTIONS_LIMIT = gauge(
    "roster_http_connections_limit", "Maximum number of open HTTP connections."
)
HTTP_CONNECTIONS_REJECTED = counter(
    "roster_http_connections_rejected_total",
    "HTTP connections rejected because the limit was reached.",
)
HTTP_REQUESTS_REJECTED = counter(
    "roster_http_requests_rejected_total",
    "HTTP requests rejected because the server was overloaded.",
)
EXECUTOR_QUEUED = gauge(
    "roster_executor_queue_length",
    "Work items waiting for a database thread of an executor (the writer or the readers).",
    "executor",
)
EXECUTOR_REJECTED = counter(
    "roster_executor_work_items_rejected_total",
    "Work items rejected because the queue was full or the wait too long.",
    "executor",
)
EXECUTOR_WAIT_SECONDS = histogram(
    "roster_executor_wait_seconds",
    "Time that work items waited for a database thread of an executor, each of which has its own"
    " connection.",
    "executor",
)
EXECUTOR_BATCH_SIZE = histogram(
    "roster_executor_batch_work_items", "Work items per batch.", "executor"
)
EXECUTOR_THREADS = gauge(
    "roster_executor_threads",
    "Database threads of an executor, each with its own connection.",
    "executor",
)
EXECUTOR_BUSY = gauge(
    "roster_executor_threads_busy", "Database threads currently busy.", "executor"
)
EXECUTOR_BUSY_SECONDS = counter(
    "roster_executor_thread_busy_seconds_total",
    "Total time that database threads were busy. The executor is saturated if the rate reaches"
    " `roster_executor_threads`.",
    "executor",
)
COMMIT_SECONDS = histogram(
    "roster_commit_duration_seconds", "Duration of commits, until they were durable."
)
SQLITE_BYTES = gauge(
    "roster_sqlite_file_size_bytes",
    "Size of the SQLite database file (`database`) and its write-ahead log (`wal`).",
    "file",
)
DATABASE_FREE = gauge(
    "roster_database_free_bytes", "Free space of the disk with the SQLite database file."
)
SCHEMA_VERSION = gauge(
    "roster_database_schema_version",
    "Number of the newest schema migration that this process has applied or found applied.",
)
DATABASE_NODES = gauge(
    "roster_database_nodes",
    "Nodes of a distributed database that store accounts, by whether they respond to this process:"
    " `responding` or `not_responding`.",
    "state",
)
WEBHOOK_BACKLOG = gauge(
    "roster_webhook_deliveries_due", "Webhook deliveries that are due and not completed."
)
WEBHOOK_OLDEST = gauge(
    "roster_webhook_deliveries_due_oldest_age_seconds",
    "Time since the oldest of these deliveries became due, or since the oldest event without"
    " deliveries yet, if that is longer.",
)
WEBHOOK_ATTEMPTS = counter(
    "roster_webhook_attempts_total", "Webhook delivery attempts, by outcome.", "outcome"
)
OPERATION_ITEMS = counter(
    "roster_operation_items_processed_total",
    "Subscribers, and events of replays, that this process has processed in operations, including"
    " those that were canceled later.",
)
OPERATION_STEP_SECONDS = counter(
    "roster_operation_step_seconds_total", "Time that steps of operations took."
)
MAINTENANCE_FAILURES = counter(
    "roster_maintenance_failures_total",
    "Runs of periodic tasks, such as backups, that failed. Also a purge that failed for some"
    " accounts only.",
    "task",
)
BACKUP_TIME = gauge(
    "roster_backup_last_success_timestamp_seconds",
    "Time of the newest backup in `ROSTER_BACKUP_FOLDER`, since 1970; 0 if it has none.",
)
CERTIFICATE_EXPIRY = gauge(
    "roster_tls_certificate_expiry_timestamp_seconds",
    "Time, since 1970, at which the first certificate in the file of a setting expires; of CA"
    " certificates the last one.",
    "setting",
)
LOG_LINES_DROPPED = counter(
    "roster_log_lines_dropped_total",
    "Log lines that were not written, because standard error accepted no more.",
)
PROCESS_UP = gauge(
    "roster_process_up",
    "1 for each process of `--processes` whose metrics could be read, otherwise 0.",
    "process",
)

METRICS: tuple[Metric, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Metric)
)
