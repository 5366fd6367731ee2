"""roster settings"""

from __future__ import annotations

import os

import click

from ..config import SETTINGS
from .common.options import json_option
from .common.output import print_json_list, print_table


@click.command()
@json_option
def settings(json: bool) -> None:
    """List all settings: default, whether the environment sets them, and meaning."""
    rows = list(SETTINGS.values())
    if json:
        print_json_list(
            "settings",
            [
                {
                    "environment": row.environment,
                    "flag": row.flag,
                    "default": row.default,
                    "help": row.help,
                }
                for row in rows
            ],
        )
        return
    print_table(
        ("environment", "default", "set here", "meaning"),
        [
            (
                row.environment,
                row.default,
                "yes" if row.environment in os.environ else "",
                row.help,
            )
            for row in rows
        ],
    )
