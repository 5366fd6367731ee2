"""Tests of `roster operations`."""

from __future__ import annotations

import json

from rosterd.server.serving.console import ExitCode

from ..conftest import Account
from .test_batch import create_people
from .transfers import transfer


def test_undo_prints_what_it_undoes_and_what_was_changed_since(http_account: Account) -> None:
    create_people(http_account)
    started = transfer(http_account, "batch", "--filter", "email:*", "--add-tag", "vip", "--json")
    operation = json.loads(started.stdout)["operation"]
    for rpc in ("RemoveSubscriberTags", "AddSubscriberTags"):
        http_account.ok(rpc, id="ada@example.com", tags=["vip"])

    dry_run = transfer(http_account, "operations", "undo", operation["id"], "--dry-run")
    done = transfer(http_account, "operations", "undo", operation["id"])
    again = transfer(http_account, "operations", "undo", operation["id"])

    assert "2 processed, 1 would change, 0 unchanged." in dry_run.stdout.replace(" subscribers", "")
    assert "2 processed, 1 changed, 0 unchanged." in done.stdout.replace(" subscribers", "")
    assert "1 subscriber not changed: CHANGED_SINCE, such as " in done.stderr
    assert dry_run.returncode == done.returncode == ExitCode.ROWS_FAILED
    assert again.returncode == ExitCode.REJECTED
    (left,) = http_account.ok("ListSubscribers", tag="vip")["subscribers"]
    assert left["email"] == "ada@example.com"
