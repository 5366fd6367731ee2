"""What the parts of a process tell of themselves, in metrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from ..storage.figures import Measured
from . import metrics
from .exposition import Source
from .metrics import Sample


class HttpLoad(Protocol):
    """What it has to do: how many requests were refused since that was too much."""

    refused: int


class HttpServer(Protocol):
    """What accepts connections over HTTP."""

    # How many there may be, and how many were sent away since there were as many.
    room: int
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
        for lane in database.lanes:
            figures, name = lane.figures, (lane.name,)
            yield Sample(metrics.LANE_WAITING, lane.waiting, name)
            yield Sample(metrics.LANE_REFUSED, figures.refused, name)
            yield Sample(metrics.LANE_BATCH, figures.batches, name)
            yield Sample(metrics.LANE_THREADS, figures.threads, name)
            yield Sample(metrics.LANE_BUSY, figures.busy, name)
            yield Sample(metrics.LANE_BUSY_SECONDS, figures.busy_seconds, name)
        yield Sample(metrics.COMMIT_SECONDS, database.lanes[0].figures.commits)
        for file, size in database.bytes_on_disk().items():
            yield Sample(metrics.SQLITE_BYTES, size, (file,))

    return tell


def of_http(server: HttpServer) -> Source:
    """Returns what tells of the connections of an HTTP server."""

    def tell() -> Iterable[Sample]:
        yield Sample(metrics.HTTP_CONNECTIONS, len(server.connections))
        yield Sample(metrics.HTTP_ROOM, server.room)
        yield Sample(metrics.HTTP_REFUSED, server.refused)
        yield Sample(metrics.HTTP_SHED, server.load.refused)

    return tell
