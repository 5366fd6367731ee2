"""Tails: attempts are told of as they end, through every front."""

from __future__ import annotations

import json
from operator import itemgetter
from pathlib import Path
from typing import Any

import grpc
import pytest

from ..conftest import Account, new_account
from ..fronts import GrpcFront, HttpFront
from ..processes import start
from ..webhooks.receiver import Receiver, Reply
from .deliveries import TAIL, deliveries, settled, tags, tail, tail_call, webhook
from .helpers import MISSING_ID, over_http

Row = dict[str, Any]
EVENTS = "text/event-stream"


def test_tail_tells_of_attempts_as_they_end(account: Account, receiver: Receiver) -> None:
    first, second = webhook(account, receiver.url), webhook(account, f"{receiver.url}/other")

    with tail(account) as records:
        tags(account, "vip")
        told = [next(records), next(records)]
        ended = [*settled(account, first, "SUCCEEDED"), *settled(account, second, "SUCCEEDED")]
        account.ok("RetryWebhookDelivery", id=ended[0]["id"])
        again = next(records)

    assert sorted((each["delivery"] for each in told), key=itemgetter("id")) == sorted(
        ended, key=itemgetter("id")
    )
    for each in (*told, again):
        shown = account.ok("GetWebhookDelivery", id=each["delivery"]["id"])
        assert set(each) == {"delivery", "attempt"}
        assert each["attempt"] in shown["attempts"]
    assert (again["delivery"]["id"], again["attempt"]["number"]) == (ended[0]["id"], 2)


def test_tail_tells_of_failures_with_the_delivery_as_it_is_then(
    account: Account, receiver: Receiver
) -> None:
    made = webhook(account, receiver.url)

    with tail(account) as records:
        receiver.replies = [Reply(503, b"no")]
        tags(account, "vip")
        told = next(records)

    assert [told["delivery"]] == deliveries(account, made, eventType="tag.created")
    assert (told["delivery"]["status"], told["delivery"]["attempts"]) == ("PENDING", 1)
    assert (told["attempt"]["httpStatus"], told["attempt"]["error"]) == (503, "answered 503")


def test_tail_of_one_webhook_tells_of_no_other(account: Account, receiver: Receiver) -> None:
    made = webhook(account, receiver.url, eventTypes=["tag.deleted"])
    other = webhook(account, f"{receiver.url}/other")

    with tail(account, webhookId=made["id"]) as records:
        tag = account.ok("CreateTag", name="vip")["tag"]
        settled(account, other, "SUCCEEDED")
        account.ok("DeleteTag", id=tag["id"])
        told = next(records)

    assert told["delivery"]["webhookId"] == made["id"]
    assert told["delivery"]["eventType"] == "tag.deleted"


def test_tail_tells_nothing_of_another_account(
    account: Account, other_account: Account, receiver: Receiver
) -> None:
    theirs = webhook(other_account, f"{receiver.url}/theirs")
    ours = webhook(account, receiver.url)

    with tail(account) as records:
        tags(other_account, "vip")
        settled(other_account, theirs, "SUCCEEDED")
        tags(account, "vip")
        told = next(records)

    assert told["delivery"]["webhookId"] == ours["id"]


@pytest.mark.parametrize("unknown", [MISSING_ID, "no id"])
def test_tail_of_a_missing_webhook_is_not_found(
    account: Account, other_account: Account, unknown: str
) -> None:
    theirs = webhook(other_account, "https://example.com/")

    for own_id in (unknown, theirs["id"]):
        if isinstance(account.front, GrpcFront):
            with pytest.raises(grpc.RpcError) as failed:
                next(tail_call(account, webhookId=own_id))
            assert failed.value.code() == grpc.StatusCode.NOT_FOUND
        else:
            assert isinstance(account.front, HttpFront)
            path = f"{TAIL}?webhookId={own_id.replace(' ', '%20')}"
            status, _, body = account.front.exchange("GET", path, account.key)
            assert (status, json.loads(body)["error"]["code"]) == (404, "WebhookNotFound")


@over_http
def test_tail_comes_as_events_for_browsers(account: Account, receiver: Receiver) -> None:
    webhook(account, receiver.url)

    with tail(account, accept=EVENTS) as records:
        tags(account, "vip")
        told = next(records)

    assert told["delivery"]["eventType"] == "tag.created"


@over_http
def test_tail_ends_with_its_key(account: Account) -> None:
    reader = account.with_key(account.new_key("read"))

    with tail(reader) as records:
        key = next(key for key in account.ok("ListApiKeys")["apiKeys"] if key["scope"] == "read")
        account.ok("RevokeApiKey", id=key["id"])
        last = list(records)[-1]

    assert last["error"]["code"] == "Unauthorized"


def test_tail_ends_when_the_service_stops_and_does_not_keep_it(tmp_path: Path) -> None:
    service = start(tmp_path)
    account = new_account(service, HttpFront("http", service.http))

    with tail(account) as records:
        assert service.stop() == 0
        last = list(records)[-1]

    assert last["error"]["code"] == "Unavailable"
