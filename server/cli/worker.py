"""roster worker"""

from __future__ import annotations

import click

from ..config import WORKER, Settings
from ..serving.launch import launch
from .common.options import takes_settings


@click.command()
@takes_settings
def worker(settings: Settings) -> None:
    """Run the background work of a PostgreSQL database: deliveries, operations and maintenance.

    `serve` and `serve-grpc` do the same work themselves. Workers share it with them, and continue
    when no service runs. Several workers can run.
    """
    launch(WORKER, settings)
