"""The metrics, one row each: the exposition, the documented table and the dashboard follow them.

Names follow the conventions of Prometheus: base units, and `_total` for what only grows.
The values of a label are few and known beforehand: never an account, an id or a path
that a client has sent.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ..histogram import Histogram


class Kind(Enum):
    """What Prometheus makes of the values."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """A metric: its name, what its values are, what they mean, and the names of its labels."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()


class Sample(NamedTuple):
    """A value of a metric at this moment, for these values of its labels."""

    metric: Metric
    value: float | Histogram
    labels: tuple[str, ...] = ()


BUILD = Metric("roster_build_info", Kind.GAUGE, "1, labelled with the version.", ("version",))
RPC_CALLS = Metric(
    "roster_rpc_calls_total",
    Kind.COUNTER,
    "Calls of the services that ended, by rpc and gRPC status.",
    ("rpc", "code"),
)
RPC_SECONDS = Metric(
    "roster_rpc_duration_seconds", Kind.HISTOGRAM, "How long those calls took.", ("rpc",)
)
RPC_RUNNING = Metric("roster_rpc_running", Kind.GAUGE, "Calls of the services under way.")
HTTP_REQUESTS = Metric(
    "roster_http_requests_total",
    Kind.COUNTER,
    "Requests over HTTP that ended, by rpc, page or `none`; 499 where the client left first.",
    ("route", "status"),
)
HTTP_SECONDS = Metric(
    "roster_http_duration_seconds",
    Kind.HISTOGRAM,
    "How long those requests took, once their heads had arrived.",
    ("route",),
)
HTTP_RUNNING = Metric("roster_http_running", Kind.GAUGE, "Requests over HTTP under way.")
HTTP_RECEIVED = Metric(
    "roster_http_received_bytes_total", Kind.COUNTER, "Bytes of the bodies of requests."
)
HTTP_SENT = Metric("roster_http_sent_bytes_total", Kind.COUNTER, "Bytes of the bodies of answers.")
HTTP_CONNECTIONS = Metric("roster_http_connections", Kind.GAUGE, "Open connections over HTTP.")
HTTP_CONNECTIONS_LIMIT = Metric(
    "roster_http_connections_limit", Kind.GAUGE, "Connections over HTTP that there is room for."
)
HTTP_CONNECTIONS_REFUSED = Metric(
    "roster_http_connections_refused_total",
    Kind.COUNTER,
    "Connections over HTTP that there was no room for.",
)
HTTP_REQUESTS_SHED = Metric(
    "roster_http_requests_refused_total",
    Kind.COUNTER,
    "Requests over HTTP that were refused since there was too much to do.",
)
EXECUTOR_QUEUED = Metric(
    "roster_lane_waiting",
    Kind.GAUGE,
    "Units of work that wait for a thread of a lane: `writer`, or readers.",
    ("lane",),
)
EXECUTOR_REJECTED = Metric(
    "roster_lane_refused_total",
    Kind.COUNTER,
    "Units of work that were refused since the queue was full or the wait too long.",
    ("lane",),
)
EXECUTOR_BATCH_SIZE = Metric(
    "roster_lane_batch_size", Kind.HISTOGRAM, "Units of work in one batch of a lane.", ("lane",)
)
EXECUTOR_THREADS = Metric(
    "roster_lane_threads",
    Kind.GAUGE,
    "Threads of a lane, each with a connection to the database.",
    ("lane",),
)
EXECUTOR_BUSY = Metric("roster_lane_busy", Kind.GAUGE, "Those of them that work now.", ("lane",))
EXECUTOR_BUSY_SECONDS = Metric(
    "roster_lane_busy_seconds_total",
    Kind.COUNTER,
    "Seconds that they have worked, added up: a rate as high as `roster_lane_threads` is full use.",
    ("lane",),
)
COMMIT_SECONDS = Metric(
    "roster_commit_duration_seconds",
    Kind.HISTOGRAM,
    "How long commits took, until they were durable.",
)
SQLITE_BYTES = Metric(
    "roster_sqlite_bytes",
    Kind.GAUGE,
    "Size of the SQLite file (`database`) and of its write-ahead log (`wal`).",
    ("file",),
)
WEBHOOK_BACKLOG = Metric(
    "roster_webhook_backlog", Kind.GAUGE, "Deliveries to webhooks that are due and not done."
)
WEBHOOK_OLDEST = Metric(
    "roster_webhook_oldest_age_seconds", Kind.GAUGE, "For how long the oldest of them has been due."
)
WEBHOOK_ATTEMPTS = Metric(
    "roster_webhook_attempts_total",
    Kind.COUNTER,
    "Attempts to deliver to webhooks, by outcome.",
    ("outcome",),
)
WORKER_UP = Metric(
    "roster_worker_up",
    Kind.GAUGE,
    "1 for each process of `--workers` that told its figures, 0 for one that did not.",
    ("worker",),
)

METRICS: tuple[Metric, ...] = tuple(
    value for value in list(globals().values()) if isinstance(value, Metric)
)
