"""roster audit"""

from __future__ import annotations

from typing import Annotated

import typer

from ..features.audit import store
from ..features.audit.store import AuditEntryRow
from ..serving.console import CommandError, ExitCode
from ..storage.databases import reading
from ..values.ids import first_id_at
from ..values.timestamps import parse_timestamp
from .common.accounts import AccountId, account_id_of
from .common.options import DEFAULT_DATABASE_URL, DatabaseUrl, Json
from .common.output import print_json_list, print_table

# All of the entries are in memory.
MAX_LIMIT = 1_000_000

app = typer.Typer(add_completion=False)


@app.callback(no_args_is_help=True)
def audit() -> None:
    """List the audit log of an account."""


@app.command(name="list")
def list_(
    account: AccountId = "",
    action: Annotated[str, typer.Option(help="Only this action, such as webhook.updated.")] = "",
    actor: Annotated[
        str, typer.Option(metavar="ID", help="Only by this API key or session, or COMMAND_LINE.")
    ] = "",
    resource_type: Annotated[
        str, typer.Option(help="Only on resources of this type, such as webhook.")
    ] = "",
    resource_id: Annotated[
        str, typer.Option(metavar="ID", help="Only on the resource with this ID.")
    ] = "",
    created_after: Annotated[
        str, typer.Option(metavar="TIMESTAMP", help="Only entries stored after this.")
    ] = "",
    created_before: Annotated[
        str, typer.Option(metavar="TIMESTAMP", help="Only entries stored before this.")
    ] = "",
    limit: Annotated[
        int, typer.Option(min=1, max=MAX_LIMIT, help="Maximum number of entries.")
    ] = 100,
    database_url: DatabaseUrl = DEFAULT_DATABASE_URL,
    json: Json = False,
) -> None:
    """List the actions of API keys, sessions and the command line, newest first.

    Reads the database, so it works while the service runs, and needs no
    API key. --json also prints the values before and after each action.
    """
    filters = store.filter_of(
        action=action,
        actor=actor,
        resource_type=resource_type,
        resource_id=resource_id,
        first_id=_first_id("--created-after", created_after, after=True),
        end_id=_first_id("--created-before", created_before),
    )
    with reading(database_url) as tx:
        rows = store.rows(account_id_of(account, tx), filters, limit, tx)
    if json:
        print_json_list("entries", [row.as_json() for row in rows])
        return
    print_table(("time", "action", "actor", "ip", "resource", "fields"), [*map(_cells, rows)])


def _first_id(flag: str, text: str, *, after: bool = False) -> str | None:
    """Returns the first ID at or after a timestamp, or None without one. Raises CommandError."""
    if not text:
        return None
    time = parse_timestamp(text)
    if time is None:
        raise CommandError(
            f"{flag} must be a timestamp such as 2026-11-21T03:33:16Z, not {text!r}.",
            ExitCode.USAGE,
        )
    return first_id_at(time + after)


def _cells(row: AuditEntryRow) -> tuple[str, ...]:
    entry = row.as_json()
    fields = dict.fromkeys([*entry.get("before", ()), *entry.get("after", ())])
    actor = row.actor_name or row.actor
    return entry["createdAt"], row.action, actor, row.ip, row.resource_id, " ".join(fields)
