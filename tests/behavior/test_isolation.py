"""Accounts never see, touch or disturb each other, through every front.

The cases are made from the descriptors, so that a new rpc is among them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ..conftest import Account, new_account
from ..fronts import UNARY, Front, path_variables
from ..processes import Service
from .helpers import MISSING_ID, emails, error_of, suppress

LISTS = sorted(rpc for rpc in UNARY if rpc.startswith("List") and not path_variables(rpc))
CREATES = sorted(rpc for rpc in UNARY if rpc.startswith(("Create", "BulkCreate")))
# The field by which each other rpc is told which one is meant, and what nothing has there.
NAMES = {
    rpc: field.json_name
    for rpc, method in UNARY.items()
    for field in method.input_type.fields
    if field.name in ("id", *path_variables(rpc)) or field.name.endswith("_id")
}
# What is meant, where that is something else than what the service creates.
MEANT = {
    "RenderMergeTags": "SubscriberService",
    "GetWebhookDelivery": "delivery",
    "RetryWebhookDelivery": "delivery",
}
MISSING = {"email": "nobody@example.com"}

# A valid request of each rpc that creates, and of each that needs more than a name.
REQUESTS: dict[str, dict[str, Any]] = {
    "CreateSubscriber": {"email": "ada@example.com", "tags": ["on ada"]},
    "BulkCreateSubscribers": {"subscribers": [{"email": "bob@example.com", "tags": ["on bob"]}]},
    "CreateTag": {"name": "vip"},
    "CreateCustomField": {"label": "Town"},
    "CreateApiKey": {"name": "ci", "scope": "read"},
    # Nothing happens to it but what a test does.
    "CreateWebhook": {"url": "http://127.0.0.1:9/", "enabled": False},
    "UpdateSubscriber": {"firstName": "Eve", "email": "eve@example.com", "tags": ["eve"]},
    "ChangeSubscriberStatus": {"status": "COMPLAINED"},
    "AddSubscriberTags": {"tags": ["eve"]},
    "RemoveSubscriberTags": {"tags": ["on ada"]},
    "UpdateTag": {"name": "eve"},
    "UpdateCustomField": {"label": "Eve"},
    "RenderMergeTags": {"subject": "Dear {{email}}"},
    "UpdateWebhook": {"description": "eve"},
    "ReplayWebhook": {"since": "2020-01-01T00:00:00Z"},
}


def meant_by(rpc: str) -> str:
    """Returns what an rpc is about: what its service creates, unless told otherwise."""
    return MEANT.get(rpc, str(UNARY[rpc].containing_service.name))


def make_all(account: Account) -> dict[str, str]:
    """Makes one of everything, and returns what each of them goes by."""
    names = {}
    for rpc in CREATES:
        for created in account.ok(rpc, **REQUESTS[rpc]).values():
            if isinstance(created, dict):
                names[meant_by(rpc)] = created["id"]
    names["delivery"] = account.ok("TestWebhook", id=names["WebhookService"])["delivery"]["id"]
    names["SuppressionService"] = suppress(account, "gone@example.com")
    return names


def everything(account: Account) -> dict[str, Any]:
    """Returns what the account lists, of everything."""
    return {rpc: account.ok(rpc, limit=100) for rpc in LISTS}


@dataclass
class NotificationBridge:
    """An account that has one of everything, what each goes by, and what the account lists."""

    account: Account
    names: dict[str, str]
    before: dict[str, Any]


@pytest.fixture(scope="module")
def others(front_and_service: tuple[Front, Service]) -> NotificationBridge:
    """What another account has, and no test changes."""
    front, service = front_and_service
    account = new_account(service, front)
    return NotificationBridge(account, make_all(account), everything(account))


@pytest.mark.each_database_per_case
@pytest.mark.parametrize(("rpc", "name"), NAMES.items(), ids=NAMES)
def test_resource_of_another_account_returns_the_error_of_a_missing_one(
    account: Account, others: NotificationBridge, rpc: str, name: str
) -> None:
    theirs, missing = others.names[meant_by(rpc)], MISSING.get(name, MISSING_ID)
    rest = REQUESTS.get(rpc, {})

    response = account.call(rpc, **{name: theirs}, **rest)

    assert response.status == 404
    assert error_of(response) == error_of(account.call(rpc, **{name: missing}, **rest))
    assert everything(others.account) == others.before


@pytest.mark.parametrize("rpc", UNARY)
def test_isolation_cases_cover_every_operation(rpc: str) -> None:
    assert rpc in {*LISTS, *CREATES, *NAMES}


def test_lists_have_no_resources_of_other_accounts(
    account: Account, other_account: Account
) -> None:
    before = everything(account)

    make_all(other_account)

    assert everything(account) == before


@pytest.mark.each_database_per_case
@pytest.mark.parametrize("rpc", CREATES)
def test_names_used_by_another_account_are_available(
    account: Account, others: NotificationBridge, rpc: str
) -> None:
    response = account.call(rpc, **REQUESTS[rpc])

    assert response.status in (200, 201)
    assert response.body.get("failed", []) == []
    assert everything(others.account) == others.before


@pytest.mark.usefixtures("others")
def test_subscriber_of_another_account_is_not_found_by_email(account: Account) -> None:
    response = account.call("GetSubscriber", id="ada@example.com")

    assert response.status == 404
    assert error_of(response) == error_of(account.call("GetSubscriber", id="nobody@example.com"))


def test_tags_with_the_same_name_in_two_accounts_are_separate(
    account: Account, other_account: Account
) -> None:
    for each in (account, other_account):
        each.ok("CreateSubscriber", email="ada@example.com", tags=["vip"])
    tag = account.ok("ListTags")["tags"][0]

    account.ok("UpdateTag", id=tag["id"], name="gold")

    assert other_account.ok("ListSubscribers")["subscribers"][0]["tags"] == ["vip"]
    account.ok("DeleteTag", id=tag["id"])
    assert other_account.ok("ListSubscribers")["subscribers"][0]["tags"] == ["vip"]


def test_key_acts_only_for_its_own_account(account: Account, other_account: Account) -> None:
    through = account.with_key(other_account.key)

    through.ok("CreateSubscriber", email="ada@example.com")

    assert (emails(account), emails(other_account)) == ([], ["ada@example.com"])
