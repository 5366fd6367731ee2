"""roster serve"""

from __future__ import annotations

from ..config import SERVE, Settings
from ..serving.launch import launch
from ..serving.role import Role
from .common.options import Supervised, takes_settings


@takes_settings
def serve(settings: Settings, supervised: Supervised = Role.ALONE) -> None:
    """Serve gRPC and JSON over HTTP."""
    launch(SERVE, settings, supervised)
