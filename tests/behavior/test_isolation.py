"""Isolation of accounts over every front.

The cases are derived from the proto descriptors, so new rpcs are included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from ..conftest import Account, new_account
from ..fronts import UNARY, Front, path_variables
from ..processes import Service
from .helpers import MISSING_ID, emails, error_of, suppress, unsubscribe_token

LISTS = sorted(rpc for rpc in UNARY if rpc.startswith("List") and not path_variables(rpc))
CREATES = sorted(
    rpc
    for rpc in UNARY
    if rpc.startswith(("Create", "BulkCreate", "Add")) and not path_variables(rpc)
)
# The field that identifies the resource, for every other rpc that refers to one.
REFERENCES = {
    rpc: field.json_name
    for rpc, method in UNARY.items()
    for field in method.input_type.fields
    if field.name in ("id", *path_variables(rpc)) or field.name.endswith("_id")
}
# The resource type of an rpc, if it differs from that of its service.
RESOURCE_TYPES = {
    "RenderMergeTags": "SubscriberService",
    "CreateSubscriberLinks": "SubscriberService",
    "GetWebhookDelivery": "delivery",
    "RetryWebhookDelivery": "delivery",
}
MISSING = {"email": "unknown@example.com"}

# A valid request of each rpc that needs more fields than the reference.
REQUESTS: dict[str, dict[str, Any]] = {
    "CreateSubscriber": {"email": "ada@example.com", "tags": ["on ada"]},
    "BulkCreateSubscribers": {"subscribers": [{"email": "bob@example.com", "tags": ["on bob"]}]},
    "CreateTag": {"name": "vip"},
    "CreateSegment": {"name": "all", "filter": "email:*"},
    "CreateCustomField": {"label": "Town"},
    "CreateApiKey": {"name": "ci", "scope": "read"},
    # Disabled, so that no delivery changes it.
    "CreateWebhook": {"url": "http://127.0.0.1:9/", "enabled": False},
    "UpdateSubscriber": {"firstName": "Eve", "email": "eve@example.com", "tags": ["eve"]},
    "ChangeSubscriberStatus": {"status": "COMPLAINED"},
    "AddSubscriberTags": {"tags": ["eve"]},
    "RemoveSubscriberTags": {"tags": ["on ada"]},
    "UpdateTag": {"name": "eve"},
    "UpdateSegment": {"name": "eve"},
    "UpdateCustomField": {"label": "Eve"},
    "AddSuppressions": {"emails": ["never@example.com"]},
    "RenderMergeTags": {"subject": "Dear {{email}}"},
    "UpdateWebhook": {"description": "eve"},
    "ReplayWebhook": {"since": "2020-01-01T00:00:00Z"},
}

# Their tests use one account; the store tests compare the accounts.
OTHERS = {
    "BatchChangeSubscribers",
    "GetStatistics",
    "GetDailyStatistics",
    "GetAccount",
    "UpdateAccount",
    "SignUp",
}
COUNT = {"filter": "email:*", "action": {"delete": True}, "dryRun": True}


def resource_type(rpc: str) -> str:
    """Returns the type of resource that an rpc refers to. By default, this is the type of its
    service.
    """
    return RESOURCE_TYPES.get(rpc, str(UNARY[rpc].containing_service.name))


def create_all(account: Account) -> dict[str, str]:
    """Creates a resource of every type and returns their references by type."""
    references = {}
    for rpc in CREATES:
        for created in account.ok(rpc, **REQUESTS[rpc]).values():
            if isinstance(created, dict):
                references[resource_type(rpc)] = created["id"]
    references["delivery"] = account.ok("TestWebhook", id=references["WebhookService"])["delivery"][
        "id"
    ]
    operation = account.ok("BatchChangeSubscribers", **COUNT)["operation"]
    references["OperationService"] = operation["id"]
    references["LinkService"] = unsubscribe_token(account, references["SubscriberService"])
    references["SuppressionService"] = suppress(account, "gone@example.com")
    return references


def all_lists(account: Account) -> dict[str, Any]:
    """Returns all lists of the account."""
    return {rpc: account.ok(rpc, limit=100) for rpc in LISTS}


@dataclass
class OtherAccount:
    """An account with a resource of every type, their references, and its lists."""

    account: Account
    references: dict[str, str]
    before: dict[str, Any]


@pytest.fixture(scope="module")
def other(front_and_service: tuple[Front, Service]) -> OtherAccount:
    """Another account, which no test changes."""
    front, service = front_and_service
    account = new_account(service, front)
    return OtherAccount(account, create_all(account), all_lists(account))


def test_resource_of_another_account_and_missing_resource_return_the_same_error(
    account: Account, other: OtherAccount
) -> None:
    errors = {}
    for rpc, name in REFERENCES.items():
        theirs, missing = other.references[resource_type(rpc)], MISSING.get(name, MISSING_ID)
        errors[rpc] = [
            error_of(account.call(rpc, **{name: reference}, **REQUESTS.get(rpc, {})))
            for reference in (theirs, missing)
        ]

    assert {rpc: both for rpc, both in errors.items() if both[0] != both[1]} == {}
    assert {status for both in errors.values() for status, _ in both} == {404}
    assert all_lists(other.account) == other.before


def test_isolation_cases_cover_every_operation() -> None:
    # test_subscribers_batch_get.py tests the subscribers of another account.
    assert UNARY.keys() == {*LISTS, *CREATES, *REFERENCES, "BatchGetSubscribers", *OTHERS}


def test_lists_have_no_resources_of_other_accounts(
    account: Account, other_account: Account
) -> None:
    before = all_lists(account)

    create_all(other_account)

    assert all_lists(account) == before


def test_names_used_by_another_account_are_available(account: Account, other: OtherAccount) -> None:
    for rpc in CREATES:
        assert account.ok(rpc, **REQUESTS[rpc]).get("failed", []) == []

    assert all_lists(other.account) == other.before


@pytest.mark.usefixtures("other")
def test_subscriber_of_another_account_is_not_found_by_email(account: Account) -> None:
    response = account.call("GetSubscriber", id="ada@example.com")

    assert response.status == 404
    assert error_of(response) == error_of(account.call("GetSubscriber", id="unknown@example.com"))


def test_tags_with_the_same_name_in_two_accounts_are_separate(
    account: Account, other_account: Account
) -> None:
    for owner in (account, other_account):
        owner.ok("CreateSubscriber", email="ada@example.com", tags=["vip"])
    tag = account.ok("ListTags")["tags"][0]

    account.ok("UpdateTag", id=tag["id"], name="gold")

    assert other_account.ok("ListSubscribers")["subscribers"][0]["tags"] == ["vip"]
    account.ok("DeleteTag", id=tag["id"])
    assert other_account.ok("ListSubscribers")["subscribers"][0]["tags"] == ["vip"]


def test_key_acts_only_for_its_own_account(account: Account, other_account: Account) -> None:
    through = account.with_key(other_account.key)

    through.ok("CreateSubscriber", email="ada@example.com")

    assert (emails(account), emails(other_account)) == ([], ["ada@example.com"])
