"""roster migrate"""

from __future__ import annotations

from typing import Annotated

import typer

from ..config import SETTINGS
from ..console import console
from ..storage.databases import bring_up_to_date, distributed
from ..storage.distribution import ACCOUNT, DistributedTable, TableKind
from .output import DatabaseUrl, Json, print_json


def migrate(
    database_url: DatabaseUrl = SETTINGS["database_url"].default,
    distribute: Annotated[
        bool,
        typer.Option("--distribute", help="Spread it over the nodes of a Citus cluster as well."),
    ] = False,
    json: Json = False,
) -> None:
    """Bring the database to the schema of this program. `serve` does so by itself.

    With --distribute each table of an account's data becomes a distributed table, by
    account; accounts and keys are copied to every node. What is done already is left as it
    is, so the command is given again after a migration that adds a table.
    """
    applied = bring_up_to_date(database_url)
    if not json:
        lines = [f"applied {name}" for name in applied] or ["The schema is up to date."]
        console.print("\n".join(lines))
    spread: list[DistributedTable] = []
    if distribute:
        for table in distributed(database_url):
            spread.append(table)
            if not json:
                console.print(_line(table))
    if json:
        tables = [{"table": t.table, "kind": t.kind, "before": t.before} for t in spread]
        print_json({"applied": applied, **({"tables": tables} if distribute else {})})


def _line(table: DistributedTable) -> str:
    kind = (
        f"distributed by {ACCOUNT}" if table.kind is TableKind.DISTRIBUTED else "a reference table"
    )
    return f"{table.table} {'was' if table.before else 'is'} {kind}"
