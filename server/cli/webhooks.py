"""roster webhooks: the webhooks of an account on a running service, and what is sent to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
import typer
import uvloop
from rich.text import Text

from .output import ExitCode, Json, console, print_json, print_table
from .transfer.remote import LOCAL, Key, Remote, TransferError, Url, blocks, told_error

app = typer.Typer(no_args_is_help=True)

_DATA = b"data: "


@app.command(name="list")
def list_(url: Url = LOCAL, api_key: Key = "", json: Json = False) -> None:
    """List the webhooks of an account, oldest first."""
    webhooks = uvloop.run(_webhooks(Remote(url, api_key)))
    if json:
        print_json({"webhooks": webhooks})
        return
    print_table(
        ("id", "state", "url", "types"),
        [
            (each["id"], state_of(each), each["url"], " ".join(each["eventTypes"]) or "all")
            for each in webhooks
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
    remote = Remote(url, api_key)
    try:
        uvloop.run(_print_attempts(remote, webhook, as_json=json))
    except KeyboardInterrupt:
        raise SystemExit(ExitCode.INTERRUPTED) from None


async def _webhooks(remote: Remote) -> list[dict[str, Any]]:
    async with remote:
        return await _known(remote)


async def _known(remote: Remote) -> list[dict[str, Any]]:
    page = await remote.get("/api/webhooks", limit="100")
    if not isinstance(page, dict) or not isinstance(page.get("webhooks"), list):
        raise remote.stranger()
    return list(page["webhooks"])


async def _print_attempts(remote: Remote, webhook: str, *, as_json: bool) -> None:
    """Prints attempts until the service ends it. Raises TransferError then."""
    urls: dict[str, str] = {}
    async with remote:
        async for record in _attempts(remote, webhook):
            if as_json:
                console.out(orjson.dumps(record).decode(), highlight=False)
                continue
            webhook_id = record["delivery"]["webhookId"]
            if webhook_id not in urls:
                urls = {each["id"]: each["url"] for each in await _known(remote)}
            console.print(_line(record, urls.get(webhook_id, webhook_id)), soft_wrap=True)


async def _attempts(remote: Remote, webhook: str) -> AsyncIterator[dict[str, Any]]:
    """Yields attempts, which come as events: those have a sign of life where nothing happens."""
    query = {"webhookId": webhook} if webhook else {}
    headers = {"Accept": "text/event-stream"}
    path = "/api/webhook-deliveries/tail"
    async with remote.answer("GET", path, query, headers=headers) as answer:
        if answer.content_type != headers["Accept"]:
            raise remote.stranger()
        async for block in blocks(answer):
            for line in block.splitlines():
                if not line.startswith(_DATA):
                    continue
                data = line.removeprefix(_DATA)
                if error := told_error(data):
                    raise error
                yield orjson.loads(data)
    raise TransferError("The service has ended the connection.", ExitCode.BROKEN)


def _line(record: dict[str, Any], url: str) -> Text:
    """Returns an attempt as people read it."""
    delivery, attempt = record["delivery"], record["attempt"]
    error = attempt.get("error", "")
    line = Text(f"{attempt['startedAt']}  ")
    line.append(f"{attempt.get('httpStatus', '---')}", style="red" if error else "green")
    line.append(f"  {delivery['eventType']:<24}  {url}  {attempt['durationMs']} ms")
    if error:
        line.append(f"  {error}", style="red")
        line.append(f"  {_next(delivery)}")
    return line


def _next(delivery: dict[str, Any]) -> str:
    """Returns what comes after an attempt that failed."""
    at = delivery.get("nextAttemptAt")
    return f"again at {at}" if at else str(delivery["status"]).lower()


def state_of(webhook: dict[str, Any]) -> str:
    """Returns whether a webhook is sent anything, or why not."""
    if webhook["enabled"]:
        return "failing" if "failingSince" in webhook else "enabled"
    reason = webhook.get("disabledReason", "")
    return f"disabled: {reason.lower()}" if reason else "disabled"
