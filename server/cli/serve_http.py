"""roster serve-http"""

from __future__ import annotations

from ..config import SERVE_HTTP, Settings
from ..serving.launch import launch
from ..serving.role import Role
from .common.options import Supervised, takes_settings


@takes_settings
def serve_http(settings: Settings, supervised: Supervised = Role.ALONE) -> None:
    """Serve JSON over HTTP in front of gRPC servers elsewhere."""
    launch(SERVE_HTTP, settings, supervised)
