"""roster copy"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..config import Settings
from ..serving.console import CommandError, ExitCode, echo
from ..storage.copy.copy import Copied, Copy
from ..values.database_url import DatabaseLocation, PostgresUrl, parse_database_url
from .common.endings import interruptible
from .common.options import json_option
from .common.output import print_json, print_table
from .common.progress import RowProgress

_FORMATS = "sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME"


@click.command()
@click.option(
    "--from", "source", required=True, metavar="URL", help=f"Database to copy: {_FORMATS}."
)
@click.option(
    "--to", "target", required=True, metavar="URL", help="Target, a database without data."
)
@json_option
def copy(source: str, target: str, json: bool) -> None:
    """Copy a database to another one, and verify the copy.

    Stop the service of a SQLite file first. A service on PostgreSQL can continue to run; changes
    after the start of the copy are not included. Run the same command again to resume an
    incomplete copy. Exit codes: 4 if a database cannot be used, 8 if the copy differs from the
    source, and 130 if the command was interrupted.
    """
    # Imports the driver of PostgreSQL, which is an optional dependency.
    from ..storage.copy.opening import open_endpoints  # noqa: PLC0415

    locations = [_location("--from", source), _location("--to", target)]
    names = [
        str(location.resolve() if isinstance(location, Path) else location)
        for location in locations
    ]
    if names[0] == names[1]:
        raise CommandError("--from and --to are the same database.", ExitCode.USAGE)
    urls = [
        location.url if isinstance(location, PostgresUrl) else location for location in locations
    ]
    with (
        interruptible("Interrupted. Run the same command again to resume."),
        open_endpoints(*urls) as endpoints,
        RowProgress(0, 0) as progress,
    ):
        copied = Copy(
            *endpoints, names[0], lambda rows, total: progress.show(rows, rows, total)
        ).run()
    _report(copied, json=json)
    wrong = [item.table for item in copied if item.source != item.target]
    if wrong:
        raise CommandError(
            f"The copy of {', '.join(wrong)} differs from the source. Another program may have"
            " written to the target. Run the same command again to copy the differences.",
            ExitCode.INCOMPLETE,
        )
    if not json:
        echo(_summary(*names))


def _location(flag: str, url: str) -> DatabaseLocation:
    try:
        return parse_database_url(url)
    except ValueError as error:
        raise CommandError(f"{flag} {error}", ExitCode.USAGE) from None


def _report(copied: list[Copied], *, json: bool) -> None:
    if json:
        tables = [
            {"table": name, "rows": copy.rows, "checksum": copy.checksum, "verified": same}
            for name, same, copy in _rows(copied)
        ]
        print_json({"tables": tables})
        return
    print_table(
        ("table", "rows", "SHA-256", "verified"),
        [
            (name, f"{copy.rows:,}", copy.checksum[:16], "yes" if same else "NO")
            for name, same, copy in _rows(copied)
        ],
    )


def _rows(copied: list[Copied]) -> list[tuple[str, bool, Any]]:
    return [(item.table, item.source == item.target, item.target) for item in copied]


def _summary(source: str, target: str) -> str:
    key = (
        f"the content of {source}.key, unless it was set" if source.startswith("/") else "unchanged"
    )
    return (
        f"\nCopied everything to {target}. The copy requires the secret key of the original: set"
        f" {Settings.secret_key.environment} ({key})."
    )
