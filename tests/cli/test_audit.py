"""Tests of `roster audit`."""

from __future__ import annotations

from rosterd.server.serving.console import ExitCode

from .commands import error_line, json_output, roster


def test_commands_are_recorded_in_the_audit_log(url: str) -> None:
    created = json_output(url, "accounts", "create", "--email", "ada@example.com")
    account = created["account"]["id"]
    key = json_output(url, "keys", "create", "--scope", "read", "--name", "ci")["apiKey"]["id"]
    json_output(url, "keys", "rotate", key)
    json_output(url, "keys", "revoke", key)
    json_output(url, "accounts", "rename", account, "Letters")
    json_output(url, "accounts", "verify", account)

    listed = json_output(url, "audit", "list")["entries"]

    assert {entry["actor"]["type"] for entry in listed} == {"COMMAND_LINE"}
    recorded = [
        (entry["action"], entry.get("before"), entry.get("after")) for entry in reversed(listed)
    ]
    ci, address = {"name": "ci", "scope": "read"}, {"email": "ada@example.com"}
    assert recorded == [
        ("account.created", None, {**address, "emailVerified": True, "displayName": ""}),
        ("api_key.created", None, {"name": "first key", "scope": "admin"}),
        ("api_key.created", None, ci),
        ("api_key.rotated", None, None),
        ("api_key.revoked", ci, None),
        ("account.updated", {"displayName": ""}, {"displayName": "Letters"}),
        ("account.verified", None, None),
    ]
    filters = ("--resource-id", key, "--created-after", "2020-01-01", "--limit", "2")
    assert json_output(url, "audit", "list", *filters)["entries"] == listed[2:4]
    printed = roster("audit", "list", "--action", "api_key.revoked", ROSTER_DATABASE_URL=url)
    assert printed.stdout.split()[-3:] == [key, "name", "scope"]
    wrong = roster("audit", "list", "--created-before", "today", ROSTER_DATABASE_URL=url)
    assert "--created-before must be a timestamp" in error_line(wrong, ExitCode.USAGE)
