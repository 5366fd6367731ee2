"""Implements grpc.health.v1, and ends watches when the process stops.

A watch continues after it has reported NOT_SERVING, and a port that closes waits for it.
"""

from __future__ import annotations

import asyncio
from typing import Any

from grpc_health.v1.health import aio

from ..errors import ServiceNotFound, Unavailable


class WatchEnded(Unavailable):
    """The process stops, so its health is no longer reported."""

    message = "The service is stopping."


class HealthService(aio.HealthServicer):
    """The health service of grpcio-health, with watches that can be ended."""

    def __init__(self) -> None:
        super().__init__()
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
        """Returns the status of a service. Raises ServiceNotFound."""
        if request.service not in self._services:
            raise ServiceNotFound
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
