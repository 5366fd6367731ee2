"""roster webhooks"""

from __future__ import annotations

from typing import Annotated, Any

import typer
import uvloop

from ..serving.console import ExitCode
from .options import LOCAL_URL, ApiKey, Json, Url
from .output import print_json, print_table
from .webhooks_client import print_attempts, webhooks

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="List webhooks, and print delivery attempts."
)


@app.command(name="list")
def list_(url: Url = LOCAL_URL, api_key: ApiKey = "", json: Json = False) -> None:
    """List the webhooks of an account, oldest first."""
    rows = uvloop.run(webhooks(url, api_key))
    if json:
        print_json({"webhooks": rows})
        return
    print_table(
        ("id", "state", "url", "types"),
        [
            (row["id"], state_of(row), row["url"], " ".join(row["eventTypes"]) or "all")
            for row in rows
        ],
    )


@app.command()
def tail(
    url: Url = LOCAL_URL,
    api_key: ApiKey = "",
    webhook: Annotated[str, typer.Option(metavar="ID", help="Only attempts to this webhook.")] = "",
    json: Json = False,
) -> None:
    """Print a line for each delivery attempt, when the attempt ends.

    Runs until it is interrupted. With --json, each line is a record.
    Exit codes: 2 if an argument is invalid, 6 if the service cannot be
    reached, 7 if it rejects the request, 8 if the connection is lost, and
    130 if the command is interrupted.
    """
    try:
        uvloop.run(print_attempts(url, api_key, webhook, as_json=json))
    except KeyboardInterrupt:
        raise SystemExit(ExitCode.INTERRUPTED) from None


def state_of(webhook: dict[str, Any]) -> str:
    """Returns "enabled", "failing" or "disabled", with the reason if the service disabled it."""
    if webhook["enabled"]:
        return "failing" if "failingSince" in webhook else "enabled"
    reason = webhook.get("disabledReason", "")
    return f"disabled: {reason.lower()}" if reason else "disabled"
