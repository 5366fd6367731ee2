"""Metric sources for the database and the HTTP server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from ..storage.executor.database import ExecutorDatabase
from ..storage.schema_version import PROGRAM_VERSION
from . import metrics
from .exposition import Source
from .log_writer import LogWriter
from .metrics import Sample


class HttpLoad(Protocol):
    """The load of an HTTP server, with the number of requests rejected because of overload."""

    rejected: int


class HttpServer(Protocol):
    """An HTTP server with a connection limit."""

    # The maximum number of open connections, and how many connections were rejected at it.
    capacity: int
    rejected: int

    @property
    def load(self) -> HttpLoad:
        """The current load."""

    @property
    def connections(self) -> list[Any]:
        """The open connections."""


def of_database(database: ExecutorDatabase) -> Source:
    """Returns the metric source of an open database."""
    schema_version = PROGRAM_VERSION

    def samples() -> Iterable[Sample]:
        for executor in database.executors:
            stats, name = executor.stats, (executor.name,)
            yield Sample(metrics.EXECUTOR_QUEUED, executor.waiting, name)
            yield Sample(metrics.EXECUTOR_REJECTED, stats.rejected, name)
            yield Sample(metrics.EXECUTOR_WAIT_SECONDS, stats.waits, name)
            yield Sample(metrics.EXECUTOR_BATCH_SIZE, stats.batches, name)
            yield Sample(metrics.EXECUTOR_THREADS, stats.threads, name)
            yield Sample(metrics.EXECUTOR_BUSY, stats.busy, name)
            yield Sample(metrics.EXECUTOR_BUSY_SECONDS, stats.busy_seconds, name)
        yield Sample(metrics.COMMIT_SECONDS, database.executors[0].stats.commits)
        for file, size in database.bytes_on_disk().items():
            yield Sample(metrics.SQLITE_BYTES, size, (file,))
        free = database.free_bytes()
        if free is not None:
            yield Sample(metrics.DATABASE_FREE, free)
        yield Sample(metrics.SCHEMA_VERSION, schema_version)
        if nodes := database.nodes():
            responding = sum(nodes.values())
            yield Sample(metrics.DATABASE_NODES, responding, ("responding",))
            yield Sample(metrics.DATABASE_NODES, len(nodes) - responding, ("not_responding",))

    return samples


class Runner(Protocol):
    """A runner of operations: the subscribers and events processed, and the seconds of steps."""

    processed: int
    seconds: float


def of_operations(runner: Runner) -> Source:
    """Returns the metric source of the operations of a process."""

    def samples() -> Iterable[Sample]:
        yield Sample(metrics.OPERATION_ITEMS, runner.processed)
        yield Sample(metrics.OPERATION_STEP_SECONDS, runner.seconds)

    return samples


def of_maintenance(failures: Mapping[str, int]) -> Source:
    """Returns the metric source of periodic tasks, from their failed runs by name."""
    return lambda: [
        Sample(metrics.MAINTENANCE_FAILURES, count, (task,)) for task, count in failures.items()
    ]


class Backups(Protocol):
    """Scheduled backups.

    `newest` is the time of the newest one in seconds since 1970, 0 if there is none; None before
    the first check of the folder.
    """

    newest: float | None


def of_backups(backups: Backups) -> Source:
    """Returns the metric source of scheduled backups."""

    def samples() -> Iterable[Sample]:
        if backups.newest is not None:
            yield Sample(metrics.BACKUP_TIME, backups.newest)

    return samples


def of_log(writer: LogWriter) -> Source:
    """Returns the metric source of the log."""
    return lambda: [Sample(metrics.LOG_LINES_DROPPED, writer.dropped)]


def of_http(server: HttpServer) -> Source:
    """Returns the metric source of an HTTP server."""

    def samples() -> Iterable[Sample]:
        yield Sample(metrics.HTTP_CONNECTIONS, len(server.connections))
        yield Sample(metrics.HTTP_CONNECTIONS_LIMIT, server.capacity)
        yield Sample(metrics.HTTP_CONNECTIONS_REJECTED, server.rejected)
        yield Sample(metrics.HTTP_REQUESTS_REJECTED, server.load.rejected)

    return samples
