"""Tests webhooks, their secrets and test deliveries over every front."""

from __future__ import annotations

import http.client
import re
import threading
from typing import Any

import grpc
import pytest
from standardwebhooks import WebhookVerificationError

from roster.v1 import webhooks_pb2 as pb

from ..components import wait_until
from ..conftest import Account
from ..features.webhooks.receiver import Receiver, Reply
from ..fronts import GrpcFront, HttpFront, Response
from .helpers import MISSING_ID, call_concurrently, over_http, send, statuses

URL = "https://example.com/hooks/roster"
SECRET = re.compile(r"whsec_[0-9A-Za-z+/]{43}=")
KEYS = {"id", "url", "description", "eventTypes", "enabled", "createdAt", "updatedAt"}


def create_webhook(account: Account, url: str = URL, **fields: Any) -> dict[str, Any]:
    webhook: dict[str, Any] = account.ok("CreateWebhook", url=url, **fields)["webhook"]
    return webhook


def stored(account: Account, webhook: dict[str, Any]) -> dict[str, Any]:
    """Returns the stored state of a webhook."""
    state: dict[str, Any] = account.ok("GetWebhook", id=webhook["id"])["webhook"]
    return state


INVALID_FIELDS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "private address": ({"url": "https://10.0.0.1/"}, [("url", "INVALID_VALUE")]),
    "unknown event types": (
        {"eventTypes": ["tag.*", "tags.*", "subscriber.created", "*"]},
        [("eventTypes[1]", "INVALID_VALUE"), ("eventTypes[3]", "INVALID_VALUE")],
    ),
}


@pytest.mark.parametrize(("fields", "details"), INVALID_FIELDS.values(), ids=INVALID_FIELDS)
def test_create_webhook_rejects_invalid_fields(
    account: Account, fields: dict[str, Any], details: list[tuple[str, str]]
) -> None:
    error = account.fails("ValidationError", "CreateWebhook", **{"url": URL, **fields})

    assert (error.status, error.violations) == (400, details)
    assert account.ok("ListWebhooks")["total"] == 0


def test_webhook_limit_holds_for_concurrent_creations(account: Account) -> None:
    for _ in range(19):
        create_webhook(account)

    responses = call_concurrently(*[lambda: account.call("CreateWebhook", url=URL)] * 6)

    assert statuses(responses) == [201, 409, 409, 409, 409, 409]
    assert account.ok("ListWebhooks")["total"] == 20


def test_test_delivery_sends_a_signed_event_and_returns_the_result(
    account: Account, receiver: Receiver
) -> None:
    created = account.ok("CreateWebhook", url=receiver.url)
    webhook = created["webhook"]

    response = account.call("TestWebhook", id=webhook["id"])

    assert response.status == 200
    (request,) = receiver.received
    event = request.verified(created["secret"])
    assert (event["type"], event["data"]) == ("webhook.test", {"webhook": webhook})
    assert "previous" not in event
    assert request.headers["webhook-id"] == event["id"]
    assert account.ok("ListEvents")["events"] == [event]
    delivery, attempt = response.body["delivery"], response.body["attempt"]
    assert set(delivery) == {
        *("id", "webhookId", "eventId", "eventType", "state", "attemptCount", "createdAt"),
        *("endedAt", "attempts"),
    }
    assert (delivery["webhookId"], delivery["eventId"]) == (webhook["id"], event["id"])
    assert (delivery["eventType"], delivery["state"]) == ("webhook.test", "SUCCEEDED")
    assert delivery["attemptCount"] == attempt["number"] == 1
    assert (attempt["httpStatus"], attempt["responseBody"]) == (200, "ok")
    assert "error" not in attempt
    stored_delivery = account.ok("GetWebhookDelivery", id=delivery["id"])
    assert stored_delivery == {"delivery": delivery, "attempts": [attempt]}


def test_failed_test_delivery_is_not_retried_and_does_not_change_the_webhook_health(
    account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(account, receiver.url)
    receiver.replies = [Reply(410, b"gone \xff\x00")]

    body = account.ok("TestWebhook", id=webhook["id"])

    assert (body["delivery"]["state"], body["delivery"]["attemptCount"]) == ("FAILED", 1)
    assert "nextAttemptAt" not in body["delivery"]
    assert (body["attempt"]["httpStatus"], body["attempt"]["error"]) == (410, "HTTP 410")
    assert body["attempt"]["responseBody"] == "gone \\xff\\x00"
    assert stored(account, webhook) == webhook
    account.ok("CreateTag", name="vip")
    # Requests arrive in order, so no second attempt was made in between.
    assert [request.event["type"] for request in receiver.wait_for(2)] == [
        "webhook.test",
        "tag.created",
    ]


def test_test_delivery_reaches_a_disabled_webhook_with_other_event_types(
    account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(account, receiver.url, enabled=False, eventTypes=["tag.*"])

    assert account.ok("TestWebhook", id=webhook["id"])["delivery"]["state"] == "SUCCEEDED"
    assert len(receiver.received) == 1


def test_webhook_deleted_during_its_test_delivery_is_not_found(
    account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(account, receiver.url)
    receiver.replies = [Reply(before=lambda: account.ok("DeleteWebhook", id=webhook["id"]))]

    account.fails("WebhookNotFound", "TestWebhook", id=webhook["id"])


def test_current_and_previous_secret_sign_after_a_rotation(
    account: Account, receiver: Receiver
) -> None:
    created = account.ok("CreateWebhook", url=receiver.url)
    webhook_id, secrets = created["webhook"]["id"], [created["secret"]]

    for _ in range(2):
        response = account.call("RotateWebhookSecret", id=webhook_id)
        assert response.status == 200
        assert set(response.body) == {"webhook", "secret"}
        assert SECRET.fullmatch(response.body["secret"])
        secrets.append(response.body["secret"])
        account.ok("TestWebhook", id=webhook_id)

    first, second = receiver.received
    for request, known, unknown in (
        (first, secrets[:2], secrets[2]),
        (second, secrets[1:], secrets[0]),
    ):
        assert [request.verified(secret) for secret in known] == [request.event] * 2
        with pytest.raises(WebhookVerificationError):
            request.verified(unknown)
    assert len(set(secrets)) == 3


@over_http
def test_repeated_test_delivery_sends_one_request(account: Account, receiver: Receiver) -> None:
    webhook = create_webhook(account, receiver.url)
    assert isinstance(account.front, HttpFront)

    def run_test(webhook_id: str) -> tuple[int, dict[str, str], bytes]:
        assert isinstance(account.front, HttpFront)
        path, headers = f"/api/webhooks/{webhook_id}/test", {"Idempotency-Key": "a"}
        return account.front.exchange("POST", path, account.key, headers=headers)

    first, second, other = run_test(webhook["id"]), run_test(webhook["id"]), run_test(MISSING_ID)

    assert (first[0], first[2]) == (second[0], second[2])
    assert "idempotency-replayed" not in first[1]
    assert second[1]["idempotency-replayed"] == "true"
    assert other[0] == 422
    assert len(receiver.received) == 1
    assert account.ok("ListEvents")["total"] == 1


def test_fifth_concurrent_test_delivery_of_a_webhook_is_rate_limited(
    account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(account, receiver.url)
    responses: list[Response] = []

    def run_test() -> None:
        responses.append(account.call("TestWebhook", id=webhook["id"]))

    # Each test delivery starts the next one before it receives its response.
    receiver.replies = [Reply(before=run_test)] * 4
    run_test()

    fifth, *others = responses
    assert (fifth.status, fifth.code) == (429, "TestDeliveryLimitReached")
    assert statuses(others) == [200] * 4
    assert len(receiver.received) == account.ok("ListEvents")["total"] == 4


def final_status(account: Account, webhook: dict[str, Any]) -> str:
    """Waits until the only delivery to a webhook has finished, and returns its status."""

    def delivery() -> dict[str, Any]:
        deliveries = account.ok("ListWebhookDeliveries", id=webhook["id"])["deliveries"]
        return next(iter(deliveries), {})

    wait_until(lambda: "endedAt" in delivery(), "the test has no result")
    return str(delivery()["state"])


def test_test_delivery_continues_after_its_deadline(
    grpc_account: Account, receiver: Receiver
) -> None:
    webhook, canceled = create_webhook(grpc_account, receiver.url), threading.Event()
    receiver.replies = [Reply(before=canceled.wait)]
    assert isinstance(grpc_account.front, GrpcFront)
    call = grpc_account.front.stub("TestWebhook")
    request = pb.TestWebhookRequest(id=webhook["id"])

    with pytest.raises(grpc.RpcError) as error:
        call(request, metadata=[("authorization", f"Bearer {grpc_account.key}")], timeout=2)
    canceled.set()

    assert error.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    assert final_status(grpc_account, webhook) == "SUCCEEDED"
    assert len(receiver.received) == 1


@over_http
def test_test_delivery_continues_after_the_client_disconnects(
    account: Account, receiver: Receiver
) -> None:
    webhook, canceled = create_webhook(account, receiver.url), threading.Event()
    receiver.replies = [Reply(before=canceled.wait)]
    assert isinstance(account.front, HttpFront)
    connection = http.client.HTTPConnection(account.front.address)
    headers = {"Authorization": f"Bearer {account.key}", "Idempotency-Key": "a"}
    path = f"/api/webhooks/{webhook['id']}/test"

    connection.request("POST", path, headers=headers)
    receiver.wait_for(1)
    connection.close()
    canceled.set()

    assert final_status(account, webhook) == "SUCCEEDED"
    repeated = send(account, "POST", path, headers={"Idempotency-Key": "a"})
    assert (repeated.status, repeated.body["delivery"]["state"]) == (200, "SUCCEEDED")
    assert len(receiver.received) == 1
