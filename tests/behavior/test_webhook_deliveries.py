"""Deliveries as callers see them, through every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from ..fronts import Response
from ..webhooks.receiver import Receiver, Reply
from .deliveries import deliveries, events_of, settled, tags, until, webhook
from .helpers import MISSING_ID, over_http, send

BROKEN = Reply(503, b"out of \xff order")


def test_delivery_and_its_attempt_have_exactly_the_documented_keys(
    account: Account, receiver: Receiver
) -> None:
    made = webhook(account, receiver.url)
    tags(account, "vip")
    (delivery,) = settled(account, made, "SUCCEEDED")
    (request,) = receiver.received

    answer = account.call("GetWebhookDelivery", id=delivery["id"])

    assert answer.status == 200
    assert set(answer.body) == {"delivery", "attempts"}
    assert answer.body["delivery"] == delivery
    assert set(delivery) == {
        *("id", "webhookId", "eventId", "eventType", "status", "attempts", "createdAt"),
        "finishedAt",
    }
    assert (delivery["webhookId"], delivery["eventId"]) == (made["id"], request.event["id"])
    assert (delivery["eventType"], delivery["attempts"]) == ("tag.created", 1)
    (attempt,) = answer.body["attempts"]
    assert set(attempt) == {"number", "startedAt", "durationMs", "httpStatus", "responseBody"}
    assert (attempt["number"], attempt["httpStatus"], attempt["responseBody"]) == (1, 200, "ok")
    assert delivery["createdAt"] <= attempt["startedAt"] <= delivery["finishedAt"]


def test_failed_attempt_includes_the_time_of_the_next_attempt(
    account: Account, receiver: Receiver
) -> None:
    made = webhook(account, receiver.url)
    receiver.replies = [BROKEN]
    tags(account, "vip")

    (delivery,) = until(account, made, lambda found: found and found[0]["attempts"] == 1)

    assert delivery["status"] == "PENDING"
    assert "finishedAt" not in delivery
    (attempt,) = account.ok("GetWebhookDelivery", id=delivery["id"])["attempts"]
    assert (attempt["httpStatus"], attempt["error"]) == (503, "answered 503")
    assert attempt["responseBody"] == "out of \\xff order"
    assert delivery["nextAttemptAt"] > attempt["startedAt"]


def test_deliveries_are_listed_newest_first_in_pages(account: Account, receiver: Receiver) -> None:
    made, other = webhook(account, receiver.url), webhook(account, receiver.url)
    tags(account, "a", "b", "c")
    newest, *_, oldest = events = events_of(settled(account, made, *["SUCCEEDED"] * 3))
    assert events == sorted(events, reverse=True)
    settled(account, other, *["SUCCEEDED"] * 3)

    pages = [
        account.ok("ListWebhookDeliveries", webhookId=made["id"], limit=2, page=page)
        for page in (1, 2, 3)
    ]

    assert [events_of(page["deliveries"]) for page in pages] == [events[:2], [oldest], []]
    assert [(page["total"], page["page"], page["limit"]) for page in pages] == [
        (3, 1, 2),
        (3, 2, 2),
        (3, 3, 2),
    ]
    assert newest == account.ok("ListEvents", order="desc", limit=1)["events"][0]["id"]


def listed(account: Account, **asked: Any) -> Response:
    """Returns a page of two deliveries."""
    answer = account.call("ListWebhookDeliveries", limit=2, **asked)
    assert answer.status == 200, answer
    return answer


@pytest.mark.parametrize("given", [{}, {"eventType": "tag.created"}, {"status": "SUCCEEDED"}])
def test_token_leads_on_whatever_came_to_be_meanwhile(
    account: Account, receiver: Receiver, given: dict[str, str]
) -> None:
    made = webhook(account, receiver.url)
    tags(account, "a", "b", "c", "d", "e")
    events = events_of(settled(account, made, *["SUCCEEDED"] * 5))

    pages = [listed(account, webhookId=made["id"], **given)]
    tags(account, "f")
    settled(account, made, *["SUCCEEDED"] * 6)
    while pages[-1].next:
        pages.append(listed(account, webhookId=made["id"], pageToken=pages[-1].next, **given))

    found = [events_of(page.body["deliveries"]) for page in pages]
    assert found == [events[:2], events[2:4], events[4:]]
    assert [page.body["total"] for page in pages] == [5, 6, 6]
    assert [page.body["page"] for page in pages] == [1, 2, 3]


def test_page_that_is_the_last_one_and_full_leads_nowhere(
    account: Account, receiver: Receiver
) -> None:
    made = webhook(account, receiver.url)
    tags(account, "a", "b")
    settled(account, made, *["SUCCEEDED"] * 2)

    assert listed(account, webhookId=made["id"]).next == ""


def test_token_of_another_list_of_deliveries_is_refused(
    account: Account, receiver: Receiver
) -> None:
    made, other = webhook(account, receiver.url), webhook(account, receiver.url)
    tags(account, "a", "b", "c")
    settled(account, made, *["SUCCEEDED"] * 3)
    token = listed(account, webhookId=made["id"]).next

    for asked in ({"webhookId": other["id"]}, {"webhookId": made["id"], "eventType": "tag.*"}):
        refused = account.fails(
            "ValidationError", "ListWebhookDeliveries", **asked, pageToken=token
        )
        assert refused.faults == [("pageToken", "INVALID_VALUE")]


def test_filters_of_deliveries_hold_together(account: Account, receiver: Receiver) -> None:
    made = webhook(account, receiver.url)
    tag = account.ok("CreateTag", name="vip")["tag"]
    settled(account, made, "SUCCEEDED")
    receiver.replies = [BROKEN]
    account.ok("DeleteTag", id=tag["id"])
    deleted, created = until(account, made, lambda found: [f["attempts"] for f in found] == [1, 1])

    asked: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        ({"status": "SUCCEEDED"}, [created]),
        ({"status": "PENDING"}, [deleted]),
        ({"status": "FAILED"}, []),
        ({"status": "SENDING"}, []),
        ({"eventType": "tag.deleted"}, [deleted]),
        ({"eventType": "tag.deleted", "status": "SUCCEEDED"}, []),
        ({"eventType": "tag.*"}, [deleted, created]),
        ({"eventType": "tag.*", "status": "SUCCEEDED"}, [created]),
        ({"eventType": "subscriber.*"}, []),
        ({"eventId": created["eventId"]}, [created]),
        ({"eventId": created["eventId"], "status": "SUCCEEDED"}, [created]),
        ({"eventId": created["eventId"], "eventType": "tag.deleted"}, []),
        ({"eventId": "evt_none"}, []),
        ({"createdAfter": created["createdAt"]}, [deleted]),
        ({"createdBefore": deleted["createdAt"]}, [created]),
        ({"createdBefore": created["createdAt"]}, []),
        ({"createdAfter": "2020-01-01T00:00:00Z", "status": "PENDING"}, [deleted]),
    ]
    assert [(given, deliveries(account, made, **given)) for given, _ in asked] == asked


@pytest.mark.parametrize("unknown", ["tag.vanished", "tag", "tags.*", "*", "TAG.CREATED"])
def test_delivery_list_rejects_an_unknown_event_type(account: Account, unknown: str) -> None:
    made = webhook(account, "https://example.com/")

    refused = account.fails(
        "ValidationError", "ListWebhookDeliveries", webhookId=made["id"], eventType=unknown
    )

    assert (refused.status, refused.faults) == (400, [("eventType", "INVALID_VALUE")])


@pytest.mark.parametrize("given", [{"status": "SENT"}, {"limit": -1}, {"eventType": "a" * 51}])
def test_list_of_deliveries_refuses_what_it_does_not_understand(
    http_account: Account, given: dict[str, Any]
) -> None:
    refused = http_account.fails(
        "ValidationError", "ListWebhookDeliveries", webhookId=MISSING_ID, **given
    )

    assert [field for field, _ in refused.faults] == list(given)


def test_delivery_that_is_tried_again_is_due_at_once(account: Account, receiver: Receiver) -> None:
    made = webhook(account, receiver.url)
    receiver.replies = [BROKEN]
    tags(account, "vip")
    (before,) = until(account, made, lambda found: found and found[0]["attempts"] == 1)

    answer = account.call("RetryWebhookDelivery", id=before["id"])

    assert answer.status == 202
    retried = answer.body["delivery"]
    assert (retried["id"], retried["status"]) == (before["id"], "PENDING")
    assert retried["nextAttemptAt"] < before["nextAttemptAt"]
    (after,) = settled(account, made, "SUCCEEDED")
    attempts = account.ok("GetWebhookDelivery", id=after["id"])["attempts"]
    assert [attempt["number"] for attempt in attempts] == [1, 2]
    first, second = receiver.received
    assert first.headers["webhook-id"] == second.headers["webhook-id"]
    assert first.body == second.body


def test_delivery_that_succeeded_can_be_sent_once_more(
    account: Account, receiver: Receiver
) -> None:
    made = webhook(account, receiver.url)
    tags(account, "vip")
    (delivery,) = settled(account, made, "SUCCEEDED")

    retried = account.ok("RetryWebhookDelivery", id=delivery["id"])["delivery"]

    assert "finishedAt" not in retried
    receiver.wait_for(2)
    (after,) = settled(account, made, "SUCCEEDED")
    assert after["attempts"] == 2


def test_delivery_to_a_webhook_that_is_disabled_waits(account: Account, receiver: Receiver) -> None:
    made = webhook(account, receiver.url)
    tags(account, "vip")
    (delivery,) = settled(account, made, "SUCCEEDED")
    account.ok("UpdateWebhook", id=made["id"], enabled=False)

    assert account.call("RetryWebhookDelivery", id=delivery["id"]).status == 202

    other = webhook(account, f"{receiver.url}/other")
    tags(account, "later")
    settled(account, other, "SUCCEEDED")
    settled(account, made, "PENDING")
    account.ok("UpdateWebhook", id=made["id"], enabled=True)
    settled(account, made, "SUCCEEDED")
    assert [request.path for request in receiver.received] == ["/hook", "/hook/other", "/hook"]


def test_delivery_that_is_being_sent_stays_so(account: Account, receiver: Receiver) -> None:
    made = webhook(account, receiver.url)
    seen = []

    def retry() -> None:
        (delivery,) = settled(account, made, "SENDING")
        seen.append(account.ok("RetryWebhookDelivery", id=delivery["id"])["delivery"])

    receiver.replies = [Reply(before=retry)]
    tags(account, "vip")

    (delivery,) = settled(account, made, "SUCCEEDED")
    assert [each["status"] for each in seen] == ["SENDING"]
    assert "nextAttemptAt" not in seen[0]
    assert (delivery["attempts"], len(receiver.received)) == (1, 1)


@pytest.mark.parametrize("unknown", [MISSING_ID, "no id"])
def test_missing_delivery_is_not_found(account: Account, unknown: str) -> None:
    account.fails("WebhookDeliveryNotFound", "GetWebhookDelivery", id=unknown)
    account.fails("WebhookDeliveryNotFound", "RetryWebhookDelivery", id=unknown)
    account.fails("WebhookNotFound", "ListWebhookDeliveries", webhookId=unknown)


def test_deliveries_are_those_of_the_account_and_of_webhooks_that_exist(
    account: Account, other_account: Account, receiver: Receiver
) -> None:
    made = webhook(account, receiver.url)
    tags(account, "vip")
    (delivery,) = settled(account, made, "SUCCEEDED")

    def assert_gone(caller: Account) -> None:
        caller.fails("WebhookDeliveryNotFound", "GetWebhookDelivery", id=delivery["id"])
        caller.fails("WebhookDeliveryNotFound", "RetryWebhookDelivery", id=delivery["id"])
        caller.fails("WebhookNotFound", "ListWebhookDeliveries", webhookId=made["id"])

    webhook(other_account, receiver.url)
    assert_gone(other_account)
    account.ok("DeleteWebhook", id=made["id"])
    assert_gone(account)


def test_read_key_sees_deliveries_and_does_not_have_them_sent(
    account: Account, receiver: Receiver
) -> None:
    made = webhook(account, receiver.url)
    tags(account, "vip")
    (delivery,) = settled(account, made, "SUCCEEDED")
    reader = account.with_key(account.new_key("read"))

    assert reader.ok("GetWebhookDelivery", id=delivery["id"])["delivery"] == delivery
    assert deliveries(reader, made) == [delivery]
    reader.fails("Forbidden", "RetryWebhookDelivery", id=delivery["id"])


@over_http
def test_repeated_retry_sends_once(account: Account, receiver: Receiver) -> None:
    made = webhook(account, receiver.url)
    tags(account, "vip")
    (delivery,) = settled(account, made, "SUCCEEDED")
    path, key = f"/api/webhook-deliveries/{delivery['id']}/retry", {"Idempotency-Key": "a"}

    first = send(account, "POST", path, headers=key)
    receiver.wait_for(2)
    settled(account, made, "SUCCEEDED")
    second = send(account, "POST", path, headers=key)

    assert (first.status, first.body) == (second.status, second.body)
    assert len(receiver.received) == 2
