"""roster serve, server, gateway and worker"""

from __future__ import annotations

from ..config import Settings
from ..serving.launch import launch
from ..serving.role import Role
from .options import Worker, takes_settings


@takes_settings
def serve(settings: Settings, worker: Worker = Role.ALONE) -> None:
    """Serve gRPC and JSON over HTTP."""
    launch("serve", settings, worker)


@takes_settings
def server(settings: Settings, worker: Worker = Role.ALONE) -> None:
    """Serve gRPC only."""
    launch("server", settings, worker)


@takes_settings
def gateway(settings: Settings, worker: Worker = Role.ALONE) -> None:
    """Serve JSON over HTTP in front of gRPC servers elsewhere."""
    launch("gateway", settings, worker)


@takes_settings
def worker(settings: Settings) -> None:
    """Run the background work of a PostgreSQL database: deliveries, operations and maintenance.

    `serve` and `server` do the same work themselves. Workers share it with them, and continue when
    no service runs. Several workers can run.
    """
    launch("worker", settings)
