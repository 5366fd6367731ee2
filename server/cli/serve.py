"""roster serve"""

from __future__ import annotations

import click

from ..config import SERVE, Settings
from ..serving.launch import launch
from ..serving.role import Role
from .common.options import supervised_option, takes_settings


@click.command()
@takes_settings
@supervised_option
def serve(settings: Settings, supervised: Role) -> None:
    """Serve gRPC and JSON over HTTP."""
    launch(SERVE, settings, supervised)
