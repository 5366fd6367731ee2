"""roster webhooks"""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import click
import orjson
import uvloop

from ..serving.console import CommandError, ExitCode, echo
from .common.options import api_key_option, json_option, url_option
from .common.output import print_json_list, print_table
from .common.service_client import ServiceClient, line_blocks, run

_DATA = b"data: "
_webhook_option = click.option("--webhook", default="", metavar="ID", help="Only this webhook.")


@click.group()
def app() -> None:
    """List webhooks, their health and deliveries, and print delivery attempts."""


@app.command(name="list")
@url_option
@api_key_option
@json_option
def list_(url: str, api_key: str, json: bool) -> None:
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
@url_option
@api_key_option
@_webhook_option
@json_option
def health(url: str, api_key: str, webhook: str, json: bool) -> None:
    """Print the success of each webhook in the last 24 hours, what waits, and what failed.

    At most the latest 10,000 attempts are counted.
    """
    rows = run(_health(url, api_key, webhook))
    if json:
        print_json_list("health", rows)
        return
    columns = ("id", "state", "24 h", "waiting", "failing since", "last error", "next attempt")
    print_table(columns, [*map(_health_cells, rows)])


@app.command()
@url_option
@api_key_option
@_webhook_option
@click.option("--state", default="", help="Only in this state, such as FAILED.")
@click.option(
    "--event-type", default="", help="Only of this event type, or of a group such as subscriber.*."
)
@click.option("--event-id", default="", metavar="ID", help="Only of this event.")
@click.option(
    "--subscriber",
    "subscriber_id",
    default="",
    metavar="ID",
    help="Only about this subscriber: ID or email address.",
)
@click.option(
    "--http-status", default="", metavar="STATUS", help="Only with an attempt that got this status."
)
@click.option(
    "--since", default="", metavar="TIMESTAMP", help="Only created at this time or later."
)
@click.option("--until", default="", metavar="TIMESTAMP", help="Only created before this time.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Maximum number of deliveries.",
)
@json_option
def deliveries(
    url: str,
    api_key: str,
    webhook: str,
    state: str,
    event_type: str,
    event_id: str,
    subscriber_id: str,
    http_status: str,
    since: str,
    until: str,
    limit: int,
    json: bool,
) -> None:
    """List the deliveries to all webhooks, newest first."""
    filters = {
        "webhookId": webhook,
        "state": state,
        "eventType": event_type,
        "eventId": event_id,
        "subscriberId": subscriber_id,
        "httpStatus": http_status,
        "since": since,
        "until": until,
    }
    given = {name: value for name, value in filters.items() if value}
    rows = run(_deliveries(url, api_key, given, limit))
    if json:
        print_json_list("deliveries", rows)
        return
    print_table(
        ("id", "created", "type", "state", "attempts", "next attempt", "webhook"),
        [*map(_delivery_cells, rows)],
    )


@app.command()
@url_option
@api_key_option
@_webhook_option
@json_option
def tail(url: str, api_key: str, webhook: str, json: bool) -> None:
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
    return list(_member(client, page, "webhooks", list))


def _member(client: ServiceClient, body: Any, name: str, kind: type) -> Any:
    """Returns a member of a response. Raises CommandError if it has another type."""
    if not isinstance(body, dict) or not isinstance(body.get(name), kind):
        raise client.not_roster()
    return body[name]


async def _health(url: str, api_key: str, webhook: str) -> list[dict[str, Any]]:
    async with ServiceClient(url, api_key) as client:
        ids = [webhook] if webhook else [row["id"] for row in await _list(client)]
        paths = [f"/api/webhooks/{quote(id_, safe='')}/health" for id_ in ids]
        return [_member(client, await client.get(path), "health", dict) for path in paths]


def _health_cells(row: dict[str, Any]) -> tuple[str, ...]:
    succeeded = row["succeededAttempts"]
    number = succeeded + row["failedAttempts"]
    share = f"{succeeded} of {number} ({row['successRate']:.1%})" if number else "no attempts"
    last = [row.get(name, "") for name in ("failingSince", "lastError", "nextAttemptAt")]
    return row["webhookId"], str(row["state"]).lower(), share, str(row["waiting"]), *last


async def _deliveries(
    url: str, api_key: str, filters: dict[str, str], limit: int
) -> list[dict[str, Any]]:
    """Returns the first deliveries. A page can be shorter than its limit, so all are followed."""
    rows: list[dict[str, Any]] = []
    async with ServiceClient(url, api_key) as client:
        query = {**filters, "limit": str(min(limit, 100))}
        while len(rows) < limit:
            body, token = await client.get_page("/api/webhook-deliveries", query)
            rows += _member(client, body, "deliveries", list)
            if not token:
                break
            query["pageToken"] = token
    return rows[:limit]


def _delivery_cells(row: dict[str, Any]) -> tuple[str, ...]:
    names = ("id", "createdAt", "eventType", "state", "attemptCount", "nextAttemptAt", "webhookId")
    return tuple(str(row.get(name, "")) for name in names)


async def _print_attempts(url: str, api_key: str, webhook: str, *, as_json: bool) -> None:
    """Prints attempts until the service ends the response; then raises CommandError."""
    urls: dict[str, str] = {}
    async with ServiceClient(url, api_key) as client:
        async for record in _attempts(client, webhook):
            if as_json:
                echo(orjson.dumps(record).decode())
                continue
            webhook_id = record["delivery"]["webhookId"]
            if webhook_id not in urls:
                urls = {item["id"]: item["url"] for item in await _list(client)}
            echo(_line(record, urls.get(webhook_id, webhook_id)))


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


def _line(record: dict[str, Any], url: str) -> str:
    delivery, attempt = record["delivery"], record["attempt"]
    error = attempt.get("error", "")
    status = click.style(attempt.get("httpStatus", "---"), fg="red" if error else "green")
    line = (
        f"{attempt['startedAt']}  {status}  {delivery['eventType']:<24}  {url}"
        f"  {attempt['durationMs']} ms"
    )
    if error:
        line += f"  {click.style(error, fg='red')}  {delivery['id']}  {_next(record)}"
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
