"""Updates change the given keys only. JSON null equals an absent key."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field
from .test_account import LOGO

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


def a_tag(account: Account) -> dict[str, Any]:
    result: dict[str, Any] = account.ok("CreateTag", name="vip", description="known by name")["tag"]
    return result


def a_custom_field(account: Account) -> dict[str, Any]:
    return create_field(account, "Town", fallback="here")


def a_webhook(account: Account) -> dict[str, Any]:
    body = {"url": URL, "description": "CRM", "eventTypes": ["tag.*"]}
    result: dict[str, Any] = account.ok("CreateWebhook", **body)["webhook"]
    return result


def a_segment(account: Account) -> dict[str, Any]:
    body = {"name": "VIPs", "filter": "tags:vip", "description": "all"}
    result: dict[str, Any] = account.ok("CreateSegment", **body)["segment"]
    return result


def an_account(account: Account) -> dict[str, Any]:
    body = {"displayName": "Analytical Letters", "color": "#1a5fb4", "logo": LOGO}
    result: dict[str, Any] = account.ok("UpdateAccount", **body)["account"]
    return result


# For each update but that of subscribers: the target, and another value of each key.
UPDATES: dict[str, tuple[Any, dict[str, Any]]] = {
    "UpdateTag": (a_tag, {"name": "VIP", "description": ""}),
    "UpdateCustomField": (a_custom_field, {"label": "TOWN", "fallback": "there"}),
    "UpdateSegment": (
        a_segment,
        {"name": "vips", "filter": "NOT tags:vip", "description": ""},
    ),
    "UpdateWebhook": (
        a_webhook,
        {"url": f"{URL}/x", "description": "", "eventTypes": [], "enabled": False},
    ),
    "UpdateAccount": (an_account, {"displayName": "", "color": "", "logo": ""}),
}
each_key = pytest.mark.parametrize(
    ("rpc", "key"), [(rpc, key) for rpc, (_, keys) in UPDATES.items() for key in keys]
)


def updated(account: Account, rpc: str, before: dict[str, Any], key: str, value: Any) -> Any:
    """Updates a key of a resource, and returns the resource, which is stored like that."""
    named = {} if rpc == "UpdateAccount" else {"id": before["id"]}
    after = account.ok(rpc, **named, **{key: value})
    assert account.ok(rpc.replace("Update", "Get"), **named) == after
    (resource,) = after.values()
    return resource


@each_key
def test_update_changes_the_given_key_only(account: Account, rpc: str, key: str) -> None:
    make, values = UPDATES[rpc]
    before = make(account)

    after = updated(account, rpc, before, key, values[key])

    expected = {**before, key: values[key]}
    assert after.pop("updatedAt", "") >= expected.pop("updatedAt", "")
    assert after == expected


@each_key
def test_null_in_an_update_keeps_the_value(account: Account, rpc: str, key: str) -> None:
    make, _ = UPDATES[rpc]
    before = make(account)

    assert updated(account, rpc, before, key, None) == before
