"""roster audit"""

from __future__ import annotations

import click

from ..features.audit import store
from ..features.audit.store import AuditEntryRow
from ..serving.console import CommandError, ExitCode
from ..storage.databases import reading
from ..values.ids import first_id_at
from ..values.timestamps import parse_timestamp
from .common.accounts import account_id_of, account_option
from .common.options import database_url_option, json_option
from .common.output import print_json_list, print_table

# All of the entries are in memory.
MAX_LIMIT = 1_000_000


@click.group()
def app() -> None:
    """List the audit log of an account."""


@app.command(name="list")
@account_option
@click.option("--action", default="", help="Only this action, such as webhook.updated.")
@click.option(
    "--actor", default="", metavar="ID", help="Only by this API key or session, or COMMAND_LINE."
)
@click.option(
    "--resource-type", default="", help="Only on resources of this type, such as webhook."
)
@click.option("--resource-id", default="", metavar="ID", help="Only on the resource with this ID.")
@click.option(
    "--created-after", default="", metavar="TIMESTAMP", help="Only entries stored after this."
)
@click.option(
    "--created-before", default="", metavar="TIMESTAMP", help="Only entries stored before this."
)
@click.option(
    "--limit",
    type=click.IntRange(min=1, max=MAX_LIMIT),
    default=100,
    show_default=True,
    help="Maximum number of entries.",
)
@database_url_option
@json_option
def list_(
    account: str,
    action: str,
    actor: str,
    resource_type: str,
    resource_id: str,
    created_after: str,
    created_before: str,
    limit: int,
    database_url: str,
    json: bool,
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
