"""Tests of `roster console`."""

from __future__ import annotations

import re

import pytest

from rosterd.server.features.accounts.rules import hash_secret
from rosterd.server.features.sessions import store
from rosterd.server.features.sessions.rules import MINUTE
from rosterd.server.serving.console import ExitCode
from rosterd.server.storage.databases import reading

from .commands import error_line, json_output, roster


def test_link_is_stored_with_its_options_and_recorded(url: str, account_id: str) -> None:
    options = (
        "--scope",
        "read",
        "--name",
        " Ada ",
        "--expires",
        "2m",
        "--url",
        "https://a.example/",
    )

    created = json_output(url, "console", "link", "--account", account_id, *options)

    prefix, _, token = created["url"].partition("#")
    assert prefix == "https://a.example/console/signin"
    with reading(url) as tx:
        link = store.find_link_by_hash(account_id, hash_secret(token), tx)
    assert link is not None
    assert created["signInLink"] == link.as_json()
    assert (link.name, link.scope, link.expires_at - link.created_at) == ("Ada", "read", 2 * MINUTE)
    entries = json_output(url, "audit", "list", "--account", account_id)["entries"]
    assert (entries[0]["action"], entries[0]["resourceId"]) == ("sign_in_link.created", link.id)


def test_link_is_on_the_public_url_or_this_machine(url: str, account_id: str) -> None:
    for variables, start in (
        ({}, "http://127.0.0.1:8080"),
        ({"ROSTER_URL": "http://127.0.0.1:1"}, "http://127.0.0.1:1"),
        ({"ROSTER_URL": "http://x", "ROSTER_PUBLIC_URL": "https://a.example"}, "https://a.example"),
    ):
        arguments = ("console", "link", "--account", account_id)
        done = roster(*arguments, ROSTER_DATABASE_URL=url, **variables)
        assert re.match(rf"{start}/console/signin#{account_id}[\w-]{{43}}\n", done.stdout)
        assert ("set --url" in done.stdout) is (not variables)


@pytest.mark.parametrize("time", ["0m", "10", "8d", "1w", "-1m"])
def test_time_of_a_link_has_a_unit_and_is_at_most_a_week(
    url: str, account_id: str, time: str
) -> None:
    done = roster(
        *("console", "link", "--account", account_id, f"--expires={time}"), ROSTER_DATABASE_URL=url
    )

    assert "at most 7d" in error_line(done, ExitCode.USAGE)
