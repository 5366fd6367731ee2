"""roster migrate"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from ..config import Settings
from ..serving.console import echo
from ..serving.secret_key import check_key, check_secret_key
from ..storage.databases import bring_up_to_date, distributed, finish_backfills, plan
from .common.options import database_url_option, json_option, secret_key_option
from .common.output import print_json

if TYPE_CHECKING:
    from ..storage.citus.distribution import DistributedTable
    from ..storage.migrate import Step


@click.command()
@database_url_option
@click.option(
    "--plan", "only_plan", is_flag=True, help="Only print the migrations that are not applied."
)
@click.option(
    "--contract", is_flag=True, help="Also remove what the previous release needs, which ends it."
)
@click.option("--distribute", is_flag=True, help="Also distribute the tables over a Citus cluster.")
@click.option(
    "--allow-single-node", is_flag=True, help="Distribute even if the cluster has no worker nodes."
)
@secret_key_option
@json_option
def migrate(
    database_url: str,
    only_plan: bool,
    contract: bool,
    distribute: bool,
    allow_single_node: bool,
    secret_key: str,
    json: bool,
) -> None:
    """Migrate a database to the schema of this version. `serve` does this when it starts.

    A database that was served is migrated only if its secret key is available. Also changes the
    stored rows for finished migrations, which `serve` does while it runs.

    Processes of the previous release can run until --contract. It removes what only they need.
    Then they refuse writes and end with exit code 10, and only a backup returns to that release.

    With --distribute, the tables with data of accounts become distributed tables with the account
    as distribution column; accounts and API keys become reference tables. Stop all services first.
    Tables that are already distributed are not changed, so an interrupted command can be run again.
    Later migrations distribute the tables that they add.
    """
    if only_plan:
        _print_plan(plan(database_url), json=json)
        return
    check_secret_key(secret_key)
    location = Settings.database_url.parse(database_url)
    applied = bring_up_to_date(
        database_url,
        partial(check_key, secret_key, location),
        contract=contract,
        report=_ignore if json else echo,
    )
    if not json:
        lines = [f"applied {name}" for name in applied] or ["The schema is up to date."]
        echo("\n".join(lines))
    for progress in finish_backfills(database_url):
        if not json:
            echo(str(progress))
    tables: list[DistributedTable] = []
    if distribute:
        for table in distributed(database_url, allow_single_node=allow_single_node):
            tables.append(table)
            if not json:
                echo(_line(table))
    if json:
        rows = [{"table": t.table, "kind": t.kind, "before": t.before} for t in tables]
        print_json({"applied": applied, **({"tables": rows} if distribute else {})})


def _print_plan(steps: list[Step], *, json: bool) -> None:
    if json:
        print_json({"pending": [step._asdict() for step in steps]})
        return
    for step in steps:
        rows = f", {step.rows:,} rows of {step.table}" if step.table else ""
        kind = "contracts" if step.contracts else "expands"
        waits = ", waits for --contract" if step.waits else ""
        echo(f"{step.name} {kind} the schema{rows}{waits}")
    if not steps:
        echo("The schema is up to date.")


def _ignore(_: str) -> None:
    """Reports nothing."""


def _line(table: DistributedTable) -> str:
    kind = "distributed by account_id" if table.kind == "distributed" else "a reference table"
    return f"{table.table} {'was already' if table.before else 'is now'} {kind}"
