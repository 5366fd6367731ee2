"""roster serve-grpc"""

from __future__ import annotations

from ..config import SERVE_GRPC, Settings
from ..serving.launch import launch
from ..serving.role import Role
from .common.options import Supervised, takes_settings


@takes_settings
def serve_grpc(settings: Settings, supervised: Supervised = Role.ALONE) -> None:
    """Serve gRPC only."""
    launch(SERVE_GRPC, settings, supervised)
