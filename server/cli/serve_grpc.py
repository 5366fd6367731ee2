"""roster serve-grpc"""

from __future__ import annotations

import click

from ..config import SERVE_GRPC, Settings
from ..serving.launch import launch
from ..serving.role import Role
from .common.options import supervised_option, takes_settings


@click.command()
@takes_settings
@supervised_option
def serve_grpc(settings: Settings, supervised: Role) -> None:
    """Serve gRPC only."""
    launch(SERVE_GRPC, settings, supervised)
