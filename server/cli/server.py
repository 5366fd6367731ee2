"""roster server"""

from __future__ import annotations

from ..config import Settings
from ..serving.launch import launch
from ..serving.role import Role
from .common.options import Worker, takes_settings


@takes_settings
def server(settings: Settings, worker: Worker = Role.ALONE) -> None:
    """Serve gRPC only."""
    launch("server", settings, worker)
