"""roster gateway"""

from __future__ import annotations

from ..config import Settings
from ..serving.launch import launch
from ..serving.role import Role
from .common.options import Worker, takes_settings


@takes_settings
def gateway(settings: Settings, worker: Worker = Role.ALONE) -> None:
    """Serve JSON over HTTP in front of gRPC servers elsewhere."""
    launch("gateway", settings, worker)
