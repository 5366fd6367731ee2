"""Operations on a subscriber that is identified by its email address over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from ..fronts import METHODS
from .helpers import create_subscriber, stored

# The field that identifies the subscriber, the other request fields, and the fields that the
# operation changes (None if it deletes the subscriber).
Change = dict[str, Any] | None
OPERATIONS: dict[str, tuple[str, dict[str, Any], Change]] = {
    "GetSubscriber": ("id", {}, {}),
    "UpdateSubscriber": ("id", {"firstName": "A."}, {"firstName": "A."}),
    "ChangeSubscriberStatus": ("id", {"status": "CONFIRMED"}, {"status": "CONFIRMED"}),
    "AddSubscriberTags": ("id", {"tags": ["new"]}, {"tags": ["new", "vip"]}),
    "RemoveSubscriberTags": ("id", {"tags": ["VIP"]}, {"tags": []}),
    "ListSubscriberHistory": ("id", {}, {}),
    "GetSubscriberPersonalData": ("id", {}, {}),
    "GetSubscriberErasurePreview": ("id", {}, {}),
    "GetSubscriberMailability": ("id", {}, {}),
    "ListAllWebhookDeliveries": ("subscriberId", {}, {}),
    "RenderMergeTags": ("subscriberId", {"subject": "{{email}}"}, {}),
    "DeleteSubscriber": ("id", {}, None),
}

SPELLINGS = {
    "the same": ("ada@example.com", "ada@example.com"),
    "other case": ("Ada@Example.com", "aDA@eXAMPLE.COM"),
    "surrounding spaces": ("ada@example.com", " ada@example.com "),
    "reserved URL characters": ("a/b?c#d%40+e@example.com", "a/b?c#d%40+e@example.com"),
    "international": ("josé@bücher.example", "JOSE\u0301@xn--bcher-kva.example"),
}


def call(account: Account, rpc: str, reference: str) -> Any:
    name, body, _ = OPERATIONS[rpc]
    return account.call(rpc, **{name: reference}, **body)


def test_cases_cover_every_operation_on_a_subscriber() -> None:
    operations = {
        rpc
        for rpc, method in METHODS.items()
        if "subscriber_id" in method.input_type.fields_by_name
        or (method.containing_service.name, "id" in method.input_type.fields_by_name)
        == ("SubscriberService", True)
    }

    assert operations == set(OPERATIONS)


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("rpc", "spelling"),
    [
        *(("GetSubscriber", spelling) for spelling in SPELLINGS),
        *((rpc, "reserved URL characters") for rpc in OPERATIONS if rpc != "GetSubscriber"),
        *((rpc, "international") for rpc in OPERATIONS if rpc != "GetSubscriber"),
    ],
)
def test_every_operation_accepts_the_address_in_any_spelling(
    account: Account, rpc: str, spelling: str
) -> None:
    body, written = SPELLINGS[spelling]
    created = create_subscriber(account, body, tags=["vip"])
    other = create_subscriber(account, "bob@example.com", tags=["vip"])

    response = call(account, rpc, written)

    assert response.status in (200, 204), response
    change = OPERATIONS[rpc][2]
    if change is None:
        account.fails("SubscriberNotFound", "GetSubscriber", id=created["id"])
    else:
        assert stored(account, created) == {**created, **change}
    assert stored(account, other) == other


def test_update_by_address_can_change_the_address(
    account: Account,
) -> None:
    ada = create_subscriber(account)

    account.ok("UpdateSubscriber", id="ada@example.com", email="countess@example.com")

    account.fails("SubscriberNotFound", "UpdateSubscriber", id="ada@example.com", firstName="A.")
    account.ok("UpdateSubscriber", id="countess@example.com", firstName="A.")
    assert stored(account, ada) == {**ada, "email": "countess@example.com", "firstName": "A."}
