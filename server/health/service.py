"""grpc.health.v1, whose followers are let go when the process stops.

Whoever follows the health of a process hears that it is not ready, and follows on: a port
that closes would wait for them as it does for calls.
"""

from __future__ import annotations

import asyncio
from typing import Any

from grpc_health.v1.health import aio

from ..errors import ServiceNotFound, Unavailable


class Stopping(Unavailable):
    """The server stops, so nothing more is reported to those who watch its health."""

    message = "The service is stopping."


class HealthService(aio.HealthServicer):
    """The service of grpcio-health, and an end for those who follow."""

    def __init__(self) -> None:
        super().__init__()
        self._ending = asyncio.Event()
        # The empty name is the server as a whole.
        self._services = {""}

    async def set(self, service: str, status: Any) -> None:
        """Sets the status of a service, which is known from then on."""
        self._services.add(service)
        await super().set(service, status)

    def end(self) -> None:
        """Ends following, as UNAVAILABLE, now and from now on."""
        self._ending.set()

    async def Check(self, request: Any, context: Any) -> Any:
        """Returns the status of a service. Raises ServiceNotFound."""
        if request.service not in self._services:
            raise ServiceNotFound
        return await super().Check(request, context)

    async def Watch(self, request: Any, context: Any) -> None:
        watching = asyncio.ensure_future(super().Watch(request, context))
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait([watching, ending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (watching, ending):
                task.cancel()
            await asyncio.gather(watching, ending, return_exceptions=True)
        raise Stopping
