"""What the commands for webhooks ask of a running service, and print while it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
from rich.text import Text

from ..console import ExitCode, console
from .transfer.errors import TransferError
from .transfer.service_client import Remote, blocks, told_error

_DATA = b"data: "


async def webhooks(url: str, api_key: str) -> list[dict[str, Any]]:
    """Returns the webhooks of an account. Raises TransferError."""
    remote = Remote(url, api_key)
    async with remote:
        return await _known(remote)


async def _known(remote: Remote) -> list[dict[str, Any]]:
    page = await remote.get("/api/webhooks", limit="100")
    if not isinstance(page, dict) or not isinstance(page.get("webhooks"), list):
        raise remote.stranger()
    return list(page["webhooks"])


async def print_attempts(url: str, api_key: str, webhook: str, *, as_json: bool) -> None:
    """Prints attempts until the service ends it. Raises TransferError then."""
    remote = Remote(url, api_key)
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
