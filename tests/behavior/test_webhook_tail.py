"""Tests tails, which stream delivery attempts as they finish, over every front."""

from __future__ import annotations

import json
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path

import grpc
import pytest

from rosterd.server.rpc.interceptors.concurrency_limit import MAX_STREAMS_OF_ACCOUNT

from ..conftest import Account, new_account
from ..features.webhooks.receiver import Receiver, Reply
from ..fronts import GrpcFront, HttpFront
from ..processes import start
from .deliveries import (
    TAIL,
    create_tags,
    create_webhook,
    deliveries,
    tail,
    tail_call,
    wait_for_states,
)
from .helpers import over_http
from .streams import export

EVENTS = "text/event-stream"


def test_tail_returns_attempts_when_they_finish(account: Account, receiver: Receiver) -> None:
    first, second = (
        create_webhook(account, receiver.url),
        create_webhook(account, f"{receiver.url}/other"),
    )

    with tail(account) as records:
        create_tags(account, "vip")
        received = [next(records), next(records)]
        finished = [
            *wait_for_states(account, first, "SUCCEEDED"),
            *wait_for_states(account, second, "SUCCEEDED"),
        ]
        account.ok("RetryWebhookDelivery", id=finished[0]["id"])
        retried = next(records)

    assert sorted((item["delivery"] for item in received), key=itemgetter("id")) == sorted(
        finished, key=itemgetter("id")
    )
    for item in (*received, retried):
        response = account.ok("GetWebhookDelivery", id=item["delivery"]["id"])
        assert set(item) == {"delivery", "attempt"}
        assert item["attempt"] in response["attempts"]
    assert (retried["delivery"]["id"], retried["attempt"]["number"]) == (finished[0]["id"], 2)


def test_tail_returns_failures_with_the_current_delivery(
    account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(account, receiver.url)

    with tail(account) as records:
        receiver.replies = [Reply(503, b"no")]
        create_tags(account, "vip")
        record = next(records)

    assert [record["delivery"]] == deliveries(account, webhook, eventType="tag.created")
    assert (record["delivery"]["state"], record["delivery"]["attemptCount"]) == ("PENDING", 1)
    assert (record["attempt"]["httpStatus"], record["attempt"]["error"]) == (503, "HTTP 503")


def test_tail_of_one_webhook_excludes_others(account: Account, receiver: Receiver) -> None:
    webhook = create_webhook(account, receiver.url, eventTypes=["tag.deleted"])
    other = create_webhook(account, f"{receiver.url}/other")

    with tail(account, webhookId=webhook["id"]) as records:
        tag = account.ok("CreateTag", name="vip")["tag"]
        wait_for_states(account, other, "SUCCEEDED")
        account.ok("DeleteTag", id=tag["id"])
        record = next(records)

    assert record["delivery"]["webhookId"] == webhook["id"]
    assert record["delivery"]["eventType"] == "tag.deleted"


def test_tail_excludes_other_accounts(
    account: Account, other_account: Account, receiver: Receiver
) -> None:
    theirs = create_webhook(other_account, f"{receiver.url}/theirs")
    ours = create_webhook(account, receiver.url)

    with tail(account) as records:
        create_tags(other_account, "vip")
        wait_for_states(other_account, theirs, "SUCCEEDED")
        create_tags(account, "vip")
        record = next(records)

    assert record["delivery"]["webhookId"] == ours["id"]


def test_tails_of_one_account_leave_streams_to_its_exports_and_to_other_accounts(
    account: Account, other_account: Account, receiver: Receiver
) -> None:
    create_webhook(other_account, receiver.url)

    with ExitStack() as tails:
        for _ in range(MAX_STREAMS_OF_ACCOUNT):
            tails.enter_context(tail(account))
        if isinstance(account.front, GrpcFront):
            with pytest.raises(grpc.RpcError) as failed:
                next(tail_call(account))
            assert failed.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        else:
            assert isinstance(account.front, HttpFront)
            status, headers, body = account.front.exchange("GET", TAIL, account.key)
            assert (status, json.loads(body)["error"]["code"]) == (429, "StreamLimitReached")
            assert headers["retry-after"] == "5"
        assert export(account) == []
        with tail(other_account) as records:
            create_tags(other_account, "vip")
            assert next(records)["delivery"]["eventType"] == "tag.created"


@over_http
def test_tail_is_available_as_server_sent_events(account: Account, receiver: Receiver) -> None:
    create_webhook(account, receiver.url)

    with tail(account, accept=EVENTS) as records:
        create_tags(account, "vip")
        record = next(records)

    assert record["delivery"]["eventType"] == "tag.created"


@over_http
def test_tail_ends_when_its_key_is_revoked(account: Account) -> None:
    reader = account.with_key(account.new_key("read"))

    with tail(reader) as records:
        key = next(key for key in account.ok("ListApiKeys")["apiKeys"] if key["scope"] == "read")
        account.ok("RevokeApiKey", id=key["id"])
        last = list(records)[-1]

    assert last["error"]["code"] == "Unauthorized"


def test_tail_ends_when_the_service_stops(tmp_path: Path) -> None:
    service = start(tmp_path)
    account = new_account(service, HttpFront("http", service.http))

    with tail(account) as records:
        assert service.stop() == 0
        last = list(records)[-1]

    assert last["error"]["code"] == "Unavailable"
