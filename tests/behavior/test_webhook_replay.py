"""Tests replays of events over every front."""

from __future__ import annotations

import time
from typing import Any

import pytest

from rosterd.server.features.webhooks.delivery.store_replays import MAX_DUE, MAX_REPLAYS

from ..conftest import Account
from ..features.webhooks.receiver import Receiver
from .deliveries import (
    create_tags,
    create_webhook,
    events_of,
    replays_left,
    set_failed,
    wait_for,
    wait_for_statuses,
)

LONG_AGO, FAR_AHEAD = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"


def replay(account: Account, webhook: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Starts a replay and returns it."""
    response = account.call("ReplayWebhook", id=webhook["id"], **{"since": LONG_AGO, **fields})
    assert response.status == 202, response
    started: dict[str, Any] = response.body["replay"]
    return started


def received_tags(receiver: Receiver) -> list[str]:
    """Returns the names of the tags in the received events, in order."""
    return [request.event["data"]["tag"]["name"] for request in receiver.received]


def replayed(account: Account, webhook: dict[str, Any], started: dict[str, Any]) -> list[str]:
    """Waits until all deliveries have finished, and returns the event IDs of a replay, oldest
    first.
    """
    while replays_left(account):
        time.sleep(0.02)
    done = wait_for(
        account,
        webhook,
        lambda items: {item["status"] for item in items} <= {"SUCCEEDED", "FAILED"},
    )
    return events_of([item for item in reversed(done) if item.get("replayId") == started["id"]])


def all_events(account: Account) -> list[dict[str, Any]]:
    """Returns the events of the account in order."""
    events: list[dict[str, Any]] = account.ok("ListEvents", limit=100)["events"]
    return events


def test_replay_delivers_the_same_events_again(account: Account, receiver: Receiver) -> None:
    webhook = create_webhook(account, receiver.url)
    create_tags(account, "a", "b", "c")
    wait_for_statuses(account, webhook, *["SUCCEEDED"] * 3)

    started = replay(account, webhook)

    assert set(started) == {"id", "webhookId", "createdAt"}
    assert started["webhookId"] == webhook["id"]
    receiver.wait_for(6)
    assert replayed(account, webhook, started) == [event["id"] for event in all_events(account)]
    sent = [(request.headers["webhook-id"], request.body) for request in receiver.received]
    assert sorted(sent[:3]) == sorted(sent[3:])


def test_replay_contains_the_events_between_two_times_before_its_creation(
    account: Account, receiver: Receiver
) -> None:
    webhook = create_webhook(account, receiver.url, enabled=False)
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
    other = create_webhook(account, f"{receiver.url}/other", enabled=False)
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
    webhook = create_webhook(account, receiver.url)
    create_tags(account, "a", "b", "c")
    _, second, first = wait_for_statuses(account, webhook, *["SUCCEEDED"] * 3)
    set_failed(account, first, second)
    account.ok("RetryWebhookDelivery", id=second["id"])
    wait_for_statuses(account, webhook, "SUCCEEDED", "SUCCEEDED", "FAILED")

    started = replay(account, webhook, onlyFailed=True)

    assert wait_for(account, webhook, lambda items: len(items) == 4)
    assert replayed(account, webhook, started) == [first["eventId"]]
    # The event is no longer failed, because the replay delivered it.
    again = replay(account, webhook, onlyFailed=True)
    create_tags(account, "later")
    wait_for(account, webhook, lambda items: len(items) == 5 and items[0]["status"] == "SUCCEEDED")
    assert replayed(account, webhook, again) == []


def test_events_of_test_deliveries_are_not_replayed(account: Account, receiver: Receiver) -> None:
    webhook = create_webhook(account, receiver.url)
    tested = account.ok("TestWebhook", id=webhook["id"])["delivery"]
    create_tags(account, "a")
    wait_for_statuses(account, webhook, "SUCCEEDED", "SUCCEEDED")
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


def test_webhook_has_at_most_10_running_replays(account: Account, receiver: Receiver) -> None:
    webhook = create_webhook(account, receiver.url, enabled=False)
    others = [{"email": f"u{number}@example.com"} for number in range(MAX_DUE + 1)]
    account.ok("BulkCreateSubscribers", subscribers=others[:100])
    account.ok("BulkCreateSubscribers", subscribers=others[100:])
    replay(account, webhook)
    # More than MAX_DUE deliveries are now due, so later replays wait.
    while replays_left(account):
        time.sleep(0.02)
    for _ in range(MAX_REPLAYS):
        replay(account, webhook)

    error = account.fails("ReplayLimitReached", "ReplayWebhook", id=webhook["id"], since=LONG_AGO)

    assert error.status == 409
    assert replays_left(account) == MAX_REPLAYS == 10


INVALID_FIELDS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "no since": ({}, [("since", "REQUIRED")]),
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
    "too many event types": (
        {"since": LONG_AGO, "eventTypes": ["tag.*"] * 51},
        [("eventTypes", "TOO_MANY")],
    ),
}


@pytest.mark.parametrize(("fields", "details"), INVALID_FIELDS.values(), ids=INVALID_FIELDS)
def test_replay_rejects_invalid_fields(
    account: Account, fields: dict[str, Any], details: list[tuple[str, str]]
) -> None:
    webhook = create_webhook(account, "https://example.com/")

    error = account.fails("ValidationError", "ReplayWebhook", id=webhook["id"], **fields)

    assert (error.status, error.violations) == (400, details)
