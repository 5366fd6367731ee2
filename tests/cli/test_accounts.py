"""Tests of `roster accounts`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rosterd.server.features.accounts.rules import is_well_formed
from rosterd.server.serving.console import ExitCode

from .commands import error_line, json_output, roster

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@pytest.mark.parametrize(
    ("flags", "verified"), [([], True), (["--unverified"], False)], ids=["verified", "unverified"]
)
def test_accounts_create_prints_account_and_key(url: str, flags: list[str], verified: bool) -> None:
    created = json_output(url, "accounts", "create", "--email", " Ada@Example.com ", *flags)

    assert set(created) == {"account", "apiKey", "secret"}
    account = created["account"]
    assert set(account) == {"id", "email", "emailVerified", "displayName", "createdAt"}
    assert (account["email"], account["emailVerified"]) == ("Ada@Example.com", verified)
    assert account["displayName"] == ""
    assert len(account["id"]) == 26
    assert TIMESTAMP.fullmatch(account["createdAt"])
    assert is_well_formed(created["secret"])


@pytest.mark.parametrize("again", ["ada@bücher.de", " ADA@XN--BCHER-KVA.de "])
def test_accounts_create_rejects_the_address_of_another_account(
    url: str, account_id: str, again: str
) -> None:
    done = roster("accounts", "create", "--email", again, ROSTER_DATABASE_URL=url)

    line = error_line(done, ExitCode.ALREADY_EXISTS)
    assert again.strip() in line
    assert f"roster keys create --account {account_id} --scope admin" in line
    assert [item["id"] for item in json_output(url, "accounts", "list")["accounts"]] == [account_id]
    assert json_output(url, "keys", "list", "--account", account_id)["apiKeys"] == []


def test_keys_are_printed_once_and_not_stored(url: str, tmp_path: Path) -> None:
    done = roster("accounts", "create", "--email", "ada@example.com", "--database-url", url)
    secret = re.search(r"rk_\w{46}", done.stdout)

    assert secret is not None
    contents = [file.read_bytes() for file in tmp_path.iterdir()]
    assert contents
    assert not [content for content in contents if secret[0].encode() in content]


def test_accounts_verify_shows_in_the_list(url: str, account_id: str) -> None:
    verified = json_output(url, "accounts", "verify", account_id)

    assert set(verified) == {"account"}
    assert (verified["account"]["id"], verified["account"]["emailVerified"]) == (account_id, True)
    listed = {"accounts": [verified["account"]], "total": 1}
    assert json_output(url, "accounts", "list") == listed


def test_accounts_have_a_display_name(url: str) -> None:
    name = ("--display-name", " Analytical Letters ")
    created = json_output(url, "accounts", "create", "--email", "ada@example.com", *name)["account"]

    assert created["displayName"] == "Analytical Letters"
    for given, stored in ((" New ", "New"), ("", "")):
        updated = json_output(url, "accounts", "rename", created["id"], given)
        assert updated == {"account": {**created, "displayName": stored}}
        assert json_output(url, "accounts", "list")["accounts"] == [updated["account"]]


@pytest.mark.parametrize("name", ["x" * 101, "a\x1bb", "a\nb"], ids=ascii)
def test_display_name_that_the_api_rejects_is_not_stored(
    url: str, account_id: str, name: str
) -> None:
    create = ("create", "--email", "bob@example.com", "--display-name", name)

    for command in (create, ("rename", account_id, name)):
        done = roster("accounts", *command, ROSTER_DATABASE_URL=url)
        assert "at most 100 characters" in error_line(done, ExitCode.USAGE)

    (listed,) = json_output(url, "accounts", "list")["accounts"]
    assert (listed["id"], listed["displayName"]) == (account_id, "")
