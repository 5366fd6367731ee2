"""roster webhooks: the webhooks of an account on a running service, and what is sent to them."""

from __future__ import annotations

from typing import Annotated, Any

import typer
import uvloop

from ..console import ExitCode
from .output import Json, print_json, print_table
from .transfer.flags import LOCAL, Key, Url

app = typer.Typer(no_args_is_help=True)


@app.command(name="list")
def list_(url: Url = LOCAL, api_key: Key = "", json: Json = False) -> None:
    """List the webhooks of an account, oldest first."""
    # Imported here, since other commands do not need what speaks HTTP.
    from .webhooks_client import webhooks

    found = uvloop.run(webhooks(url, api_key))
    if json:
        print_json({"webhooks": found})
        return
    print_table(
        ("id", "state", "url", "types"),
        [
            (each["id"], state_of(each), each["url"], " ".join(each["eventTypes"]) or "all")
            for each in found
        ],
    )


@app.command()
def tail(
    url: Url = LOCAL,
    api_key: Key = "",
    webhook: Annotated[
        str, typer.Option(metavar="ID", help="Only what is sent to this webhook.")
    ] = "",
    json: Json = False,
) -> None:
    """Follow what is sent to webhooks: a line for each attempt, as it ends.

    It goes on until it is interrupted. With --json each line is a record.
    Ends with 2 if an argument is wrong, 6 if the service cannot be reached,
    7 if it refuses, 8 if the connection broke off and 130 if it was
    interrupted.
    """
    from .webhooks_client import print_attempts

    try:
        uvloop.run(print_attempts(url, api_key, webhook, as_json=json))
    except KeyboardInterrupt:
        raise SystemExit(ExitCode.INTERRUPTED) from None


def state_of(webhook: dict[str, Any]) -> str:
    """Returns whether a webhook is sent anything, or why not."""
    if webhook["enabled"]:
        return "failing" if "failingSince" in webhook else "enabled"
    reason = webhook.get("disabledReason", "")
    return f"disabled: {reason.lower()}" if reason else "disabled"
