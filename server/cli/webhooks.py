"""roster webhooks"""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Annotated, Any

import orjson
import typer
import uvloop
from rich.text import Text

from ..serving.console import CommandError, ExitCode, console
from .common.options import LOCAL_URL, ApiKey, Json, Url
from .common.output import print_json_list, print_table
from .common.service_client import ServiceClient, line_blocks, run

_DATA = b"data: "

app = typer.Typer(
    no_args_is_help=True, add_completion=False, help="List webhooks, and print delivery attempts."
)


@app.command(name="list")
def list_(url: Url = LOCAL_URL, api_key: ApiKey = "", json: Json = False) -> None:
    """List the webhooks of an account, oldest first."""
    rows = run(_webhooks(url, api_key))
    if json:
        print_json_list("webhooks", rows)
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

    Runs until it is interrupted. With --json, each line is a record of the API.
    Exit codes: 2 if an argument is invalid, 6 if the service cannot be
    reached, 7 if it rejects the request, 8 if the connection is lost, and
    130 if the command is interrupted.
    """
    try:
        uvloop.run(_print_attempts(url, api_key, webhook, as_json=json))
    except KeyboardInterrupt:
        raise SystemExit(ExitCode.INTERRUPTED) from None


def state_of(webhook: dict[str, Any]) -> str:
    """Returns "enabled", "paused" or "disabled", with the reason if the service disabled it."""
    if webhook["enabled"]:
        return "paused" if "failingSince" in webhook else "enabled"
    reason = webhook.get("disabledReason", "")
    return f"disabled: {reason.lower()}" if reason else "disabled"


async def _webhooks(url: str, api_key: str) -> list[dict[str, Any]]:
    async with ServiceClient(url, api_key) as client:
        return await _list(client)


async def _list(client: ServiceClient) -> list[dict[str, Any]]:
    page = await client.get("/api/webhooks", limit="100")
    if not isinstance(page, dict) or not isinstance(page.get("webhooks"), list):
        raise client.not_roster()
    return list(page["webhooks"])


async def _print_attempts(url: str, api_key: str, webhook: str, *, as_json: bool) -> None:
    """Prints attempts until the service ends the response; then raises CommandError."""
    urls: dict[str, str] = {}
    async with ServiceClient(url, api_key) as client:
        async for record in _attempts(client, webhook):
            if as_json:
                console.out(orjson.dumps(record).decode(), highlight=False)
                continue
            webhook_id = record["delivery"]["webhookId"]
            if webhook_id not in urls:
                urls = {item["id"]: item["url"] for item in await _list(client)}
            console.print(_line(record, urls.get(webhook_id, webhook_id)), soft_wrap=True)


async def _attempts(client: ServiceClient, webhook: str) -> AsyncIterator[dict[str, Any]]:
    """Yields attempts from server-sent events, which include keep-alive comments."""
    query = {"webhookId": webhook} if webhook else {}
    headers = {"Accept": "text/event-stream"}
    path = "/api/webhook-deliveries/tail"
    async with client.request("GET", path, query, headers=headers) as response:
        if response.content_type != headers["Accept"]:
            raise client.not_roster()
        async for block in line_blocks(response):
            for line in block.splitlines():
                if not line.startswith(_DATA):
                    continue
                data = line.removeprefix(_DATA)
                if error := client.error_of_line(data):
                    raise error
                yield orjson.loads(data)
    raise CommandError("The service closed the connection.", ExitCode.INCOMPLETE)


def _line(record: dict[str, Any], url: str) -> Text:
    delivery, attempt = record["delivery"], record["attempt"]
    error = attempt.get("error", "")
    line = Text(f"{attempt['startedAt']}  ")
    line.append(f"{attempt.get('httpStatus', '---')}", style="red" if error else "green")
    line.append(f"  {delivery['eventType']:<24}  {url}  {attempt['durationMs']} ms")
    if error:
        line.append(f"  {error}", style="red")
        line.append(f"  {delivery['id']}  {_next(record)}")
    return line


def _next(record: dict[str, Any]) -> str:
    """Returns what follows a failed attempt: the time of the next one, or why there is none."""
    delivery = record["delivery"]
    at = delivery.get("nextAttemptAt")
    # The service disables the webhook shortly after it has recorded the attempt.
    is_gone = record["attempt"].get("httpStatus") == HTTPStatus.GONE
    if delivery["state"] == "PENDING" and (is_gone or not at):
        return "webhook disabled"
    return f"next attempt at {at}" if at else str(delivery["state"]).lower()
