"""What the tests of deliveries share: webhooks, what becomes of deliveries, and tails."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from peewee import SQL
from roster.v1 import webhooks_pb2 as pb

from server.storage.statements import Statement

from ..conftest import Account
from ..fronts import GrpcFront, HttpFront, to_json
from ..storage.helpers import select

PATIENCE = 20.0
FAILED = 4
Row = dict[str, Any]
TAIL = "/api/webhook-deliveries/tail"


def webhook(account: Account, url: str, **given: Any) -> Row:
    """Creates a webhook and returns it."""
    made: Row = account.ok("CreateWebhook", url=url, **given)["webhook"]
    return made


def tags(account: Account, *names: str) -> None:
    """Creates tags, each of which is an event."""
    for name in names:
        account.ok("CreateTag", name=name)


def deliveries(account: Account, made: Row, **asked: Any) -> list[Row]:
    """Returns the first hundred deliveries to a webhook, newest first."""
    page = account.ok("ListWebhookDeliveries", webhookId=made["id"], limit=100, **asked)
    listed: list[Row] = page["deliveries"]
    assert page["total"] == len(listed)
    return listed


def until(account: Account, made: Row, holds: Callable[[list[Row]], Any]) -> list[Row]:
    """Waits until something holds of the deliveries to a webhook, and returns them."""
    end = time.monotonic() + PATIENCE
    while not holds(found := deliveries(account, made)):
        assert time.monotonic() < end, found
        time.sleep(0.02)
    return found


def settled(account: Account, made: Row, *statuses: str) -> list[Row]:
    """Waits until the deliveries to a webhook have these statuses, newest first."""
    return until(account, made, lambda found: [each["status"] for each in found] == list(statuses))


def set_failed(account: Account, *found: Row) -> None:
    """Makes deliveries what they are three days after an endpoint has failed."""
    with account.service.unit_of_work() as tx:
        for each in found:
            text = (
                f"UPDATE delivery SET status = {FAILED}, due_at = NULL, finished_at = created_at"
                f" WHERE account_id = '{account.id}' AND id = '{each['id']}'"
            )
            tx.run(Statement(lambda _, text=text: SQL(text)))  # type: ignore[misc]


def replays_left(account: Account) -> int:
    """Returns how many replays have not come to their end."""
    text = f"SELECT COUNT(*) FROM webhook_replay WHERE account_id = '{account.id}'"
    with account.service.unit_of_work() as tx:
        return int(select(text, tx)[0][0])


@contextmanager
def tail(account: Account, *, accept: str = "", **asked: str) -> Iterator[Iterator[Row]]:
    """Follows attempts for the length of a block. What comes are the records as JSON.

    Every attempt that ends within the block is followed.
    """
    if isinstance(account.front, GrpcFront):
        call = tail_call(account, **asked)
        call.initial_metadata()
        try:
            yield (to_json(reply) for reply in call)
        finally:
            call.cancel()
        return
    assert isinstance(account.front, HttpFront)
    connection = http.client.HTTPConnection(account.front.address, timeout=PATIENCE)
    query = f"?webhookId={asked['webhookId']}" if asked else ""
    headers = {"Authorization": f"Bearer {account.key}", **({"Accept": accept} if accept else {})}
    connection.request("GET", f"{TAIL}{query}", headers=headers)
    try:
        response = connection.getresponse()
        assert response.status == 200
        yield _records(response)
    finally:
        connection.close()


def tail_call(account: Account, **asked: str) -> Any:
    """Returns a call over gRPC that follows attempts."""
    assert isinstance(account.front, GrpcFront)
    follow = account.front.channel.unary_stream(
        "/roster.v1.WebhookService/TailWebhookDeliveries",
        request_serializer=pb.TailWebhookDeliveriesRequest.SerializeToString,
        response_deserializer=pb.TailWebhookDeliveriesResponse.FromString,
    )
    request = pb.TailWebhookDeliveriesRequest(webhook_id=asked.get("webhookId", ""))
    metadata = (("authorization", f"Bearer {account.key}"),)
    return follow(request, metadata=metadata, timeout=PATIENCE)


def _records(response: http.client.HTTPResponse) -> Iterator[Row]:
    """Yields the records of an answer, whose lines may be those of events."""
    while line := response.readline():
        if line.startswith((b"{", b"data: ")):
            yield json.loads(line.removeprefix(b"data: "))


def events_of(found: Sequence[Row]) -> list[str]:
    """Returns the ids of the events of deliveries."""
    return [each["eventId"] for each in found]
