"""roster serve-http"""

from __future__ import annotations

import click

from ..config import SERVE_HTTP, Settings
from ..serving.launch import launch
from ..serving.role import Role
from .common.options import supervised_option, takes_settings


@click.command()
@takes_settings
@supervised_option
def serve_http(settings: Settings, supervised: Role) -> None:
    """Serve JSON over HTTP in front of gRPC servers elsewhere."""
    launch(SERVE_HTTP, settings, supervised)
