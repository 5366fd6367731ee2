"""Accounts never see, touch or disturb each other, through every front.

The cases are made from the descriptors, so that a new rpc is among them.
"""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from ..fronts import METHODS
from .helpers import MISSING_ID, emails, told

BY_ID = sorted(rpc for rpc, m in METHODS.items() if "id" in m.input_type.fields_by_name)
LISTS = sorted(rpc for rpc in METHODS if rpc.startswith("List"))
CREATES = sorted(set(METHODS) - set(BY_ID) - set(LISTS))

# A valid request of each rpc that creates, and of each that needs more than an id.
REQUESTS: dict[str, dict[str, Any]] = {
    "CreateSubscriber": {"email": "ada@example.com", "tags": ["on ada"]},
    "BulkCreateSubscribers": {"subscribers": [{"email": "bob@example.com", "tags": ["on bob"]}]},
    "CreateTag": {"name": "vip"},
    "CreateCustomField": {"label": "Town"},
    "CreateApiKey": {"name": "ci", "scope": "read"},
    "UpdateSubscriber": {"firstName": "Eve", "email": "eve@example.com", "tags": ["eve"]},
    "UpdateTag": {"name": "eve"},
    "UpdateCustomField": {"label": "Eve"},
}


def service_of(rpc: str) -> str:
    return str(METHODS[rpc].containing_service.name)


def make_all(account: Account) -> dict[str, str]:
    """Makes one of everything, and returns an id for each service."""
    ids = {}
    for rpc in CREATES:
        for made in account.ok(rpc, **REQUESTS[rpc]).values():
            if isinstance(made, dict):
                ids[service_of(rpc)] = made["id"]
    return ids


def everything(account: Account) -> dict[str, Any]:
    """Returns what the account lists, of everything."""
    return {rpc: account.ok(rpc, limit=100) for rpc in LISTS}


@pytest.mark.parametrize("rpc", BY_ID)
def test_id_of_another_account_is_told_as_a_missing_one(
    account: Account, other_account: Account, rpc: str
) -> None:
    theirs = make_all(other_account)[service_of(rpc)]
    before = everything(other_account)

    answer = account.call(rpc, id=theirs, **REQUESTS.get(rpc, {}))

    assert answer.status == 404
    assert told(answer) == told(account.call(rpc, id=MISSING_ID, **REQUESTS.get(rpc, {})))
    assert everything(other_account) == before


@pytest.mark.parametrize("rpc", LISTS)
def test_nothing_of_another_account_is_listed(
    account: Account, other_account: Account, rpc: str
) -> None:
    before = account.ok(rpc)

    make_all(other_account)

    assert account.ok(rpc) == before


@pytest.mark.parametrize("rpc", CREATES)
def test_what_another_account_has_is_free_in_this_one(
    account: Account, other_account: Account, rpc: str
) -> None:
    make_all(other_account)
    before = everything(other_account)

    answer = account.call(rpc, **REQUESTS[rpc])

    assert answer.status in (200, 201)
    assert answer.body.get("failed", []) == []
    assert everything(other_account) == before


def test_subscriber_of_another_account_is_not_found_by_email(
    account: Account, other_account: Account
) -> None:
    make_all(other_account)

    answer = account.call("GetSubscriber", id="ada@example.com")

    assert answer.status == 404
    assert told(answer) == told(account.call("GetSubscriber", id="nobody@example.com"))


def test_tags_of_one_name_stay_apart(account: Account, other_account: Account) -> None:
    for each in (account, other_account):
        each.ok("CreateSubscriber", email="ada@example.com", tags=["vip"])
    tag = account.ok("ListTags")["tags"][0]

    account.ok("UpdateTag", id=tag["id"], name="gold")

    assert other_account.ok("ListSubscribers")["subscribers"][0]["tags"] == ["vip"]
    account.ok("DeleteTag", id=tag["id"])
    assert other_account.ok("ListSubscribers")["subscribers"][0]["tags"] == ["vip"]


def test_key_of_another_account_acts_for_that_account_only(
    account: Account, other_account: Account
) -> None:
    through = account.with_key(other_account.key)

    through.ok("CreateSubscriber", email="ada@example.com")

    assert (emails(account), emails(other_account)) == ([], ["ada@example.com"])
