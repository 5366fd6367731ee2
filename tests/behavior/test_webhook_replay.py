"""Tests replays of events, which are operations, over every front."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rosterd.server.features.webhooks.delivery.store_replays import MAX_DUE

from ..components import wait_until
from ..conftest import Account
from ..features.webhooks.receiver import Receiver
from .deliveries import (
    create_tags,
    create_webhook,
    events_of,
    running_operations,
    set_failed,
    wait_for,
    wait_for_states,
)

LONG_AGO, FAR_AHEAD = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"


def replay(account: Account, webhook: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Starts a replay and returns its operation."""
    response = account.call("ReplayWebhook", id=webhook["id"], **{"since": LONG_AGO, **fields})
    assert response.status == 202, response
    started: dict[str, Any] = response.body["operation"]
    return started


def operation(account: Account, started: dict[str, Any]) -> dict[str, Any]:
    """Returns the current state of an operation."""
    found: dict[str, Any] = account.ok("GetOperation", id=started["id"])["operation"]
    return found


def received_tags(receiver: Receiver) -> list[str]:
    """Returns the names of the tags in the received events, in order."""
    return [request.event["data"]["tag"]["name"] for request in receiver.received]


def replayed(account: Account, webhook: dict[str, Any], started: dict[str, Any]) -> list[str]:
    """Waits until all deliveries have finished, and returns the event IDs of a replay, oldest
    first.
    """
    wait_until(lambda: not running_operations(account), "an operation does not end")
    done = wait_for(
        account,
        webhook,
        lambda items: {item["state"] for item in items} <= {"SUCCEEDED", "FAILED"},
    )
    return events_of([item for item in reversed(done) if item.get("operationId") == started["id"]])


def all_events(account: Account) -> list[dict[str, Any]]:
    """Returns the events of the account in order."""
    events: list[dict[str, Any]] = account.ok("ListEvents", limit=100)["events"]
    return events


def test_replay_delivers_the_same_events_again(account: Account, receiver: Receiver) -> None:
    webhook = create_webhook(account, receiver.url, eventTypes=["tag.*"])
    create_tags(account, "a", "b", "c")
    wait_for_states(account, webhook, *["SUCCEEDED"] * 3)

    started = replay(account, webhook)

    assert (started["type"], started["state"], started["total"]) == ("WEBHOOK_REPLAY", "RUNNING", 3)
    receiver.wait_for(6)
    events = [event["id"] for event in all_events(account)][:3]
    assert replayed(account, webhook, started) == events
    sent = [(request.headers["webhook-id"], request.body) for request in receiver.received]
    assert sorted(sent[:3]) == sorted(sent[3:])


def test_replay_contains_the_events_between_two_times_before_its_creation(
    account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(account, receiver.url, eventTypes=["tag.*"], enabled=False)
    for name in "abcd":
        create_tags(account, name)
        time.sleep(0.002)
    first, second, third, fourth = all_events(account)

    started = replay(account, webhook, since=second["timestamp"], until=fourth["timestamp"])
    empty = replay(account, webhook, since=FAR_AHEAD)
    create_tags(account, "later")
    account.ok("UpdateWebhook", id=webhook["id"], enabled=True)

    receiver.wait_for(2)
    assert replayed(account, webhook, started) == [second["id"], third["id"]]
    assert replayed(account, webhook, empty) == []
    assert sorted(received_tags(receiver)) == ["b", "c"]
    earlier = replay(account, webhook, until=second["timestamp"])
    assert replayed(account, webhook, earlier) == [first["id"]]


def test_replay_without_event_types_uses_those_of_the_webhook(
    account: Account, receiver: Receiver
) -> None:
    other = create_webhook(account, f"{receiver.url}/other", eventTypes=["tag.*"], enabled=False)
    webhook = create_webhook(account, receiver.url, eventTypes=["tag.deleted"], enabled=False)
    tag = account.ok("CreateTag", name="vip")["tag"]
    account.ok("CreateCustomField", label="City", dataType="TEXT")
    account.ok("DeleteTag", id=tag["id"])
    created, _, deleted = [event["id"] for event in all_events(account)]

    default, all_tags = replay(account, webhook), replay(account, webhook, eventTypes=["tag.*"])

    for item in (other, webhook):
        account.ok("UpdateWebhook", id=item["id"], enabled=True)
    receiver.wait_for(3)
    assert replayed(account, webhook, default) == [deleted]
    assert replayed(account, webhook, all_tags) == [created, deleted]
    assert {request.path for request in receiver.received} == {"/hook"}


def test_replay_of_failed_events_excludes_delivered_and_pending_ones(
    account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(account, receiver.url, eventTypes=["tag.*"])
    create_tags(account, "a", "b", "c")
    _, second, first = wait_for_states(account, webhook, *["SUCCEEDED"] * 3)
    set_failed(account, first, second)
    account.ok("RetryWebhookDelivery", id=second["id"])
    wait_for_states(account, webhook, "SUCCEEDED", "SUCCEEDED", "FAILED")

    started = replay(account, webhook, onlyFailed=True)

    assert wait_for(account, webhook, lambda items: len(items) == 4)
    assert replayed(account, webhook, started) == [first["eventId"]]
    # The event is no longer failed, because the replay delivered it.
    again = replay(account, webhook, onlyFailed=True)
    create_tags(account, "later")
    wait_for(account, webhook, lambda items: len(items) == 5 and items[0]["state"] == "SUCCEEDED")
    assert replayed(account, webhook, again) == []


def test_events_of_test_deliveries_are_not_replayed(account: Account, receiver: Receiver) -> None:
    webhook = create_webhook(account, receiver.url, eventTypes=["tag.*", "webhook.*"])
    tested = account.ok("TestWebhook", id=webhook["id"])["delivery"]
    create_tags(account, "a")
    wait_for_states(account, webhook, "SUCCEEDED", "SUCCEEDED")
    set_failed(account, tested)

    for only_failed in (False, True):
        started = replay(account, webhook, onlyFailed=only_failed)
        replayed(account, webhook, started)

    wait_for(account, webhook, lambda items: len(items) == 3)
    assert sorted(request.event["type"] for request in receiver.wait_for(3)) == [
        "tag.created",
        "tag.created",
        "webhook.test",
    ]


def test_replay_is_an_operation_with_its_request_and_progress(account: Account) -> None:
    webhook = create_webhook(
        account, "https://example.com/", eventTypes=["tag.created", "tag.deleted"], enabled=False
    )
    create_tags(account, "a", "b")
    account.ok("CreateCustomField", label="City")
    (key,) = account.ok("ListApiKeys")["apiKeys"]

    started = replay(account, webhook, until=FAR_AHEAD)
    wait_until(lambda: operation(account, started)["done"], "the replay does not end")

    ended = operation(account, started)
    assert set(ended) == {
        *("id", "type", "replay", "filter", "segmentId", "q", "dryRun", "state", "done", "total"),
        *("processed", "failed", "rate", "createdAt", "endedAt", "actor"),
    }
    assert ended["replay"] == {
        "webhookId": webhook["id"],
        "since": "2020-01-01T00:00:00.000Z",
        "until": "2099-01-01T00:00:00.000Z",
        "eventTypes": ["tag.created", "tag.deleted"],
        "onlyFailed": False,
        "deliveries": 2,
    }
    assert (ended["state"], ended["total"], ended["processed"]) == ("SUCCEEDED", 3, 3)
    assert ended["actor"] == {"type": "API_KEY", "id": key["id"], "name": key["name"]}
    (completed,) = account.ok("ListEvents", eventType="operation.completed")["events"]
    assert completed["data"]["operation"] == ended


@pytest.fixture
def waiting(account: Account) -> tuple[dict[str, Any], dict[str, Any]]:
    """A webhook and a replay that waits, because many deliveries to the webhook are due."""
    webhook = create_webhook(account, "https://example.com/", enabled=False)
    people = [{"email": f"u{number}@example.com"} for number in range(MAX_DUE + 1)]
    account.ok("BulkCreateSubscribers", subscribers=people[:100])
    account.ok("BulkCreateSubscribers", subscribers=people[100:])
    first = replay(account, webhook)
    wait_until(lambda: operation(account, first)["done"], "the first replay does not end")
    return webhook, replay(account, webhook)


@pytest.mark.each_database
def test_waiting_replay_delays_no_other_operation_and_can_be_canceled(
    account: Account, waiting: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    _, started = waiting
    batch = {"filter": "email:*", "action": {"addTags": ["vip"]}}

    other = account.ok("BatchChangeSubscribers", **batch)["operation"]
    wait_until(lambda: operation(account, other)["done"], "the operation waits for the replay")

    assert running_operations(account) == [started]
    canceled = account.ok("CancelOperation", id=started["id"])["operation"]
    assert (canceled["state"], canceled["processed"]) == ("CANCELLED", 0)
    assert not running_operations(account)


@pytest.mark.each_database
def test_replay_continues_when_its_webhook_is_enabled(
    account: Account, receiver: Receiver, waiting: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    webhook, started = waiting

    account.ok("UpdateWebhook", id=webhook["id"], enabled=True, url=receiver.url)

    wait_until(lambda: operation(account, started)["done"], "the replay does not continue")
    assert operation(account, started)["state"] == "SUCCEEDED"


@pytest.mark.each_database
def test_replay_fails_when_its_webhook_is_deleted(
    account: Account, waiting: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    webhook, started = waiting

    account.ok("DeleteWebhook", id=webhook["id"])

    wait_until(lambda: operation(account, started)["done"], "the replay does not end")
    failed = operation(account, started)
    rest = {"reason": "WEBHOOK_NOT_FOUND", "total": started["total"], "examples": []}
    assert (failed["state"], failed["failed"]) == ("FAILED", [rest])


INVALID_FIELDS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "until equal to since": (
        {"since": LONG_AGO, "until": LONG_AGO},
        [("until", "OUT_OF_RANGE")],
    ),
    "until before since": (
        {"since": FAR_AHEAD, "until": LONG_AGO},
        [("until", "OUT_OF_RANGE")],
    ),
    "unknown event type": (
        {"since": LONG_AGO, "eventTypes": ["tag.*", "tags"]},
        [("eventTypes[1]", "INVALID_VALUE")],
    ),
}


@pytest.mark.parametrize(("fields", "details"), INVALID_FIELDS.values(), ids=INVALID_FIELDS)
def test_replay_rejects_invalid_fields(
    account: Account, fields: dict[str, Any], details: list[tuple[str, str]]
) -> None:
    webhook = create_webhook(account, "https://example.com/")

    error = account.fails("ValidationError", "ReplayWebhook", id=webhook["id"], **fields)

    assert (error.status, error.violations) == (400, details)
