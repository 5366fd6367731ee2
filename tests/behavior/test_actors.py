"""History and events name who made each change, over every front."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ..conftest import Account
from .helpers import (
    call_concurrently,
    create_subscriber,
    record_events,
    unsubscribe_token,
)
from .streams import import_rows
from .test_operations import run

ADA = "ada@example.com"
PERSON = {"type": "PERSON"}


def new_key(account: Account, name: str) -> tuple[Account, dict[str, str]]:
    """Returns the account through a new key, and the key as an actor."""
    created = account.ok("CreateApiKey", name=name, scope="write")
    actor = {"type": "API_KEY", "id": created["apiKey"]["id"], "name": name}
    return account.with_key(created["secret"]), actor


def unsubscribe(account: Account) -> None:
    token = unsubscribe_token(account, ADA)
    account.ok("FollowLink", token=token, ip="192.0.2.1")


# Changes of a subscriber that exists, by a key.
CHANGES: dict[str, Callable[[Account], Any]] = {
    "call": lambda account: account.ok("UpdateSubscriber", id=ADA, firstName="Eve"),
    "import": lambda account: import_rows(
        account, [{"email": ADA, "firstName": "Eve"}], onConflict="UPDATE"
    ),
    "operation": lambda account: run(account, filter="email:*", action={"addTags": ["vip"]}),
    "suppression": lambda account: account.ok("AddSuppressions", emails=[ADA]),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_change_with_a_key_names_it_also_after_it_is_revoked(
    account: Account, change: Callable[[Account], Any]
) -> None:
    record_events(account)
    create_subscriber(account)
    sync, actor = new_key(account, "Nightly sync")
    last = account.ok("ListEvents")["total"]
    change(sync)

    account.ok("RevokeApiKey", id=actor["id"])

    entry, _ = account.ok("ListSubscriberHistory", id=ADA)["history"]
    assert entry["actor"] == actor
    events = account.ok("ListEvents", afterSequence=last)["events"]
    assert [event["actor"] for event in events] == [actor] * len(events)
    assert "subscriber" in events[-1]["data"] or events[-1]["type"] == "operation.completed"


def test_change_by_a_person_names_nobody(account: Account) -> None:
    record_events(account)
    account.ok("SignUp", email=ADA, ip="192.0.2.1")
    unsubscribe(account)

    history = account.ok("ListSubscriberHistory", id=ADA)["history"]
    assert [entry["actor"] for entry in history] == [PERSON] * 2
    events = account.ok("ListEvents")["events"]
    assert [event["actor"] for event in events] == [PERSON] * 2

    account.ok("DeleteSubscriber", id=ADA, erase=True)

    *events, deleted = account.ok("ListEvents")["events"]
    assert [event["actor"] for event in events] == [PERSON] * 2
    assert deleted["actor"]["type"] == "API_KEY"


def test_concurrent_creations_name_the_key_of_each_call(account: Account) -> None:
    record_events(account)
    keys = [new_key(account, f"key {number}") for number in range(2)]
    addresses = [f"{number}@example.com" for number in range(16)]

    responses = call_concurrently(
        *[
            partial(keys[number % 2][0].call, "CreateSubscriber", email=address)
            for number, address in enumerate(addresses)
        ]
    )

    assert {response.status for response in responses} == {201}
    expected = {address: keys[number % 2][1] for number, address in enumerate(addresses)}
    events = account.ok("ListEvents", limit=100)["events"]
    assert {each["data"]["subscriber"]["email"]: each["actor"] for each in events} == expected
    for address, actor in expected.items():
        (entry,) = account.ok("ListSubscriberHistory", id=address)["history"]
        assert entry["actor"] == actor
