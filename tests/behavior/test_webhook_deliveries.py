"""Tests webhook deliveries over every front."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook

from rosterd.server.features.webhooks.rules import FAILURES_BEFORE_PAUSE, MIN_PAUSE

from ..conftest import Account
from ..features.webhooks.receiver import Receiver, Reply
from .deliveries import (
    Row,
    create_tags,
    create_webhook,
    deliveries,
    set_failed,
    wait_for,
    wait_for_states,
)
from .helpers import MISSING_ID, create_subscriber

BROKEN = Reply(503, b"out of \xff order")


def test_attempt_includes_the_request_headers_as_sent(account: Account, receiver: Receiver) -> None:
    created = account.ok("CreateWebhook", url=receiver.url)
    webhook = created["webhook"]
    account.ok("RotateWebhookSecret", id=webhook["id"])
    create_tags(account, "vip")
    (delivery,) = wait_for_states(account, webhook, "SUCCEEDED")
    (request,) = receiver.received

    (attempt,) = account.ok("GetWebhookDelivery", id=delivery["id"])["attempts"]

    shown = {name.lower(): value for name, value in attempt["requestHeaders"].items()}
    assert request.headers == {
        **shown,
        "host": request.headers["host"],
        "content-length": str(len(request.body)),
    }
    # The previous secret signs too.
    assert len(shown["webhook-signature"].split()) == 2
    assert Webhook(created["secret"]).verify(request.body, shown) == request.event
    assert created["secret"].removeprefix("whsec_") not in str(attempt)


def test_failed_attempt_includes_the_time_of_the_next_attempt(
    account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(account, receiver.url)
    receiver.replies = [BROKEN]
    create_tags(account, "vip")

    (delivery,) = wait_for(account, webhook, lambda items: items and items[0]["attemptCount"] == 1)

    assert delivery["state"] == "PENDING"
    assert "endedAt" not in delivery
    (attempt,) = account.ok("GetWebhookDelivery", id=delivery["id"])["attempts"]
    assert (attempt["httpStatus"], attempt["error"]) == (503, "HTTP 503")
    assert attempt["responseBody"] == "out of \\xff order"
    assert delivery["nextAttemptAt"] == attempt["nextAttemptAt"] > attempt["startedAt"]
    account.ok("UpdateWebhook", id=webhook["id"], enabled=False)
    (delivery,) = deliveries(account, webhook, state="PENDING")
    assert "nextAttemptAt" not in delivery


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("rpc", "fields"), [("TestWebhook", {}), ("UpdateWebhook", {"enabled": True})]
)
def test_next_attempt_is_at_the_end_of_a_pause_or_when_a_request_ends_it(
    account: Account, receiver: Receiver, rpc: str, fields: dict[str, Any]
) -> None:
    webhook = create_webhook(account, receiver.url)
    receiver.replies = [BROKEN] * 20
    create_tags(account, *map(str, range(FAILURES_BEFORE_PAUSE)))
    failed = wait_for(
        account,
        webhook,
        lambda items: sum(i["attemptCount"] for i in items) >= FAILURES_BEFORE_PAUSE,
    )

    retried = account.ok("RetryWebhookDelivery", id=failed[0]["id"])["delivery"]
    (attempt, *_) = account.ok("GetWebhookDelivery", id=failed[0]["id"])["attempts"]
    pause = timedelta(milliseconds=MIN_PAUSE)
    expected = datetime.fromisoformat(attempt["startedAt"]) + pause
    assert datetime.fromisoformat(retried["nextAttemptAt"]) >= expected
    assert retried in deliveries(account, webhook)
    receiver.replies = []
    account.ok(rpc, id=webhook["id"], **fields)

    wait_for(account, webhook, lambda items: "SUCCEEDED" in statuses(items, retried["id"]))


def statuses(items: list[Row], delivery_id: str) -> list[str]:
    return [item["state"] for item in items if item["id"] == delivery_id]


def test_delivery_filters_are_combined(account: Account, receiver: Receiver) -> None:
    webhook = create_webhook(account, receiver.url)
    tag = account.ok("CreateTag", name="vip")["tag"]
    wait_for_states(account, webhook, "SUCCEEDED")
    receiver.replies = [BROKEN]
    account.ok("DeleteTag", id=tag["id"])
    deleted, created = wait_for(
        account, webhook, lambda items: [f["attemptCount"] for f in items] == [1, 1]
    )

    expected: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        ({"state": "SUCCEEDED"}, [created]),
        ({"state": "PENDING"}, [deleted]),
        ({"state": "FAILED"}, []),
        ({"state": "SENDING"}, []),
        ({"eventType": "tag.deleted"}, [deleted]),
        ({"eventType": "tag.deleted", "state": "SUCCEEDED"}, []),
        ({"eventType": "tag.*"}, [deleted, created]),
        ({"eventType": "tag.*", "state": "SUCCEEDED"}, [created]),
        ({"eventType": "subscriber.*"}, []),
        ({"eventId": created["eventId"]}, [created]),
        ({"eventId": created["eventId"], "state": "SUCCEEDED"}, [created]),
        ({"eventId": created["eventId"], "eventType": "tag.deleted"}, []),
        ({"eventId": "evt_none"}, []),
        ({"createdAfter": created["createdAt"]}, [deleted]),
        ({"createdBefore": deleted["createdAt"]}, [created]),
        ({"createdBefore": created["createdAt"]}, []),
        ({"createdAfter": "2020-01-01T00:00:00Z", "state": "PENDING"}, [deleted]),
    ]
    assert [(f, deliveries(account, webhook, **f)) for f, _ in expected] == expected


@pytest.mark.each_database
def test_deliveries_to_all_webhooks_are_found_by_every_filter(
    account: Account, receiver: Receiver
) -> None:
    first = create_webhook(account, receiver.url, eventTypes=["tag.*"])
    second = create_webhook(account, f"{receiver.url}/other", eventTypes=["subscriber.*"])
    gone = create_webhook(account, f"{receiver.url}/gone")
    tag = account.ok("CreateTag", name="vip")["tag"]
    (created,) = wait_for_states(account, first, "SUCCEEDED")
    receiver.replies = [BROKEN] * 2
    account.ok("DeleteTag", id=tag["id"])
    for webhook in (gone, first):
        deleted, _ = wait_for(
            account, webhook, lambda items: [i["attemptCount"] for i in items] == [1, 1]
        )
    ada = create_subscriber(account)
    (of_ada,) = wait_for_states(account, second, "SUCCEEDED")
    account.ok("DeleteWebhook", id=gone["id"])
    set_failed(account, deleted)
    (deleted, _) = deliveries(account, first)

    expected: list[tuple[dict[str, Any], list[Row]]] = [
        ({}, [of_ada, deleted, created]),
        ({"webhookId": first["id"]}, [deleted, created]),
        ({"state": "SUCCEEDED"}, [of_ada, created]),
        ({"state": "FAILED"}, [deleted]),
        ({"state": "FAILED", "webhookId": second["id"]}, []),
        ({"state": "PENDING"}, []),
        ({"eventType": "tag.*"}, [deleted, created]),
        ({"eventType": "tag.created", "state": "FAILED"}, []),
        ({"eventId": deleted["eventId"]}, [deleted]),
        ({"eventId": deleted["eventId"], "httpStatus": 503}, [deleted]),
        ({"eventId": deleted["eventId"], "httpStatus": 200}, []),
        ({"subscriberId": "ADA@example.com"}, [of_ada]),
        ({"subscriberId": ada["id"], "httpStatus": 200}, [of_ada]),
        ({"subscriberId": ada["id"], "eventId": deleted["eventId"]}, []),
        ({"subscriberId": MISSING_ID}, []),
        ({"httpStatus": 503}, [deleted]),
        ({"httpStatus": 503, "state": "SUCCEEDED"}, []),
        ({"httpStatus": 503, "webhookId": second["id"]}, []),
        ({"httpStatus": 200}, [of_ada, created]),
        ({"httpStatus": 200, "state": "SUCCEEDED", "eventType": "tag.*"}, [created]),
        ({"httpStatus": 204}, []),
        ({"since": deleted["createdAt"]}, [of_ada, deleted]),
        ({"until": deleted["createdAt"]}, [created]),
        ({"since": deleted["createdAt"], "until": of_ada["createdAt"]}, [deleted]),
        ({"since": "2020-01-01T00:00:00Z", "httpStatus": 503}, [deleted]),
        ({"until": created["createdAt"], "httpStatus": 503}, []),
    ]
    listed = [(given, account.ok("ListAllWebhookDeliveries", **given)) for given, _ in expected]
    assert [(given, page["deliveries"]) for given, page in listed] == expected
    assert [page["total"] for _, page in listed] == [len(rows) for _, rows in expected]
    account.fails("WebhookNotFound", "ListAllWebhookDeliveries", webhookId=gone["id"])
    account.fails("SubscriberNotFound", "ListAllWebhookDeliveries", subscriberId="eve@example.com")


def test_retried_delivery_is_sent_immediately(account: Account, receiver: Receiver) -> None:
    webhook = create_webhook(account, receiver.url)
    receiver.replies = [BROKEN]
    create_tags(account, "vip")
    (before,) = wait_for(account, webhook, lambda items: items and items[0]["attemptCount"] == 1)

    response = account.call("RetryWebhookDelivery", id=before["id"])

    assert response.status == 202
    retried = response.body["delivery"]
    assert (retried["id"], retried["state"]) == (before["id"], "PENDING")
    assert retried["nextAttemptAt"] < before["nextAttemptAt"]
    (after,) = wait_for_states(account, webhook, "SUCCEEDED")
    attempts = account.ok("GetWebhookDelivery", id=after["id"])["attempts"]
    assert [attempt["number"] for attempt in attempts] == [1, 2]
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body


def test_retry_does_not_change_a_delivery_that_is_being_sent(
    account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(account, receiver.url)
    retried = []

    def retry() -> None:
        (delivery,) = wait_for_states(account, webhook, "SENDING")
        retried.append(account.ok("RetryWebhookDelivery", id=delivery["id"])["delivery"])

    receiver.replies = [Reply(before=retry)]
    create_tags(account, "vip")

    (delivery,) = wait_for_states(account, webhook, "SUCCEEDED")
    assert [item["state"] for item in retried] == ["SENDING"]
    assert "nextAttemptAt" not in retried[0]
    assert (delivery["attemptCount"], len(receiver.received)) == (1, 1)
