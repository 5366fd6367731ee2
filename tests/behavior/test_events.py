"""Tests the events that each change publishes, and the event list, over every front."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ..conftest import Account, new_account
from ..fronts import Front
from ..processes import Service
from .helpers import (
    MISSING_ID,
    STATUSES,
    call_concurrently,
    create_field,
    create_subscriber,
    create_subscriber_in,
    record_events,
    statuses,
)
from .streams import import_rows

OPT_OUTS = STATUSES[2:]


def events(account: Account, **filters: Any) -> list[dict[str, Any]]:
    """Returns the account's events, by default the first hundred."""
    listed: list[dict[str, Any]] = account.ok("ListEvents", **{"limit": 100, **filters})["events"]
    return listed


def types(account: Account) -> list[str]:
    """Returns the types of the account's events in order."""
    return [event["type"] for event in events(account)]


def new_events(account: Account, change: Callable[[], Any]) -> list[tuple[str, Any, Any]]:
    """Makes a change, and returns the type, data and previous values of each new event.

    The data is without links, which test_links.py tests.
    """
    last = len(events(account))
    change()
    new = events(account, afterSequence=last)
    assert [event["sequence"] for event in new] == list(range(last + 1, last + 1 + len(new)))
    return [(event["type"], without_links(event["data"]), event.get("previous")) for event in new]


def changed(account: Account, rpc: str, **request: Any) -> list[tuple[str, Any, Any]]:
    """Calls an rpc, and returns what `new_events` returns."""
    return new_events(account, lambda: account.call(rpc, **request))


def without_links(data: dict[str, Any]) -> dict[str, Any]:
    """Returns the data of an event without the URLs of a subscriber."""
    urls = ("confirmUrl", "unsubscribeUrl")
    return {
        name: {key: value for key, value in resource.items() if key not in urls}
        for name, resource in data.items()
    }


def test_event_is_returned_by_its_id_without_links_for_readers(
    account: Account, other_account: Account
) -> None:
    for each in (account, other_account):
        record_events(each)
    create_subscriber(account)
    create_field(account, "City")
    listed = events(account)

    assert [account.ok("GetEvent", id=event["id"])["event"] for event in listed] == listed
    reader = account.with_key(account.new_key("read"))
    of_subscriber = next(event["id"] for event in listed if event["type"] == "subscriber.created")
    data = reader.ok("GetEvent", id=of_subscriber)["event"]["data"]
    assert data["subscriber"].keys().isdisjoint({"confirmUrl", "unsubscribeUrl"})
    other_account.fails("EventNotFound", "GetEvent", id=of_subscriber)
    ulid = of_subscriber.removeprefix("evt_")
    for id_ in (MISSING_ID, f"evt_{MISSING_ID}", ulid, "evt_", f"EVT_{ulid}"):
        account.fails("EventNotFound", "GetEvent", id=id_)


def test_creation_publishes_the_subscriber_and_its_new_tags(account: Account) -> None:
    record_events(account)
    create_field(account, "Age", "NUMBER")
    created: list[dict[str, Any]] = []

    published = new_events(
        account,
        lambda: created.append(
            create_subscriber(
                account, tags=["vip", "New"], customFields={"age": 42}, isConfirmed=True
            )
        ),
    )

    tags = {tag["name"]: tag for tag in account.ok("ListTags")["tags"]}
    assert sorted(
        data["tag"]["name"] for event_type, data, _ in published if event_type == "tag.created"
    ) == [
        "New",
        "vip",
    ]
    assert all(data["tag"] == tags[data["tag"]["name"]] for _, data, _ in published[:-1])
    assert published[-1] == ("subscriber.created", {"subscriber": created[0]}, None)


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
    "no tags": ({"tags": []}, {"tags": ["vip"]}),
    "a rechanged value": ({"customFields": {"age": None}}, {"customFields": {"age": 42}}),
    "a second value": ({"customFields": {"paid": True}}, {"customFields": {"age": 42}}),
}


@pytest.mark.parametrize(("fields", "previous"), UPDATES.values(), ids=UPDATES)
def test_update_publishes_the_subscriber_and_previous_values(
    account: Account, fields: dict[str, Any], previous: dict[str, Any]
) -> None:
    record_events(account)
    create_field(account, "Age", "NUMBER")
    create_field(account, "Paid", "BOOLEAN")
    subscriber = create_subscriber(
        account, isConfirmed=True, tags=["vip"], customFields={"age": 42}
    )
    account.ok("CreateTag", name="new")

    published = changed(account, "UpdateSubscriber", id=subscriber["id"], **fields)

    after = account.ok("GetSubscriber", id=subscriber["id"])["subscriber"]
    assert published == [("subscriber.updated", {"subscriber": after}, previous)]


def test_previous_custom_fields_are_null_before_the_first_value(account: Account) -> None:
    record_events(account)
    create_field(account, "Age", "NUMBER")
    subscriber = create_subscriber(account)

    published = changed(account, "UpdateSubscriber", id=subscriber["id"], customFields={"age": 0})

    assert [previous for _, _, previous in published] == [{"customFields": None}]


NO_CHANGES: dict[str, dict[str, Any]] = {
    "the same": {"email": "ada@example.com", "firstName": "", "lastName": ""},
    "the same tags": {"tags": ["VIP"]},
    "the same value": {"customFields": {"age": 42.0}},
    "removal of a missing value": {"customFields": {"paid": None}},
}


@pytest.mark.parametrize("fields", NO_CHANGES.values(), ids=NO_CHANGES)
def test_update_without_a_change_publishes_nothing(
    account: Account, fields: dict[str, Any]
) -> None:
    record_events(account)
    create_field(account, "Age", "NUMBER")
    create_field(account, "Paid", "BOOLEAN")
    subscriber = create_subscriber(account, tags=["vip"], customFields={"age": 42})

    assert changed(account, "UpdateSubscriber", id=subscriber["id"], **fields) == []
    assert account.ok("GetSubscriber", id=subscriber["id"])["subscriber"] == subscriber


TRANSITIONS = {
    "CONFIRMED": ("UNCONFIRMED", "subscriber.confirmed"),
    "UNSUBSCRIBED": ("CONFIRMED", "subscriber.unsubscribed"),
    "BOUNCED": ("CONFIRMED", "subscriber.bounced"),
    "COMPLAINED": ("CONFIRMED", "subscriber.complained"),
    "UNCONFIRMED": ("BOUNCED", "subscriber.updated"),
}


@pytest.mark.parametrize("after", TRANSITIONS)
def test_status_change_publishes_its_event(account: Account, after: str) -> None:
    before, event_type = TRANSITIONS[after]
    record_events(account)
    subscriber = create_subscriber_in(account, before)
    change: dict[str, Any] = {
        "rpc": "ChangeSubscriberStatus",
        "id": subscriber["id"],
        "status": after,
    }

    expected = {"subscriber": {**subscriber, "status": after}}
    assert changed(account, **change) == [(event_type, expected, {"status": before})]
    assert changed(account, **change) == []


@pytest.mark.parametrize("before", STATUSES)
def test_address_change_that_resets_the_status_is_one_event(account: Account, before: str) -> None:
    record_events(account)
    subscriber = create_subscriber_in(account, before)
    resets = before in ("CONFIRMED", "BOUNCED")
    change: dict[str, Any] = {"email": "ada@example.org"}

    published = changed(account, "UpdateSubscriber", id=subscriber["id"], **change)

    after = {**subscriber, **change, "status": "UNCONFIRMED" if resets else before}
    previous = {"email": subscriber["email"], **({"status": before} if resets else {})}
    assert published == [("subscriber.updated", {"subscriber": after}, previous)]


def test_adding_and_removing_tags_publishes_subscriber_events(account: Account) -> None:
    record_events(account)
    subscriber = create_subscriber(account, tags=["vip"])
    id_ = subscriber["id"]
    add: dict[str, Any] = {"rpc": "AddSubscriberTags", "id": id_, "tags": ["VIP", "new"]}
    remove: dict[str, Any] = {"rpc": "RemoveSubscriberTags", "id": id_, "tags": ["vip", "unknown"]}

    created, updated = changed(account, **add)
    both = {**subscriber, "tags": ["new", "vip"]}
    assert (created[0], created[1]["tag"]["name"]) == ("tag.created", "new")
    assert updated == ("subscriber.updated", {"subscriber": both}, {"tags": ["vip"]})
    assert changed(account, **add) == []
    one = {**subscriber, "tags": ["new"]}
    previous = {"tags": ["new", "vip"]}
    assert changed(account, **remove) == [("subscriber.updated", {"subscriber": one}, previous)]
    assert changed(account, **remove) == []


def test_deletion_publishes_the_deleted_subscriber(account: Account) -> None:
    record_events(account)
    subscriber = create_subscriber(account, tags=["vip"])

    first, second = (changed(account, "DeleteSubscriber", id=subscriber["id"]) for _ in range(2))

    assert (first, second) == ([("subscriber.deleted", {"subscriber": subscriber}, None)], [])


def test_bulk_publishes_events_for_created_rows_only(account: Account) -> None:
    record_events(account)
    create_field(account, "Town")
    create_subscriber(account)
    rows = [
        {"email": "bob@example.com", "tags": ["b", "A"], "customFields": {"town": "Bonn"}},
        {"email": "ada@example.com", "tags": ["unused"]},
        {"email": "no address"},
        {"email": "eve@example.com", "customFields": {"town": None}},
    ]

    published = changed(account, "BulkCreateSubscribers", subscribers=rows)

    created = [
        data["subscriber"]
        for event_type, data, _ in published
        if event_type == "subscriber.created"
    ]
    assert created == account.ok("ListSubscribers")["subscribers"][1:]
    assert [subscriber["tags"] for subscriber in created] == [["A", "b"], []]
    others = sorted(
        data["tag"]["name"] for event_type, data, _ in published if event_type == "tag.created"
    )
    assert others == ["A", "b"]
    assert len(published) == 4


def test_import_publishes_created_and_changed_subscribers(account: Account) -> None:
    record_events(account)
    subscriber, same = (
        create_subscriber(account),
        create_subscriber(account, "bob@example.com", firstName="Bob"),
    )
    rows = [
        {"email": "ada@example.com", "firstName": "Ada"},
        {"email": same["email"], "firstName": "Bob"},
        {"email": "eve@example.com", "isConfirmed": True},
        {"email": "no address"},
    ]

    published = new_events(account, lambda: import_rows(account, rows, onConflict="UPDATE"))

    eve = account.ok("GetSubscriber", id="eve@example.com")["subscriber"]
    renamed = {**subscriber, "firstName": "Ada"}
    assert sorted(published, key=lambda event: event[0]) == [
        ("subscriber.created", {"subscriber": eve}, None),
        ("subscriber.updated", {"subscriber": renamed}, {"firstName": ""}),
    ]


@pytest.mark.parametrize("status", OPT_OUTS)
def test_import_publishes_the_transition_to_a_stricter_status(
    account: Account, status: str
) -> None:
    record_events(account)
    ada = create_subscriber(account, isConfirmed=True)
    bob = create_subscriber_in(account, "COMPLAINED", "bob@example.com")
    rows = [
        {"email": ada["email"], "firstName": "Ada", "status": status},
        {"email": bob["email"], "status": status},
        {"email": "eve@example.com", "status": status},
    ]

    published = new_events(account, lambda: import_rows(account, rows, onConflict="UPDATE"))

    eve = account.ok("GetSubscriber", id="eve@example.com")["subscriber"]
    renamed = {**ada, "firstName": "Ada"}
    assert published == [
        ("subscriber.created", {"subscriber": eve}, None),
        ("subscriber.updated", {"subscriber": renamed}, {"firstName": ""}),
        (
            f"subscriber.{status.lower()}",
            {"subscriber": {**renamed, "status": status}},
            {"status": "CONFIRMED"},
        ),
    ]


def test_tag_publishes_each_change_and_one_deletion(account: Account) -> None:
    record_events(account)
    for name in ("ada", "bob"):
        create_subscriber(account, f"{name}@example.com", tags=["vip"])
    tag = account.ok("ListTags")["tags"][0]
    change = partial(changed, account, id=tag["id"])

    renamed = {**tag, "name": "VIP"}
    assert change("UpdateTag", name="VIP") == [("tag.updated", {"tag": renamed}, {"name": "vip"})]
    assert change("UpdateTag", name="VIP", description="") == []
    assert change("DeleteTag") == [("tag.deleted", {"tag": renamed}, None)]
    assert change("DeleteTag") == []
    created = changed(account, "CreateTag", name="new", description="d")
    assert [event_type for event_type, _, _ in created] == ["tag.created"]
    assert changed(account, "CreateTag", name="New") == []


def test_custom_field_publishes_each_change(account: Account) -> None:
    record_events(account)
    field: dict[str, Any] = {}

    created = new_events(
        account, lambda: field.update(create_field(account, "Town", fallback="here"))
    )

    assert created == [("custom_field.created", {"customField": field}, None)]
    for fields, previous in (
        ({"label": "City"}, {"label": "Town"}),
        ({"fallback": ""}, {"fallback": "here"}),
        ({"fallback": "there"}, {"fallback": None}),
    ):
        change: dict[str, Any] = {"rpc": "UpdateCustomField", "id": field["id"], **fields}
        ((event_type, data, before),) = changed(account, **change)
        after = account.ok("GetCustomField", id=field["id"])["customField"]
        before.pop("updatedAt", None)
        assert (event_type, data) == ("custom_field.updated", {"customField": after})
        assert before == previous
        assert changed(account, **change) == []
    deleted = changed(account, "DeleteCustomField", id=field["id"])
    assert deleted == [("custom_field.deleted", {"customField": after}, None)]


def test_events_are_recorded_only_while_there_is_a_webhook(account: Account) -> None:
    account.ok("CreateTag", name="a")
    webhook_id = record_events(account)
    account.ok("CreateTag", name="b")
    account.ok("DeleteWebhook", id=webhook_id)
    account.ok("CreateTag", name="c")
    account.ok("CreateTag", name="d")
    record_events(account)
    account.ok("CreateTag", name="e")

    recorded = [(event["sequence"], event["data"]["tag"]["name"]) for event in events(account)]

    assert recorded == [(1, "b"), (2, "e")]


def test_concurrent_writers_leave_no_gap_in_the_event_sequence(account: Account) -> None:
    record_events(account)
    calls = [
        lambda number=number: account.call(
            "CreateSubscriber", email=f"u{number}@example.com", tags=[f"t{number % 5}"]
        )
        for number in range(50)
    ]

    responses = call_concurrently(*calls)

    assert statuses(responses) == [201] * 50
    recorded = events(account)
    assert [event["sequence"] for event in recorded] == list(range(1, 56))
    created = {response.body["subscriber"]["id"] for response in responses}
    published = [
        event["data"]["subscriber"]["id"] for event in recorded if "subscriber" in event["data"]
    ]
    assert (len(published), set(published)) == (50, created)


@pytest.fixture(scope="module")
def history(front_and_service: tuple[Front, Service]) -> Account:
    """An account with seven events of several types, which no test changes."""
    front, service = front_and_service
    account = new_account(service, front)
    record_events(account)
    tag = account.ok("CreateTag", name="vip")["tag"]
    account.ok("UpdateTag", id=tag["id"], name="gold")
    subscriber = create_subscriber(account, tags=["gold"])
    create_field(account, "Town")
    account.ok("DeleteTag", id=tag["id"])
    account.ok("ChangeSubscriberStatus", id=subscriber["id"], status="CONFIRMED")
    account.ok("DeleteSubscriber", id=subscriber["id"])
    return account


FILTERS: dict[str, tuple[dict[str, Any], list[int]]] = {
    "none": ({}, [1, 2, 3, 4, 5, 6, 7]),
    "a type": ({"eventType": "tag.updated"}, [2]),
    "all types of a resource": ({"eventType": "Tag.*"}, [1, 2, 5]),
    "a type of two words": ({"eventType": "custom_field.*"}, [4]),
    "after a sequence": ({"afterSequence": 5}, [6, 7]),
    "after the greatest sequence": ({"afterSequence": 9007199254740991}, []),
    "a type after a sequence": ({"afterSequence": 1, "eventType": "tag.*"}, [2, 5]),
    "a type, descending": ({"order": "Desc", "eventType": "tag.*"}, [5, 2, 1]),
    "the second page, descending": ({"limit": 3, "page": 2, "order": "desc"}, [4, 3, 2]),
    "the second page of a type": ({"limit": 2, "page": 2, "eventType": "tag.*"}, [5]),
    "a page past the end": ({"limit": 3, "page": 4}, []),
    "until long ago": ({"createdBefore": "2001-01-01T00:00:00Z"}, []),
    "since later": ({"createdAfter": "2190-01-01T00:00:00Z"}, []),
}


@pytest.mark.parametrize(("filters", "expected"), FILTERS.values(), ids=FILTERS)
def test_events_are_listed_by_filters(
    history: Account, filters: dict[str, Any], expected: list[int]
) -> None:
    body = history.ok("ListEvents", **filters)

    assert [event["sequence"] for event in body["events"]] == expected
    whole = history.ok("ListEvents", **{**filters, "page": 1, "limit": 100})
    assert body["total"] == len(whole["events"])
    assert (body["page"], body["limit"]) == (filters.get("page", 1), filters.get("limit", 20))
