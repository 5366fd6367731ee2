"""API keys over every front."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest

from ..conftest import Account
from ..fronts import HttpFront
from .helpers import call_concurrently, over_http, statuses
from .requests import all_lists

SECRET = re.compile(r"rk_[0-9A-Za-z]{46}")
LATER = "2190-01-02T03:04:05.000Z"
# In milliseconds since 1970.
LONG_AGO = 1_000_000_000_000


def create(account: Account, scope: str = "read", **body: Any) -> dict[str, Any]:
    """Creates a key and returns the response: the key and its secret."""
    created: dict[str, Any] = account.ok("CreateApiKey", **{"name": "ci", "scope": scope, **body})
    return created


def test_rotation_replaces_the_secret_immediately(account: Account) -> None:
    created = create(account, "write", expiresAt=LATER)
    old = account.with_key(created["secret"])
    old.ok("ListSubscribers")

    response = account.call("RotateApiKey", id=created["apiKey"]["id"])

    assert response.status == 200
    assert response.body["apiKey"] == created["apiKey"]
    assert SECRET.fullmatch(response.body["secret"])
    old.fails("Unauthorized", "ListSubscribers")
    account.with_key(response.body["secret"]).ok("CreateTag", name="vip")


def test_rotation_with_a_grace_period_keeps_only_the_last_secret(account: Account) -> None:
    created = create(account, "write")
    key_id = created["apiKey"]["id"]
    account.ok("RotateApiKey", id=key_id, graceSeconds=600)
    second = account.ok("RotateApiKey", id=key_id, graceSeconds=604_800)
    third = account.ok("RotateApiKey", id=key_id, graceSeconds=600)

    assert third["apiKey"]["previousSecretExpiresAt"] < second["apiKey"]["previousSecretExpiresAt"]
    assert account.ok("ListApiKeys")["apiKeys"][-1] == third["apiKey"]
    account.with_key(created["secret"]).fails("Unauthorized", "ListTags")
    for secret in (second["secret"], third["secret"]):
        account.with_key(secret).ok("ListTags")

    fourth = account.ok("RotateApiKey", id=key_id)

    assert fourth["apiKey"] == created["apiKey"]
    for secret in (second["secret"], third["secret"]):
        account.with_key(secret).fails("Unauthorized", "ListTags")


@over_http
@pytest.mark.parametrize("body", [None, b"", b"{}"])
def test_rotation_needs_no_body(account: Account, body: bytes | None) -> None:
    assert isinstance(account.front, HttpFront)
    path = f"/api/keys/{create(account)['apiKey']['id']}/rotate"

    assert account.front.exchange("POST", path, account.key, body=body)[0] == 200


def test_key_states_the_key_that_created_it_also_after_that_was_revoked(account: Account) -> None:
    creator = create(account, "admin", name="deploy")
    created = create(account.with_key(creator["secret"]))
    account.ok("RevokeApiKey", id=creator["apiKey"]["id"])

    first, last = account.ok("ListApiKeys")["apiKeys"]

    assert first["createdBy"] == {"type": "COMMAND_LINE", "name": "operator"}
    assert last == created["apiKey"]
    expected = {"type": "API_KEY", "id": creator["apiKey"]["id"], "name": "deploy"}
    assert last["createdBy"] == expected


def id_of(account: Account, scope: str) -> str:
    """Returns the ID of the account's newest key of a scope."""
    keys = account.ok("ListApiKeys")["apiKeys"]
    return str([key["id"] for key in keys if key["scope"] == scope][-1])


@pytest.mark.parametrize("scope", ["read", "admin"])
def test_expired_key_cannot_be_rotated(account: Account, scope: str) -> None:
    account.new_key(scope, expires_at=LONG_AGO)
    before = all_lists(account)

    error = account.fails("ApiKeyExpired", "RotateApiKey", id=id_of(account, scope))

    assert error.status == 409
    assert all_lists(account) == before


def test_only_admin_key_can_rotate_itself(account: Account) -> None:
    response = account.ok("RotateApiKey", id=id_of(account, "admin"))

    account.fails("Unauthorized", "ListApiKeys")
    account.with_key(response["secret"]).ok("CreateApiKey", name="ci", scope="read")


def test_only_usable_admin_key_cannot_be_revoked(account: Account) -> None:
    own_id = id_of(account, "admin")
    create(account, "write")
    account.new_key("admin", expires_at=LONG_AGO)

    error = account.fails("LastAdminKey", "RevokeApiKey", id=own_id)

    assert error.status == 409
    assert own_id in [key["id"] for key in account.ok("ListApiKeys")["apiKeys"]]


def test_last_admin_key_without_expiry_cannot_be_revoked(account: Account) -> None:
    own_id = id_of(account, "admin")
    expiring = create(account, "admin", expiresAt=LATER)
    account.fails("LastAdminKey", "RevokeApiKey", id=own_id)
    assert account.call("RevokeApiKey", id=expiring["apiKey"]["id"]).status == 204

    other = account.with_key(create(account, "admin")["secret"])
    assert account.call("RevokeApiKey", id=own_id).status == 204

    account.fails("Unauthorized", "ListApiKeys")
    other.fails("LastAdminKey", "RevokeApiKey", id=id_of(other, "admin"))


@pytest.mark.parametrize("scope", ["read", "write", "admin"])
def test_key_without_admin_access_can_always_be_revoked(account: Account, scope: str) -> None:
    account.new_key(scope, expires_at=LONG_AGO if scope == "admin" else None)

    assert account.call("RevokeApiKey", id=id_of(account, scope)).status == 204
    account.ok("ListApiKeys")


def test_two_admin_keys_that_revoke_each_other_concurrently_leave_one(account: Account) -> None:
    own_id = id_of(account, "admin")
    expiring = create(account, "admin", expiresAt=LATER)["apiKey"]
    for _ in range(5):
        created = create(account, "admin")
        other = account.with_key(created["secret"])

        responses = call_concurrently(
            partial(other.call, "RevokeApiKey", id=own_id),
            partial(account.call, "RevokeApiKey", id=created["apiKey"]["id"]),
        )

        # The second call fails: its key is the last one, or is already revoked.
        assert statuses(responses) in ([204, 401], [204, 409])
        if responses[0].status == 204:
            account, own_id = other, created["apiKey"]["id"]
        left = [key["id"] for key in account.ok("ListApiKeys")["apiKeys"]]
        assert sorted(left) == sorted([own_id, expiring["id"]])


def test_revoked_key_stops_working_immediately_and_is_deleted(account: Account) -> None:
    created = create(account)
    old = account.with_key(created["secret"])
    old.ok("ListSubscribers")

    response = account.call("RevokeApiKey", id=created["apiKey"]["id"])

    assert (response.status, response.body) == (204, None)
    old.fails("Unauthorized", "ListSubscribers")
    assert created["apiKey"] not in account.ok("ListApiKeys")["apiKeys"]
    account.fails("ApiKeyNotFound", "RevokeApiKey", id=created["apiKey"]["id"])
    account.fails("ApiKeyNotFound", "RotateApiKey", id=created["apiKey"]["id"])
