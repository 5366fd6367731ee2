"""Implements grpc.health.v1, and ends watches when the process stops.

A watch continues after it has reported NOT_SERVING, and a port that closes waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from grpc_health.v1.health import aio

from ..errors import ServiceNotFound, Unavailable

# Trailing metadata of a health check: a problem of the server or its progress, for /readyz.
DETAIL_METADATA = "roster-health-detail"


class WatchEnded(Unavailable):
    """The process stops, so its health is no longer reported."""

    message = "The service is stopping."


class HealthService(aio.HealthServicer):
    """The health service of grpcio-health, with watches that can be ended.

    `details` returns what a health check reports in addition to the status.
    """

    def __init__(self, details: Callable[[], Sequence[str]] = tuple) -> None:
        super().__init__()
        self._details = details
        self._watches_ended = asyncio.Event()
        # The empty name is the server as a whole.
        self._services = {""}

    async def set(self, service: str, status: Any) -> None:
        """Sets the status of a service."""
        self._services.add(service)
        await super().set(service, status)

    def end_watches(self) -> None:
        """Ends all watches as UNAVAILABLE, and new ones."""
        self._watches_ended.set()

    async def Check(self, request: Any, context: Any) -> Any:
        """Returns the status of a service. Raises ServiceNotFound.

        The trailing metadata lists the details.
        """
        if request.service not in self._services:
            raise ServiceNotFound
        if details := self._details():
            context.set_trailing_metadata([(DETAIL_METADATA, text) for text in details])
        return await super().Check(request, context)

    async def Watch(self, request: Any, context: Any) -> None:
        watch = asyncio.ensure_future(super().Watch(request, context))
        ended = asyncio.ensure_future(self._watches_ended.wait())
        try:
            await asyncio.wait([watch, ended], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (watch, ended):
                task.cancel()
            await asyncio.gather(watch, ended, return_exceptions=True)
        raise WatchEnded
