"""The data about a person: returned as a whole, and erased, over every front."""

from __future__ import annotations

import json

import pytest

from ..conftest import Account
from ..features.webhooks.receiver import Receiver
from ..fronts import Response
from . import deliveries
from .helpers import create_field, create_subscriber, keep_operations_waiting, record_events

pytestmark = pytest.mark.each_database

# Each is a part of one person's data, and of no other.
TRACES = ("ada@", "ada.l@", "lovelace", "paris", "vip")


def create_person(account: Account) -> str:
    """Creates a subscriber and a history, next to another one."""
    record_events(account)
    create_field(account, "City")
    create_subscriber(account, "eve@example.com", firstName="Eve")
    row = create_subscriber(
        account, lastName="Lovelace", tags=["vip"], customFields={"city": "Paris"}
    )
    account.ok("ChangeSubscriberStatus", id=row["id"], status="CONFIRMED")
    account.ok("UpdateSubscriber", id=row["id"], email="ada.l@example.com")
    return str(row["id"])


def personal_data(account: Account, id_: str) -> list[Response]:
    """Returns all pages."""
    pages = [account.call("GetSubscriberPersonalData", id=id_)]
    while pages[-1].next:
        token = pages[-1].next
        pages.append(account.call("GetSubscriberPersonalData", id=id_, pageToken=token))
    assert {page.status for page in pages} == {200}
    return pages


def event_texts(account: Account) -> list[str]:
    """Returns each event as JSON text, oldest first."""
    return [json.dumps(event) for event in account.ok("ListEvents", limit=100)["events"]]


def traces(text: str) -> set[str]:
    return {trace for trace in TRACES if trace in text.lower()}


def test_personal_data_has_the_row_the_history_and_the_events(account: Account) -> None:
    id_ = create_person(account)

    (page,) = personal_data(account, id_)

    data = page.body
    full = account.ok("GetSubscriber", id=id_, view="FULL")["subscriber"]
    assert data["subscriber"] == full
    assert data["history"] == account.ok("ListSubscriberHistory", id=id_)["history"]
    reader = account.with_key(account.new_key("read"))
    events = reader.ok("ListEvents", eventType="subscriber.*", limit=100)["events"]
    assert data["events"] == [e for e in events if e["data"]["subscriber"]["id"] == id_]
    assert [event["type"] for event in data["events"]] == [
        "subscriber.created",
        "subscriber.confirmed",
        "subscriber.updated",
    ]
    assert data["deliveries"] == []
    assert "eve@" not in json.dumps(data).lower()


def test_preview_counts_what_an_erasure_would_remove(account: Account, receiver: Receiver) -> None:
    webhook = deliveries.create_webhook(account, receiver.url, eventTypes=["subscriber.*"])
    # Of two subscribers. The disabled webhook that it creates receives nothing.
    id_ = create_person(account)
    deliveries.wait_for_states(account, webhook, *["SUCCEEDED"] * 4)

    preview = account.ok("GetSubscriberErasurePreview", id="ada.l@example.com")

    (page,) = personal_data(account, id_)
    of_webhook = {"webhookId": webhook["id"], "url": receiver.url, "events": 3}
    assert preview == {
        "historyEntries": len(page.body["history"]),
        "events": len(page.body["events"]),
        "receivers": [of_webhook],
        "suppressesAddress": False,
    }
    account.ok("ChangeSubscriberStatus", id=id_, status="UNSUBSCRIBED")
    assert account.ok("GetSubscriberErasurePreview", id=id_)["suppressesAddress"]


def test_personal_data_that_exceeds_a_page_is_returned_completely(account: Account) -> None:
    record_events(account)
    for number in range(30):
        create_field(account, f"F{number}")
    row = create_subscriber(account)
    for number in range(25):
        values = {f"f{n}": f"{number % 10}" * 1_000 for n in range(30)}
        account.ok("UpdateSubscriber", id=row["id"], customFields=values)

    pages = personal_data(account, row["id"])

    assert len(pages) > 2
    assert [entry for page in pages for entry in page.body["history"]] == [
        entry
        for number in (1, 2, 3)
        for entry in account.ok("ListSubscriberHistory", id=row["id"], limit=10, page=number)[
            "history"
        ]
    ]
    sequences = [event["sequence"] for page in pages for event in page.body["events"]]
    assert len(sequences) == 26
    assert sequences == sorted(set(sequences))
    assert all(len(json.dumps(page.body)) < 2_000_000 for page in pages)


def test_erasing_removes_the_person_from_all_events(account: Account) -> None:
    id_ = create_person(account)
    before = [json.loads(text) for text in event_texts(account)]
    assert traces("".join(event_texts(account))) == set(TRACES)

    account.ok("DeleteSubscriber", id=id_, erase=True)

    events = [json.loads(text) for text in event_texts(account)]
    about = [event for event in events if event["data"].get("subscriber", {}).get("id") == id_]
    assert traces(json.dumps(about)) == set()
    kept = ("id", "type", "timestamp", "sequence")
    assert [[event[name] for name in kept] for event in events][:-1] == [
        [event[name] for name in kept] for event in before
    ]
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))
    assert [event["type"] for event in about][-1] == "subscriber.deleted"
    created, confirmed, updated, _ = about
    assert created["data"]["subscriber"] == {
        "id": id_,
        "email": "",
        "firstName": "",
        "lastName": "",
        "status": "UNCONFIRMED",
        "tags": [],
        "createdAt": created["data"]["subscriber"]["createdAt"],
    }
    assert (confirmed["previous"], updated["previous"]) == (
        {"status": "UNCONFIRMED"},
        {"status": "CONFIRMED"},
    )
    others = [event for event in events if event not in about]
    assert others == [event for event in before if event["id"] in {e["id"] for e in others}]


def test_erasing_removes_the_person_from_deliveries(account: Account, receiver: Receiver) -> None:
    webhook = deliveries.create_webhook(account, receiver.url)
    row = create_subscriber(account)
    (delivery,) = deliveries.wait_for_states(account, webhook, "SUCCEEDED")
    ((of_person,),) = [page.body["deliveries"] for page in personal_data(account, row["id"])]
    assert of_person == account.ok("GetWebhookDelivery", id=delivery["id"])
    assert [attempt["responseBody"] for attempt in of_person["attempts"]] == ["ok"]

    account.ok("DeleteSubscriber", id=row["id"], erase=True)
    account.ok("RetryWebhookDelivery", id=delivery["id"])
    deliveries.wait_for_states(account, webhook, "SUCCEEDED", "SUCCEEDED")

    first, *later = [request.event for request in receiver.received]
    assert len(later) == 2
    assert first["data"]["subscriber"]["email"] == "ada@example.com"
    assert traces(json.dumps(later)) == set()
    (answered, _) = account.ok("GetWebhookDelivery", id=delivery["id"])["attempts"]
    assert (answered["responseBody"], answered["requestHeaders"]) == ("", {})


def test_erasing_removes_addresses_from_operations_and_their_events(account: Account) -> None:
    id_ = create_person(account)
    vip = {"addTags": ["vip"]}
    filters = (
        'email = "Ada@example.com" OR tags:"a@b"',
        "NOT email=ADA.L@EXAMPLE.COM",
        'email = "ada.l@exam*"',
        'email:("Ada.L@exam" OR "a.L@EX" OR "example")',
        "email = eve@example.com",
    )
    for selected in (*({"filter": text} for text in filters), {"q": "Ada.l@exam"}, {"q": "adam"}):
        operation = account.ok("BatchChangeSubscribers", **selected, action=vip)["operation"]
        account.ok("CancelOperation", id=operation["id"])

    account.ok("DeleteSubscriber", id=id_, erase=True)

    operations = account.ok("ListOperations")["operations"][::-1]
    texts = [operation["filter"] for operation in operations]
    assert texts == [
        '(email = "erased" OR tags:"a@b")',
        "NOT email = erased",
        'email = "erased"',
        '(email:"erased" OR email:"erased" OR email:"example")',
        "email = eve@example.com",
        "",
        "",
    ]
    searches = [operation["q"] for operation in operations]
    assert searches == [""] * 5 + ["erased", "adam"]
    events = account.ok("ListEvents", eventType="operation.*", limit=100)["events"]
    assert [event["data"]["operation"]["filter"] for event in events] == texts
    assert [event["data"]["operation"]["q"] for event in events] == searches
    assert {"ada@", "ada.l@"}.isdisjoint(traces("".join(event_texts(account))))


def test_waiting_operation_that_names_an_erased_person_ends(account: Account) -> None:
    id_ = create_person(account)
    keep_operations_waiting(account)
    delete = {"filter": 'NOT email = "ada.l@example.com"', "action": {"delete": True}}
    operation = account.ok("BatchChangeSubscribers", **delete)["operation"]

    account.ok("DeleteSubscriber", id=id_, erase=True)

    operation = account.ok("GetOperation", id=operation["id"])["operation"]
    assert (operation["state"], operation["processed"]) == ("FAILED", 0)
    assert operation["error"]["reason"] == "SUBSCRIBER_NOT_FOUND"
    assert operation["filter"] == 'NOT email = "erased"'
    assert account.ok("ListSubscribers")["total"] == 1


def test_deleting_keeps_events_unless_erased(account: Account) -> None:
    id_ = create_person(account)

    account.ok("DeleteSubscriber", id=id_)

    assert traces("".join(event_texts(account))) == set(TRACES)
    account.fails("SubscriberNotFound", "DeleteSubscriber", id=id_, erase=True)
    account.fails("SubscriberNotFound", "GetSubscriberPersonalData", id=id_)
