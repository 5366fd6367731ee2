"""What the parts of a process tell of themselves, in metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from ..storage.executor.stats import Measured
from . import metrics
from .exposition import Source
from .metrics import Sample


class HttpLoad(Protocol):
    """What it has to do: how many requests were refused since that was too much."""

    refused: int


class HttpServer(Protocol):
    """What accepts connections over HTTP."""

    # How many there may be, and how many were sent away since there were as many.
    capacity: int
    refused: int

    @property
    def load(self) -> HttpLoad:
        """What it has to do."""

    @property
    def connections(self) -> list[Any]:
        """Those that are open."""


def of_database(database: Measured) -> Source:
    """Returns what tells of a database that is open."""

    def tell() -> Iterable[Sample]:
        for executor in database.executors:
            stats, name = executor.stats, (executor.name,)
            yield Sample(metrics.EXECUTOR_QUEUED, executor.waiting, name)
            yield Sample(metrics.EXECUTOR_REJECTED, stats.refused, name)
            yield Sample(metrics.EXECUTOR_BATCH_SIZE, stats.batches, name)
            yield Sample(metrics.EXECUTOR_THREADS, stats.threads, name)
            yield Sample(metrics.EXECUTOR_BUSY, stats.busy, name)
            yield Sample(metrics.EXECUTOR_BUSY_SECONDS, stats.busy_seconds, name)
        yield Sample(metrics.COMMIT_SECONDS, database.executors[0].stats.commits)
        for file, size in database.bytes_on_disk().items():
            yield Sample(metrics.SQLITE_BYTES, size, (file,))

    return tell


def of_http(server: HttpServer) -> Source:
    """Returns what tells of the connections of an HTTP server."""

    def tell() -> Iterable[Sample]:
        yield Sample(metrics.HTTP_CONNECTIONS, len(server.connections))
        yield Sample(metrics.HTTP_CONNECTIONS_LIMIT, server.capacity)
        yield Sample(metrics.HTTP_CONNECTIONS_REFUSED, server.refused)
        yield Sample(metrics.HTTP_REQUESTS_SHED, server.load.refused)

    return tell
