"""JSON null in requests. It equals an absent key, except in fields that define a meaning for it."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field, create_subscriber

URL = "https://example.com/hooks"

# The required keys, optional keys and response key of each creation.
CREATIONS: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "CreateSubscriber": (
        {"email": "ada@example.com"},
        ("firstName", "lastName", "isConfirmed", "tags", "customFields"),
        "subscriber",
    ),
    "CreateTag": ({"name": "vip"}, ("description",), "tag"),
    "CreateCustomField": ({"label": "Town"}, ("dataType", "fallback"), "customField"),
    "CreateWebhook": ({"url": URL}, ("description", "eventTypes", "enabled"), "webhook"),
    "CreateApiKey": ({"name": "ci", "scope": "read"}, ("expiresAt",), "apiKey"),
}
GENERATED = ("id", "createdAt", "createdBy", "updatedAt")


def create(account: Account, rpc: str, member: str, body: dict[str, Any]) -> dict[str, Any]:
    """Creates a resource and returns it without generated keys."""
    result: dict[str, Any] = account.ok(rpc, **body)[member]
    return {key: value for key, value in result.items() if key not in GENERATED}


@pytest.mark.each_database
@pytest.mark.parametrize("rpc", CREATIONS)
def test_null_on_creation_is_an_absent_key(
    account: Account, other_account: Account, rpc: str
) -> None:
    needed, others, member = CREATIONS[rpc]

    with_nulls = create(account, rpc, member, needed | dict.fromkeys(others))

    assert with_nulls == create(other_account, rpc, member, needed)


def a_subscriber(account: Account) -> dict[str, Any]:
    create_field(account, "Town")
    names: dict[str, Any] = {"firstName": "Ada", "lastName": "King", "tags": ["vip"]}
    return create_subscriber(account, isConfirmed=True, customFields={"town": "Turin"}, **names)


def a_tag(account: Account) -> dict[str, Any]:
    result: dict[str, Any] = account.ok("CreateTag", name="vip", description="known by name")["tag"]
    return result


def a_custom_field(account: Account) -> dict[str, Any]:
    return create_field(account, "Town", fallback="here")


def a_webhook(account: Account) -> dict[str, Any]:
    body = {"url": URL, "description": "CRM", "eventTypes": ["tag.*"]}
    result: dict[str, Any] = account.ok("CreateWebhook", **body)["webhook"]
    return result


# For each update: the target, HTTP collection, response key, request keys, and the value of the
# keys that null clears.
UPDATES = {
    "UpdateSubscriber": (
        a_subscriber,
        ("subscribers", "subscriber"),
        ("email", "firstName", "lastName", "tags", "customFields"),
        {"firstName": "", "lastName": "", "tags": []},
    ),
    "UpdateTag": (a_tag, ("tags", "tag"), ("name", "description"), {}),
    "UpdateCustomField": (
        a_custom_field,
        ("custom-fields", "customField"),
        ("label", "fallback"),
        {},
    ),
    "UpdateWebhook": (
        a_webhook,
        ("webhooks", "webhook"),
        ("url", "description", "eventTypes", "enabled"),
        {},
    ),
}


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("rpc", "key"), [(rpc, key) for rpc, (_, _, keys, _) in UPDATES.items() for key in keys]
)
def test_null_in_an_update_keeps_the_value_unless_it_clears_the_field(
    account: Account, rpc: str, key: str
) -> None:
    make, (_, member), _, cleared = UPDATES[rpc]
    before = make(account)

    after = account.ok(rpc, id=before["id"], **{key: None})[member]

    expected = {**before, key: cleared[key]} if key in cleared else before
    assert after == expected
    read = account.ok(rpc.replace("Update", "Get"), id=before["id"])[member]
    assert read == expected
