"""Helpers for tests of deliveries: webhooks, waiting for deliveries, and tails."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from peewee import SQL

from roster.v1 import webhooks_pb2 as pb
from rosterd.server.storage.statements import Statement

from ..conftest import Account
from ..fronts import GrpcFront, HttpFront, to_json

TIMEOUT = 60.0
FAILED = 4
Row = dict[str, Any]
TAIL = "/api/webhook-deliveries/tail"


def create_webhook(account: Account, url: str, **fields: Any) -> Row:
    webhook: Row = account.ok("CreateWebhook", url=url, **fields)["webhook"]
    return webhook


def create_tags(account: Account, *names: str) -> None:
    """Creates tags. Each one records one event."""
    for name in names:
        account.ok("CreateTag", name=name)


def deliveries(account: Account, webhook: Row, **filters: Any) -> list[Row]:
    """Returns the first hundred deliveries to a webhook, newest first."""
    page = account.ok("ListWebhookDeliveries", id=webhook["id"], limit=100, **filters)
    listed: list[Row] = page["deliveries"]
    assert page["total"] == len(listed)
    return listed


def wait_for(account: Account, webhook: Row, condition: Callable[[list[Row]], Any]) -> list[Row]:
    """Waits until the deliveries to a webhook fulfill a condition, and returns them."""
    end = time.monotonic() + TIMEOUT
    while not condition(items := deliveries(account, webhook)):
        assert time.monotonic() < end, items
        time.sleep(0.02)
    return items


def wait_for_states(account: Account, webhook: Row, *states: str) -> list[Row]:
    """Waits until the deliveries to a webhook have these states, newest first."""
    return wait_for(
        account, webhook, lambda items: [item["state"] for item in items] == list(states)
    )


def set_failed(account: Account, *items: Row) -> None:
    """Sets deliveries to FAILED, as after the last attempt."""
    with account.service.unit_of_work() as tx:
        for item in items:
            text = (
                f"UPDATE delivery SET status = {FAILED}, due_at = NULL, finished_at = created_at"
                f" WHERE account_id = '{account.id}' AND id = '{item['id']}'"
            )
            tx.run(Statement(lambda _, text=text: SQL(text)))


def running_operations(account: Account) -> list[Row]:
    """Returns the operations that have not ended, the newest first."""
    operations: list[Row] = account.ok("ListOperations", limit=100)["operations"]
    return [operation for operation in operations if not operation["done"]]


@contextmanager
def tail(account: Account, *, accept: str = "", **filters: str) -> Iterator[Iterator[Row]]:
    """Tails attempts, and yields the records as JSON.

    The records include every attempt that finishes inside the block.
    """
    if isinstance(account.front, GrpcFront):
        call = tail_call(account, **filters)
        call.initial_metadata()
        try:
            yield (to_json(reply) for reply in call)
        finally:
            call.cancel()
        return
    assert isinstance(account.front, HttpFront)
    connection = http.client.HTTPConnection(account.front.address, timeout=TIMEOUT)
    query = f"?webhookId={filters['webhookId']}" if filters else ""
    headers = {"Authorization": f"Bearer {account.key}", **({"Accept": accept} if accept else {})}
    connection.request("GET", f"{TAIL}{query}", headers=headers)
    try:
        response = connection.getresponse()
        assert response.status == 200
        yield _records(response)
    finally:
        connection.close()


def tail_call(account: Account, **filters: str) -> Any:
    """Returns a gRPC call that tails attempts."""
    assert isinstance(account.front, GrpcFront)
    follow = account.front.channel.unary_stream(
        "/roster.v1.WebhookService/TailWebhookDeliveries",
        request_serializer=pb.TailWebhookDeliveriesRequest.SerializeToString,
        response_deserializer=pb.TailWebhookDeliveriesResponse.FromString,
    )
    request = pb.TailWebhookDeliveriesRequest(webhook_id=filters.get("webhookId", ""))
    metadata = (("authorization", f"Bearer {account.key}"),)
    return follow(request, metadata=metadata, timeout=TIMEOUT)


def _records(response: http.client.HTTPResponse) -> Iterator[Row]:
    """Yields the records of an NDJSON or event-stream response."""
    while line := response.readline():
        if line.startswith((b"{", b"data: ")):
            yield json.loads(line.removeprefix(b"data: "))


def events_of(listed: Sequence[Row]) -> list[str]:
    """Returns the event IDs of deliveries."""
    return [delivery["eventId"] for delivery in listed]
