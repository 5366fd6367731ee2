"""Replays of events, through every front."""

from __future__ import annotations

import time
from typing import Any

import pytest

from server.webhooks.delivery.store_replays import MAX_DUE, MAX_REPLAYS

from ..conftest import Account
from ..webhooks.receiver import Receiver
from .deliveries import (
    deliveries,
    events_of,
    replays_left,
    set_failed,
    settled,
    tags,
    until,
    webhook,
)
from .helpers import MISSING_ID, over_http, send

LONG_AGO, FAR_AHEAD = "2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"


def replay(account: Account, made: dict[str, Any], **asked: Any) -> dict[str, Any]:
    """Has events delivered once more, and returns the replay."""
    answer = account.call("ReplayWebhook", id=made["id"], **{"since": LONG_AGO, **asked})
    assert answer.status == 202, answer
    begun: dict[str, Any] = answer.body["replay"]
    return begun


def heard(receiver: Receiver) -> list[str]:
    """Returns the names of the tags that a receiver was told of, in order."""
    return [request.event["data"]["tag"]["name"] for request in receiver.received]


def replayed(account: Account, made: dict[str, Any], begun: dict[str, Any]) -> list[str]:
    """Waits until replays and deliveries have ended; returns the events of one, oldest first."""
    while replays_left(account):
        time.sleep(0.02)
    done = until(
        account, made, lambda found: {each["status"] for each in found} <= {"SUCCEEDED", "FAILED"}
    )
    return events_of([each for each in reversed(done) if each.get("replayId") == begun["id"]])


def happened(account: Account) -> list[dict[str, Any]]:
    """Returns the events of the account in their sequence."""
    events: list[dict[str, Any]] = account.ok("ListEvents", limit=100)["events"]
    return events


def test_replay_delivers_the_same_events_once_more(account: Account, receiver: Receiver) -> None:
    made = webhook(account, receiver.url)
    tags(account, "a", "b", "c")
    settled(account, made, *["SUCCEEDED"] * 3)

    begun = replay(account, made)

    assert set(begun) == {"id", "webhookId", "createdAt"}
    assert begun["webhookId"] == made["id"]
    receiver.wait_for(6)
    assert replayed(account, made, begun) == [event["id"] for event in happened(account)]
    sent = [(request.headers["webhook-id"], request.body) for request in receiver.received]
    assert sorted(sent[:3]) == sorted(sent[3:])


def test_replay_is_bound_by_moments_and_by_the_time_of_asking(
    account: Account, receiver: Receiver
) -> None:
    made = webhook(account, receiver.url, enabled=False)
    for name in "abcd":
        tags(account, name)
        time.sleep(0.002)
    first, second, third, fourth = happened(account)

    begun = replay(account, made, since=second["timestamp"], until=fourth["timestamp"])
    never = replay(account, made, since=FAR_AHEAD)
    tags(account, "later")
    account.ok("UpdateWebhook", id=made["id"], enabled=True)

    receiver.wait_for(2)
    assert replayed(account, made, begun) == [second["id"], third["id"]]
    assert replayed(account, made, never) == []
    assert sorted(heard(receiver)) == ["b", "c"]
    earlier = replay(account, made, until=second["timestamp"])
    assert replayed(account, made, earlier) == [first["id"]]


def test_replay_without_event_types_uses_those_of_the_webhook(
    account: Account, receiver: Receiver
) -> None:
    every = webhook(account, f"{receiver.url}/every", enabled=False)
    made = webhook(account, receiver.url, eventTypes=["tag.deleted"], enabled=False)
    tag = account.ok("CreateTag", name="vip")["tag"]
    account.ok("CreateCustomField", label="City", dataType="TEXT")
    account.ok("DeleteTag", id=tag["id"])
    created, _, deleted = [event["id"] for event in happened(account)]

    own, wider = replay(account, made), replay(account, made, eventTypes=["tag.*"])

    for each in (every, made):
        account.ok("UpdateWebhook", id=each["id"], enabled=True)
    receiver.wait_for(3)
    assert replayed(account, made, own) == [deleted]
    assert replayed(account, made, wider) == [created, deleted]
    assert {request.path for request in receiver.received} == {"/hook"}


def test_replay_of_what_failed_leaves_out_what_came_through_or_may_yet(
    account: Account, receiver: Receiver
) -> None:
    made = webhook(account, receiver.url)
    tags(account, "a", "b", "c")
    _, second, first = settled(account, made, *["SUCCEEDED"] * 3)
    set_failed(account, first, second)
    account.ok("RetryWebhookDelivery", id=second["id"])
    settled(account, made, "SUCCEEDED", "SUCCEEDED", "FAILED")

    begun = replay(account, made, onlyFailed=True)

    assert until(account, made, lambda found: len(found) == 4)
    assert replayed(account, made, begun) == [first["eventId"]]
    # By now it has come through.
    again = replay(account, made, onlyFailed=True)
    tags(account, "later")
    until(account, made, lambda found: len(found) == 5 and found[0]["status"] == "SUCCEEDED")
    assert replayed(account, made, again) == []


def test_test_of_a_webhook_is_never_replayed(account: Account, receiver: Receiver) -> None:
    made = webhook(account, receiver.url)
    tested = account.ok("TestWebhook", id=made["id"])["delivery"]
    tags(account, "a")
    settled(account, made, "SUCCEEDED", "SUCCEEDED")
    set_failed(account, tested)

    for only_failed in (False, True):
        begun = replay(account, made, onlyFailed=only_failed)
        replayed(account, made, begun)

    until(account, made, lambda found: len(found) == 3)
    assert sorted(request.event["type"] for request in receiver.wait_for(3)) == [
        "tag.created",
        "tag.created",
        "webhook.test",
    ]


def test_replay_to_a_webhook_that_is_disabled_waits_until_it_is_not(
    account: Account, receiver: Receiver
) -> None:
    made = webhook(account, receiver.url, enabled=False)
    tags(account, "a", "b")

    begun = replay(account, made)

    waiting = settled(account, made, "PENDING", "PENDING")
    assert {each["replayId"] for each in waiting} == {begun["id"]}
    assert not receiver.received
    account.ok("UpdateWebhook", id=made["id"], enabled=True)
    receiver.wait_for(2)
    settled(account, made, "SUCCEEDED", "SUCCEEDED")


def test_webhook_has_10_replays_under_way_at_most(account: Account, receiver: Receiver) -> None:
    made = webhook(account, receiver.url, enabled=False)
    others = [{"email": f"u{number}@example.com"} for number in range(MAX_DUE + 1)]
    account.ok("BulkCreateSubscribers", subscribers=others[:100])
    account.ok("BulkCreateSubscribers", subscribers=others[100:])
    replay(account, made)
    # Then more is due than any replay adds to.
    while replays_left(account):
        time.sleep(0.02)
    for _ in range(MAX_REPLAYS):
        replay(account, made)

    refused = account.fails("WebhookLimitReached", "ReplayWebhook", id=made["id"], since=LONG_AGO)

    assert refused.status == 409
    assert replays_left(account) == MAX_REPLAYS == 10


@over_http
def test_repeated_request_for_a_replay_begins_one(account: Account, receiver: Receiver) -> None:
    made = webhook(account, receiver.url, enabled=False)
    tags(account, "a")
    path, key = f"/api/webhooks/{made['id']}/replay", {"Idempotency-Key": "a"}

    first, second = [
        send(account, "POST", path, {"since": LONG_AGO}, headers=key) for _ in range(2)
    ]

    assert (first.status, first.body) == (second.status, second.body)
    account.ok("UpdateWebhook", id=made["id"], enabled=True)
    settled(account, made, "SUCCEEDED")


FAULTS: dict[str, tuple[dict[str, Any], list[tuple[str, str]]]] = {
    "no beginning": ({}, [("since", "REQUIRED")]),
    "an end that is the beginning": (
        {"since": LONG_AGO, "until": LONG_AGO},
        [("until", "OUT_OF_RANGE")],
    ),
    "an end before the beginning": (
        {"since": FAR_AHEAD, "until": LONG_AGO},
        [("until", "OUT_OF_RANGE")],
    ),
    "types that are none": (
        {"since": LONG_AGO, "eventTypes": ["tag.*", "tags"]},
        [("eventTypes[1]", "INVALID_VALUE")],
    ),
    "too many types": (
        {"since": LONG_AGO, "eventTypes": ["tag.*"] * 51},
        [("eventTypes", "TOO_MANY")],
    ),
}


@pytest.mark.parametrize(("asked", "faults"), FAULTS.values(), ids=FAULTS)
def test_replay_refuses_a_bad_body(
    account: Account, asked: dict[str, Any], faults: list[tuple[str, str]]
) -> None:
    made = webhook(account, "https://example.com/")

    refused = account.fails("ValidationError", "ReplayWebhook", id=made["id"], **asked)

    assert (refused.status, refused.faults) == (400, faults)


def test_replay_is_to_a_webhook_of_the_account_by_a_key_that_may_write(
    account: Account, other_account: Account
) -> None:
    made = webhook(account, "https://example.com/")
    reader = account.with_key(account.new_key("read"))

    for own_id, caller in ((MISSING_ID, account), ("no id", account), (made["id"], other_account)):
        caller.fails("WebhookNotFound", "ReplayWebhook", id=own_id, since=LONG_AGO)
    reader.fails("Forbidden", "ReplayWebhook", id=made["id"], since=LONG_AGO)
    assert deliveries(account, made) == []
