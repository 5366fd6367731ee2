"""Tests of `roster keys`."""

from __future__ import annotations

from getpass import getuser

import pytest

from rosterd.server.features.accounts import store, store_keys
from rosterd.server.features.accounts.rules import hash_secret, is_well_formed
from rosterd.server.serving.console import ExitCode
from rosterd.server.storage.databases import unit_of_work

from ..processes import Service
from .commands import error_line, json_output, roster
from .transfers import is_accepted


def test_keys_are_created_listed_rotated_and_revoked(url: str, account_id: str) -> None:
    created = json_output(
        url, "keys", "create", "--account", account_id, "--scope", "read", "--name", "ci"
    )

    assert set(created) == {"apiKey", "secret"}
    key = created["apiKey"]
    assert set(key) == {"id", "name", "scope", "createdAt", "createdBy"}
    assert (key["name"], key["scope"]) == ("ci", "read")
    assert is_well_formed(created["secret"])
    assert key["createdBy"] == {"type": "COMMAND_LINE", "name": getuser()}
    assert json_output(url, "keys", "list", "--account", account_id) == {
        "apiKeys": [{"accountId": account_id, **key}],
        "total": 1,
    }
    rotated = json_output(url, "keys", "rotate", key["id"])
    assert rotated["apiKey"] == key
    assert is_well_formed(rotated["secret"])
    assert json_output(url, "keys", "revoke", key["id"]) == {"apiKey": key}
    for command in ("rotate", "revoke"):
        again = roster("keys", command, key["id"], ROSTER_DATABASE_URL=url)
        assert key["id"] in error_line(again, ExitCode.NOT_FOUND)


def test_command_line_can_revoke_the_last_admin_key(url: str) -> None:
    created = json_output(url, "accounts", "create", "--email", "ada@example.com")
    key = created["apiKey"]

    assert json_output(url, "keys", "revoke", key["id"]) == {"apiKey": key}


def test_expired_key_is_not_rotated(url: str, account_id: str) -> None:
    with unit_of_work(url) as tx:
        key = store_keys.create_key(
            account_id, "ci", "read", hash_secret("rk_"), tx, expires_at=tx.now - 1
        )

    done = roster("keys", "rotate", key.id, ROSTER_DATABASE_URL=url)

    assert "has expired" in error_line(done, ExitCode.USAGE)


def test_commands_for_keys_use_the_only_account(url: str, account_id: str) -> None:
    created = json_output(url, "keys", "create", "--scope", "read")

    with unit_of_work(url) as tx:
        other = store.create_account("bob@example.com", tx, verified=True)
    done = roster("keys", "create", "--scope", "read", ROSTER_DATABASE_URL=url)
    assert "2 accounts" in error_line(done, ExitCode.USAGE)
    assert "roster accounts list" in done.stderr

    others = json_output(url, "keys", "create", "--account", other.id, "--scope", "read")
    all_keys = [
        {"accountId": account_id, **created["apiKey"]},
        {"accountId": other.id, **others["apiKey"]},
    ]
    assert json_output(url, "keys", "list")["apiKeys"] == all_keys
    assert json_output(url, "keys", "list", "--account", other.id)["apiKeys"] == all_keys[1:]
    missing = roster("keys", "list", "--account", "missing", ROSTER_DATABASE_URL=url)
    assert "does not exist" in error_line(missing, ExitCode.NOT_FOUND)


def test_commands_for_keys_name_the_command_that_creates_the_first_account(url: str) -> None:
    json_output(url, "migrate")

    done = roster("keys", "create", "--scope", "read", ROSTER_DATABASE_URL=url)

    assert "roster accounts create" in error_line(done, ExitCode.NOT_FOUND)


@pytest.mark.parametrize("name", ["\u200b", "x" * 101, "a\nb"], ids=ascii)
def test_key_with_a_name_that_the_api_rejects_is_not_created(
    url: str, account_id: str, name: str
) -> None:
    flags = ("--account", account_id, "--scope", "read", "--name", name)

    done = roster("keys", "create", *flags, ROSTER_DATABASE_URL=url)

    assert "1 to 100 characters" in error_line(done, ExitCode.USAGE)


def test_account_and_keys_take_effect_in_a_running_service(service: Service) -> None:
    url = service.database_url

    created = json_output(url, "accounts", "create", "--email", "ada@example.com")
    account = created["account"]["id"]
    revoked = json_output(url, "keys", "create", "--account", account, "--scope", "write")
    json_output(url, "keys", "revoke", revoked["apiKey"]["id"])

    key_id = created["apiKey"]["id"]
    switched = json_output(url, "keys", "rotate", "--grace", "3600", key_id)
    assert is_accepted(service, switched["secret"])
    assert is_accepted(service, created["secret"])

    rotated = json_output(url, "keys", "rotate", key_id)
    assert is_accepted(service, rotated["secret"])
    assert not is_accepted(service, revoked["secret"])
