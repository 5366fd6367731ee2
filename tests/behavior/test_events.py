"""Events, through every front: what is recorded of each change, and how it is listed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ..conftest import Account
from ..fronts import HttpFront
from ..webhooks.receiver import Receiver
from .helpers import (
    STATUSES,
    call_concurrently,
    create_field,
    create_subscriber,
    create_subscriber_in,
    over_http,
    send,
    statuses,
)
from .streams import import_rows

URL = "https://example.com/hooks"
EVERY_TYPE = [
    *(f"subscriber.{what}" for what in ("created", "updated", "deleted", "confirmed")),
    *(f"subscriber.{what}" for what in ("unsubscribed", "bounced", "complained")),
    *(
        f"{of}.{what}"
        for of in ("tag", "custom_field")
        for what in ("created", "updated", "deleted")
    ),
    "webhook.disabled",
    "webhook.test",
]


def listen(account: Account) -> str:
    """Has the events of an account recorded, and sends none. Returns the id of the webhook."""
    made = account.ok("CreateWebhook", url=URL, enabled=False)
    return str(made["webhook"]["id"])


def events(account: Account, **asked: Any) -> list[dict[str, Any]]:
    """Returns the account's events, the first hundred unless told otherwise."""
    found: list[dict[str, Any]] = account.ok("ListEvents", **{"limit": 100, **asked})["events"]
    return found


def types(account: Account, **asked: Any) -> list[str]:
    """Returns the types of the account's events in their sequence."""
    return [event["type"] for event in events(account, **asked)]


def new_events(account: Account, change: Callable[[], Any]) -> list[tuple[str, Any, Any]]:
    """Makes a change and returns type, data and previous members of each event that it made."""
    last = len(events(account))
    change()
    found = events(account, afterSequence=last)
    assert [event["sequence"] for event in found] == list(range(last + 1, last + 1 + len(found)))
    return [(event["type"], event["data"], event.get("previous")) for event in found]


def test_event_has_exactly_the_documented_keys(account: Account) -> None:
    listen(account)
    tag = account.ok("CreateTag", name="vip")["tag"]
    account.ok("UpdateTag", id=tag["id"], name="gold")

    first, second = events(account)

    assert set(first) == {"id", "type", "timestamp", "sequence", "data"}
    assert set(second) == {*first, "previous"}
    assert (first["id"][:4], len(first["id"])) == ("evt_", 30)
    assert (first["type"], first["timestamp"][:7]) == ("tag.created", tag["createdAt"][:7])
    assert [first["sequence"], second["sequence"]] == [1, 2]


def test_creation_tells_of_the_subscriber_and_of_tags_that_came_with_it(account: Account) -> None:
    listen(account)
    create_field(account, "Age", "NUMBER")
    made: list[dict[str, Any]] = []

    told = new_events(
        account,
        lambda: made.append(
            create_subscriber(
                account, tags=["vip", "New"], customFields={"age": 42}, isConfirmed=True
            )
        ),
    )

    tags = {tag["name"]: tag for tag in account.ok("ListTags")["tags"]}
    assert sorted(data["tag"]["name"] for kind, data, _ in told if kind == "tag.created") == [
        "New",
        "vip",
    ]
    assert all(data["tag"] == tags[data["tag"]["name"]] for _, data, _ in told[:-1])
    assert told[-1] == ("subscriber.created", {"subscriber": made[0]}, None)


def test_creation_that_is_refused_tells_nothing(account: Account) -> None:
    listen(account)
    create_subscriber(account)

    assert (
        new_events(account, lambda: account.call("CreateSubscriber", email="ADA@example.com")) == []
    )
    assert new_events(account, lambda: account.call("CreateSubscriber", email="no address")) == []


UPDATES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a name": ({"firstName": "Eve"}, {"firstName": ""}),
    "the same address in another spelling": (
        {"email": "ADA@example.com"},
        {"email": "ada@example.com"},
    ),
    "another address": (
        {"email": "eve@example.com"},
        {"email": "ada@example.com", "status": "CONFIRMED"},
    ),
    "tags": ({"tags": ["new"]}, {"tags": ["vip"]}),
    "no tags": ({"tags": []}, {"tags": ["vip"]}),
    "a value": ({"customFields": {"age": 1.5}}, {"customFields": {"age": 42}}),
    "a removed value": ({"customFields": {"age": None}}, {"customFields": {"age": 42}}),
    "a second value": ({"customFields": {"paid": True}}, {"customFields": {"age": 42}}),
}


@pytest.mark.parametrize(("given", "previous"), UPDATES.values(), ids=UPDATES)
def test_update_tells_of_the_subscriber_and_of_what_was_before(
    account: Account, given: dict[str, Any], previous: dict[str, Any]
) -> None:
    listen(account)
    create_field(account, "Age", "NUMBER")
    create_field(account, "Paid", "BOOLEAN")
    made = create_subscriber(account, isConfirmed=True, tags=["vip"], customFields={"age": 42})
    account.ok("CreateTag", name="new")

    told = new_events(account, lambda: account.ok("UpdateSubscriber", id=made["id"], **given))

    after = account.ok("GetSubscriber", id=made["id"])["subscriber"]
    assert told == [("subscriber.updated", {"subscriber": after}, previous)]


def test_first_value_tells_that_there_were_none(account: Account) -> None:
    listen(account)
    create_field(account, "Age", "NUMBER")
    made = create_subscriber(account)

    told = new_events(
        account, lambda: account.ok("UpdateSubscriber", id=made["id"], customFields={"age": 0})
    )

    assert [previous for _, _, previous in told] == [{"customFields": None}]


IDLE: dict[str, dict[str, Any]] = {
    "nothing": {},
    "the same": {"email": "ada@example.com", "firstName": "", "lastName": ""},
    "the same tags": {"tags": ["VIP"]},
    "the same value": {"customFields": {"age": 42.0}},
    "a value that was not there is removed": {"customFields": {"paid": None}},
}


@pytest.mark.parametrize("given", IDLE.values(), ids=IDLE)
def test_update_that_changes_nothing_tells_nothing(account: Account, given: dict[str, Any]) -> None:
    listen(account)
    create_field(account, "Age", "NUMBER")
    create_field(account, "Paid", "BOOLEAN")
    made = create_subscriber(account, tags=["vip"], customFields={"age": 42})

    assert new_events(account, lambda: account.ok("UpdateSubscriber", id=made["id"], **given)) == []


MOVES = {
    "CONFIRMED": ("UNCONFIRMED", "subscriber.confirmed"),
    "UNSUBSCRIBED": ("CONFIRMED", "subscriber.unsubscribed"),
    "BOUNCED": ("CONFIRMED", "subscriber.bounced"),
    "COMPLAINED": ("CONFIRMED", "subscriber.complained"),
    "UNCONFIRMED": ("BOUNCED", "subscriber.updated"),
}


@pytest.mark.parametrize("after", MOVES)
def test_change_of_status_has_an_event_of_its_own(account: Account, after: str) -> None:
    before, kind = MOVES[after]
    listen(account)
    made = create_subscriber_in(account, before)

    def move() -> None:
        account.ok("ChangeSubscriberStatus", id=made["id"], status=after)

    moved = {**made, "status": after}
    assert new_events(account, move) == [(kind, {"subscriber": moved}, {"status": before})]
    assert new_events(account, move) == []


@pytest.mark.parametrize("before", STATUSES)
def test_change_of_address_is_one_event_with_what_it_reset(account: Account, before: str) -> None:
    listen(account)
    made = create_subscriber_in(account, before)
    resets = before in ("CONFIRMED", "BOUNCED")

    def move() -> None:
        account.ok("UpdateSubscriber", id=made["id"], email="ada@example.org")

    moved = {**made, "email": "ada@example.org", "status": "UNCONFIRMED" if resets else before}
    previous = {"email": made["email"], **({"status": before} if resets else {})}
    assert new_events(account, move) == [("subscriber.updated", {"subscriber": moved}, previous)]


def test_status_that_cannot_be_reached_tells_nothing(account: Account) -> None:
    listen(account)
    made = create_subscriber_in(account, "BOUNCED")

    def move() -> None:
        account.fails(
            "InvalidStatusTransition", "ChangeSubscriberStatus", id=made["id"], status="COMPLAINED"
        )

    assert new_events(account, move) == []


def test_adding_and_removing_tags_publishes_subscriber_events(account: Account) -> None:
    listen(account)
    made = create_subscriber(account, tags=["vip"])

    def add() -> None:
        account.ok("AddSubscriberTags", id=made["id"], tags=["VIP", "new"])

    def remove() -> None:
        account.ok("RemoveSubscriberTags", id=made["id"], tags=["vip", "unknown"])

    created, updated = new_events(account, add)
    both = {**made, "tags": ["new", "vip"]}
    assert (created[0], created[1]["tag"]["name"]) == ("tag.created", "new")
    assert updated == ("subscriber.updated", {"subscriber": both}, {"tags": ["vip"]})
    assert new_events(account, add) == []
    one = {**made, "tags": ["new"]}
    assert new_events(account, remove) == [
        ("subscriber.updated", {"subscriber": one}, {"tags": ["new", "vip"]})
    ]
    assert new_events(account, remove) == []


def test_deletion_tells_of_what_was_there(account: Account) -> None:
    listen(account)
    made = create_subscriber(account, tags=["vip"])

    def delete() -> None:
        account.call("DeleteSubscriber", id=made["id"])

    assert new_events(account, delete) == [("subscriber.deleted", {"subscriber": made}, None)]
    assert new_events(account, delete) == []


def test_bulk_publishes_events_for_created_rows_only(account: Account) -> None:
    listen(account)
    create_field(account, "Town")
    create_subscriber(account)
    rows = [
        {"email": "bob@example.com", "tags": ["b", "A"], "customFields": {"town": "Bonn"}},
        {"email": "ada@example.com", "tags": ["of nobody"]},
        {"email": "no address"},
        {"email": "eve@example.com", "customFields": {"town": None}},
    ]

    told = new_events(account, lambda: account.ok("BulkCreateSubscribers", subscribers=rows))

    created = [data["subscriber"] for kind, data, _ in told if kind == "subscriber.created"]
    assert created == account.ok("ListSubscribers")["subscribers"][1:]
    assert [subscriber["tags"] for subscriber in created] == [["A", "b"], []]
    others = sorted(data["tag"]["name"] for kind, data, _ in told if kind == "tag.created")
    assert others == ["A", "b"]
    assert len(told) == 4


def test_import_tells_of_what_it_creates_and_changes(account: Account) -> None:
    listen(account)
    made, same = (
        create_subscriber(account),
        create_subscriber(account, "bob@example.com", firstName="Bob"),
    )
    rows = [
        {"email": "ada@example.com", "firstName": "Ada"},
        {"email": same["email"], "firstName": "Bob"},
        {"email": "eve@example.com", "isConfirmed": True},
        {"email": "no address"},
    ]

    told = new_events(account, lambda: import_rows(account, rows, onConflict="UPDATE"))

    eve = account.ok("GetSubscriber", id="eve@example.com")["subscriber"]
    changed = {**made, "firstName": "Ada"}
    assert sorted(told, key=lambda event: event[0]) == [
        ("subscriber.created", {"subscriber": eve}, None),
        ("subscriber.updated", {"subscriber": changed}, {"firstName": ""}),
    ]


def test_tag_publishes_each_change_and_one_deletion(account: Account) -> None:
    listen(account)
    for name in ("ada", "bob"):
        create_subscriber(account, f"{name}@example.com", tags=["vip"])
    tag = account.ok("ListTags")["tags"][0]

    def change(rpc: str, **given: Any) -> list[tuple[str, Any, Any]]:
        return new_events(account, lambda: account.call(rpc, id=tag["id"], **given))

    renamed = {**tag, "name": "VIP"}
    assert change("UpdateTag", name="VIP") == [("tag.updated", {"tag": renamed}, {"name": "vip"})]
    assert change("UpdateTag", name="VIP", description="") == []
    assert change("DeleteTag") == [("tag.deleted", {"tag": renamed}, None)]
    assert change("DeleteTag") == []
    created = new_events(account, lambda: account.ok("CreateTag", name="new", description="d"))
    assert [kind for kind, _, _ in created] == ["tag.created"]
    assert new_events(account, lambda: account.call("CreateTag", name="New")) == []


def test_custom_field_tells_of_every_change(account: Account) -> None:
    listen(account)
    made: dict[str, Any] = {}

    created = new_events(
        account, lambda: made.update(create_field(account, "Town", fallback="here"))
    )

    assert created == [("custom_field.created", {"customField": made}, None)]
    for given, previous in (
        ({"label": "City"}, {"label": "Town"}),
        ({"fallback": ""}, {"fallback": "here"}),
        ({"fallback": "there"}, {"fallback": None}),
    ):
        change = {"id": made["id"], **given}
        ((kind, data, before),) = new_events(
            account, lambda change=change: account.ok("UpdateCustomField", **change)
        )
        after = account.ok("GetCustomField", id=made["id"])["customField"]
        before.pop("updatedAt", None)
        assert (kind, data, before) == ("custom_field.updated", {"customField": after}, previous)
        assert (
            new_events(account, lambda change=change: account.ok("UpdateCustomField", **change))
            == []
        )
    deleted = new_events(account, lambda: account.ok("DeleteCustomField", id=made["id"]))
    assert deleted == [("custom_field.deleted", {"customField": after}, None)]


def test_deleted_custom_field_is_one_event_though_values_go_with_it(account: Account) -> None:
    listen(account)
    own_id = create_field(account, "Town")["id"]
    create_subscriber(account, customFields={"town": "Bonn"})

    told = new_events(account, lambda: account.ok("DeleteCustomField", id=own_id))

    assert [kind for kind, _, _ in told] == ["custom_field.deleted"]


def test_changes_of_webhooks_are_no_events(account: Account) -> None:
    own_id = listen(account)

    account.ok("UpdateWebhook", id=own_id, description="x")
    account.ok("RotateWebhookSecret", id=own_id)
    account.ok("DeleteWebhook", id=listen(account))

    assert events(account) == []


def test_nothing_is_recorded_without_a_webhook_and_the_sequence_goes_on_with_the_next(
    account: Account,
) -> None:
    account.ok("CreateTag", name="a")
    own_id = listen(account)
    account.ok("CreateTag", name="b")
    account.ok("DeleteWebhook", id=own_id)
    account.ok("CreateTag", name="c")
    account.ok("CreateTag", name="d")
    listen(account)
    account.ok("CreateTag", name="e")

    found = [(event["sequence"], event["data"]["tag"]["name"]) for event in events(account)]

    assert found == [(1, "b"), (2, "e")]


@over_http
def test_repeated_request_tells_once(account: Account) -> None:
    listen(account)

    for _ in range(3):
        headers = {"Idempotency-Key": "a"}
        send(account, "POST", "/api/subscribers", {"email": "ada@example.com"}, headers=headers)

    assert types(account) == ["subscriber.created"]


def test_sequence_of_50_writers_at_once_has_no_gap(account: Account) -> None:
    listen(account)
    calls = [
        lambda number=number: account.call(
            "CreateSubscriber", email=f"u{number}@example.com", tags=[f"t{number % 5}"]
        )
        for number in range(50)
    ]

    answers = call_concurrently(*calls)

    assert statuses(answers) == [201] * 50
    found = events(account)
    assert [event["sequence"] for event in found] == list(range(1, 56))
    made = {answer.body["subscriber"]["id"] for answer in answers}
    told = [event["data"]["subscriber"]["id"] for event in found if "subscriber" in event["data"]]
    assert (len(told), set(told)) == (50, made)


def test_events_are_delivered_as_they_are_listed(account: Account, receiver: Receiver) -> None:
    account.ok("CreateWebhook", url=receiver.url)
    for label, data_type in (("Age", "NUMBER"), ("Score", "NUMBER"), ("Paid", "BOOLEAN")):
        create_field(account, label, data_type, fallback="0" if label == "Age" else "")
    values = {"age": 42, "score": 1.5, "paid": False}
    made = create_subscriber(account, tags=["é"], firstName="Zoë ☃", customFields=values)
    account.ok("UpdateSubscriber", id=made["id"], customFields={"paid": None})

    requests = receiver.wait_for(6)

    assert sorted((request.event for request in requests), key=lambda e: e["sequence"]) == events(
        account
    )


@over_http
def test_data_of_an_event_is_to_the_letter_what_the_api_returns(
    account: Account, receiver: Receiver
) -> None:
    account.ok("CreateWebhook", url=receiver.url)
    assert isinstance(account.front, HttpFront)

    def returned(path: str, body: dict[str, Any]) -> bytes:
        raw = json.dumps(body).encode()
        status, _, text = account.front.exchange("POST", path, account.key, body=raw)
        assert status == 201
        return text

    values = {"age": 42, "score": 1.5, "paid": False, "born": "2001-02-03", "large": 1e21}
    labels = {"Age": "NUMBER", "Score": "NUMBER", "Paid": "BOOLEAN", "Born": "DATE"}
    texts = {
        returned("/api/custom-fields", {"label": label, "dataType": data_type})
        for label, data_type in {**labels, "Large": "NUMBER"}.items()
    }
    texts.add(returned("/api/custom-fields", {"label": "Town", "fallback": "hé <b>"}))
    texts.add(returned("/api/tags", {"name": "é", "description": "d"}))
    person = {"email": "ada@example.com", "firstName": "Zoë ☃", "tags": ["é"], "isConfirmed": 1}
    texts.add(returned("/api/subscribers", person))
    other = {"email": "bob@example.com", "customFields": {**values, "town": "Bonn"}}
    texts.add(returned("/api/subscribers", other))

    told = {
        json.dumps(request.event["data"], sort_keys=True)
        for request in receiver.wait_for(len(texts))
    }

    assert told == {json.dumps(json.loads(text), sort_keys=True) for text in texts}


@pytest.fixture
def history(account: Account) -> list[dict[str, Any]]:
    """Events of several types: seven of them, in their sequence."""
    listen(account)
    tag = account.ok("CreateTag", name="vip")["tag"]
    account.ok("UpdateTag", id=tag["id"], name="gold")
    made = create_subscriber(account, tags=["gold"])
    create_field(account, "Town")
    account.ok("DeleteTag", id=tag["id"])
    account.ok("ChangeSubscriberStatus", id=made["id"], status="CONFIRMED")
    account.ok("DeleteSubscriber", id=made["id"])
    return events(account)


FILTERS: dict[str, tuple[dict[str, Any], list[int]]] = {
    "none": ({}, [1, 2, 3, 4, 5, 6, 7]),
    "a type": ({"type": "tag.updated"}, [2]),
    "all types of one thing": ({"type": "tag.*"}, [1, 2, 5]),
    "a type of two words": ({"type": "custom_field.*"}, [4]),
    "a type that did not happen": ({"type": "webhook.test"}, []),
    "what comes later": ({"afterSequence": 5}, [6, 7]),
    "nothing later": ({"afterSequence": 7}, []),
    "far beyond": ({"afterSequence": 9007199254740991}, []),
    "later ones of a type": ({"afterSequence": 1, "type": "tag.*"}, [2, 5]),
    "the latest first": ({"order": "desc"}, [7, 6, 5, 4, 3, 2, 1]),
    "the latest of a type first": ({"order": "desc", "type": "tag.*"}, [5, 2, 1]),
    "the second page": ({"limit": 3, "page": 2}, [4, 5, 6]),
    "the second page from the end": ({"limit": 3, "page": 2, "order": "desc"}, [4, 3, 2]),
    "the second page of a type": ({"limit": 2, "page": 2, "type": "tag.*"}, [5]),
    "the last page": ({"limit": 3, "page": 3}, [7]),
    "a page past the end": ({"limit": 3, "page": 4}, []),
    "a page past the beginning": ({"limit": 3, "page": 4, "order": "desc"}, []),
    "since long ago": ({"createdAfter": "2001-01-01T00:00:00Z"}, [1, 2, 3, 4, 5, 6, 7]),
    "until long ago": ({"createdBefore": "2001-01-01T00:00:00Z"}, []),
    "until later": ({"createdBefore": "2190-01-01T00:00:00Z"}, [1, 2, 3, 4, 5, 6, 7]),
    "from later on": ({"createdAfter": "2190-01-01T00:00:00Z"}, []),
}


@pytest.mark.usefixtures("history")
@pytest.mark.parametrize(("asked", "expected"), FILTERS.values(), ids=FILTERS)
def test_events_are_listed_by_filters(
    account: Account, asked: dict[str, Any], expected: list[int]
) -> None:
    body = account.ok("ListEvents", **asked)

    assert [event["sequence"] for event in body["events"]] == expected
    whole = account.ok("ListEvents", **{**asked, "page": 1, "limit": 100})
    assert body["total"] == len(whole["events"])
    assert (body["page"], body["limit"]) == (asked.get("page", 1), asked.get("limit", 20))


def test_events_are_listed_by_when_they_happened(account: Account) -> None:
    listen(account)
    account.ok("CreateTag", name="a")
    time.sleep(0.005)
    account.ok("CreateTag", name="b")
    time.sleep(0.005)
    account.ok("CreateTag", name="c")
    moment = events(account)[1]["timestamp"]
    a_little = timedelta(milliseconds=1)
    at = datetime.fromisoformat(moment)

    def sequence(**asked: datetime) -> list[int]:
        told = {
            name: f"{when.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z" for name, when in asked.items()
        }
        return [event["sequence"] for event in events(account, **told)]

    assert sequence(createdAfter=at) == [3]
    assert sequence(createdAfter=at - a_little) == [2, 3]
    assert sequence(createdBefore=at) == [1]
    assert sequence(createdBefore=at + a_little) == [1, 2]
    assert sequence(createdAfter=at - a_little, createdBefore=at + a_little) == [2]
    assert sequence(createdAfter=at, createdBefore=at) == []


@pytest.mark.parametrize("kind", ["tag", "tag.*.", "*", "tags.*", "tag.renamed", "Tag.created"])
def test_unknown_event_type_is_rejected(account: Account, kind: str) -> None:
    refused = account.fails("ValidationError", "ListEvents", type=kind)

    assert (refused.status, refused.faults) == (400, [("type", "INVALID_VALUE")])


@pytest.mark.parametrize("kind", EVERY_TYPE)
def test_every_event_type_can_be_listed_and_subscribed_to(account: Account, kind: str) -> None:
    assert account.ok("ListEvents", type=kind)["events"] == []
    made = account.ok("CreateWebhook", url=URL, eventTypes=[kind])["webhook"]
    assert made["eventTypes"] == [kind]


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        ({"limit": -1}, ("limit", "OUT_OF_RANGE")),
        ({"page": -1}, ("page", "OUT_OF_RANGE")),
        ({"afterSequence": -1}, ("afterSequence", "OUT_OF_RANGE")),
        ({"afterSequence": 1.5}, ("afterSequence", "INVALID_VALUE")),
        ({"afterSequence": 9007199254740992}, ("afterSequence", "OUT_OF_RANGE")),
        ({"order": "up"}, ("order", "INVALID_VALUE")),
        ({"type": "x" * 51}, ("type", "TOO_LONG")),
    ],
    ids=str,
)
def test_list_events_refuses_what_is_out_of_bounds(
    account: Account, asked: dict[str, Any], fault: tuple[str, str]
) -> None:
    assert account.fails("ValidationError", "ListEvents", **asked).faults == [fault]


def test_read_key_may_list_events(account: Account) -> None:
    account.with_key(account.new_key("read")).ok("ListEvents")


def test_events_of_another_account_are_not_recorded_nor_listed(
    account: Account, other_account: Account
) -> None:
    for each in (account, other_account):
        listen(each)

    other_account.ok("CreateTag", name="vip")

    assert events(account) == []
    account.ok("CreateTag", name="own")
    assert [event["sequence"] for event in events(account)] == [1]
    assert len(events(other_account)) == 1
