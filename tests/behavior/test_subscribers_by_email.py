"""Operations on a subscriber that is identified by its email address over every front."""

from __future__ import annotations

import pytest

from ..conftest import Account
from ..fronts import UNARY
from .helpers import create_subscriber, stored
from .requests import REFERENCES, REQUESTS

# The rpcs of a subscriber, and the field that identifies it.
OPERATIONS = {
    rpc: REFERENCES.get(rpc, "subscriberId")
    for rpc, method in UNARY.items()
    if "subscriber_id" in method.input_type.fields_by_name
    or (
        "id" in method.input_type.fields_by_name
        and method.containing_service.name == "SubscriberService"
    )
}
TAGS = ["kept", "on ada"]
# The fields that each request changes.
CHANGED = {
    "UpdateSubscriber": REQUESTS["UpdateSubscriber"],
    "ChangeSubscriberStatus": {"status": "COMPLAINED"},
    "AddSubscriberTags": {"tags": ["eve", *TAGS]},
    "RemoveSubscriberTags": {"tags": ["kept"]},
}
SPELLINGS = {
    "the same": ("ada@example.com", "ada@example.com"),
    "other case": ("Ada@Example.com", "aDA@eXAMPLE.COM"),
    "surrounding spaces": ("ada@example.com", " ada@example.com "),
    "reserved URL characters": ("a/b?c#d%40+e@example.com", "a/b?c#d%40+e@example.com"),
    "international": ("josé@bücher.example", "JOSE\u0301@xn--bcher-kva.example"),
}


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
    created = create_subscriber(account, body, tags=TAGS)
    other = create_subscriber(account, "bob@example.com", tags=TAGS)

    account.ok(rpc, **{OPERATIONS[rpc]: written, **REQUESTS.get(rpc, {})})

    if rpc == "DeleteSubscriber":
        account.fails("SubscriberNotFound", "GetSubscriber", id=created["id"])
    else:
        assert stored(account, created) == created | CHANGED.get(rpc, {})
    assert stored(account, other) == other


def test_update_by_address_can_change_the_address(
    account: Account,
) -> None:
    ada = create_subscriber(account)

    account.ok("UpdateSubscriber", id="ada@example.com", email="countess@example.com")

    account.fails("SubscriberNotFound", "UpdateSubscriber", id="ada@example.com", firstName="A.")
    account.ok("UpdateSubscriber", id="countess@example.com", firstName="A.")
    assert stored(account, ada) == {**ada, "email": "countess@example.com", "firstName": "A."}
