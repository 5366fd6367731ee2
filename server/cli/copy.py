"""roster copy"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..config import SETTINGS, PostgresUrl, parse_database_url
from ..console import ExitCode, complain, console
from ..storage.copy.copy import Copied, Copy
from ..storage.copy.opening import both_endpoints
from .output import Json, print_json, print_table
from .transfer.progress import Bar

_KINDS = "sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME"


def copy(
    source: Annotated[
        str, typer.Option("--from", metavar="URL", help=f"What is copied: {_KINDS}.")
    ],
    target: Annotated[
        str, typer.Option("--to", metavar="URL", help="Where to: a database without data.")
    ],
    json: Json = False,
) -> None:
    """Copy everything from one database to another, and verify it.

    A service on a SQLite file has to be stopped first. One on PostgreSQL may run, but what
    is written after the copy began is not in it. Run it again when it breaks off: it goes on
    where it was. Ends with 0 if the copy is whole, 4 if a database cannot be used, 8 if what
    was copied is not what was there, and 130 if it was interrupted.
    """
    places = [parse_database_url(url) for url in (source, target)]
    names = [str(place.resolve() if isinstance(place, Path) else place) for place in places]
    if names[0] == names[1]:
        complain("--from and --to are the same database.", ExitCode.USAGE)
    urls = [place.url if isinstance(place, PostgresUrl) else place for place in places]
    try:
        with both_endpoints(*urls) as sides, Bar(0, 0) as bar:
            copied = Copy(*sides, names[0], lambda rows, total: bar.show(rows, rows, total)).run()
    except KeyboardInterrupt:
        complain("Interrupted. The same command goes on with it.", ExitCode.INTERRUPTED)
    _report(copied, json=json)
    wrong = [each.table for each in copied if each.source != each.target]
    if wrong:
        complain(
            f"The copy of {', '.join(wrong)} is not what was there: did somebody write to the"
            " target? The same command copies what differs.",
            ExitCode.BROKEN,
        )
    if not json:
        console.print(_last_words(names[0], names[1]), soft_wrap=True)


def _report(copied: list[Copied], *, json: bool) -> None:
    if json:
        tables = [
            {"table": name, "rows": there.rows, "checksum": there.checksum, "verified": same}
            for name, same, there in _rows(copied)
        ]
        print_json({"tables": tables})
        return
    print_table(
        ("table", "rows", "SHA-256", "verified"),
        [
            (name, f"{there.rows:,}", there.checksum[:16], "yes" if same else "NO")
            for name, same, there in _rows(copied)
        ],
    )


def _rows(copied: list[Copied]) -> list[tuple[str, bool, Any]]:
    return [(each.table, each.source == each.target, each.target) for each in copied]


def _last_words(source: str, target: str) -> str:
    key = f"that is in {source}.key, unless it was set" if source.startswith("/") else "as before"
    return (
        f"\nAll of it is in {target}. It needs the secret key of the original: set"
        f" {SETTINGS['secret_key'].environment} to it ({key})."
    )
