"""Tests of `roster batch`."""

from __future__ import annotations

import json
import os
import pty
import subprocess

import pytest

from rosterd.server.serving.console import ExitCode

from ..conftest import Account
from .interruption import interrupting
from .transfers import command, total, transfer


def create_people(account: Account) -> None:
    for name in ("ada", "bob"):
        account.ok("CreateSubscriber", email=f"{name}@example.com", tags=[name])


def test_the_matching_subscribers_are_changed(http_account: Account) -> None:
    create_people(http_account)
    http_account.ok("CreateCustomField", label="Plan")
    http_account.ok("CreateCustomField", label="Score", dataType="NUMBER")

    filtered = transfer(
        http_account, "batch", "--filter", "tags:ada", "--add-tag", "vip", "--add-tag", "x"
    )
    values = ("--set", "plan=pro", "--set", "score=7")
    transfer(http_account, "batch", "--filter", "tags:vip", *values)

    assert filtered.returncode == 0
    operations = {row["id"] for row in http_account.ok("ListOperations")["operations"]}
    assert filtered.stderr in {f"Operation {each} started.\n" for each in operations}
    assert filtered.stdout == "Succeeded: 1 subscriber processed, 1 changed, 0 unchanged.\n"
    ada = http_account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert ada["tags"] == ["ada", "vip", "x"]
    assert ada["customFields"] == {"plan": "pro", "score": 7}
    bob = http_account.ok("GetSubscriber", id="bob@example.com")["subscriber"]
    assert bob["tags"] == ["bob"]


def test_the_subscribers_of_a_segment_are_exported_and_deleted(http_account: Account) -> None:
    create_people(http_account)
    segment = http_account.ok("CreateSegment", name="A", filter='email = "a*"')["segment"]["id"]

    exported = transfer(http_account, "export", "-", "--segment", segment)
    counted = transfer(http_account, "batch", "--segment", segment, "--delete", "--dry-run")
    deleted = transfer(http_account, "batch", "--segment", segment, "--delete", "--yes", "--json")

    assert json.loads(exported.stdout)["email"] == "ada@example.com"
    counts = "1 subscriber processed, 1 would change, 0 unchanged"
    assert counted.stdout == f"This was a dry run. Nothing was changed.\nSucceeded: {counts}.\n"
    assert json.loads(deleted.stdout)["operation"]["action"] == {"delete": True}
    assert http_account.ok("ListSubscribers")["total"] == 1


def test_subscribers_that_cannot_be_changed_are_printed(http_account: Account) -> None:
    create_people(http_account)
    changed = http_account.ok("ChangeSubscriberStatus", id="ada@example.com", status="UNSUBSCRIBED")

    words = ("batch", "--filter", "email:*", "--status", "bounced")
    dry_run = transfer(http_account, *words, "--dry-run")
    done = transfer(http_account, *words)

    assert dry_run.returncode == done.returncode == ExitCode.ROWS_FAILED
    reason = f"INVALID_STATUS_TRANSITION, such as {changed['subscriber']['id']}"
    failed = f"\nroster: 1 subscriber {{}}: {reason}.\n".format
    assert dry_run.stderr.endswith(failed("cannot be changed"))
    assert done.stderr.endswith(failed("not changed"))
    counts = "Succeeded: 2 subscribers processed, 1 {}, 0 unchanged.\n".format
    assert dry_run.stdout.endswith(counts("would change"))
    assert done.stdout == counts("changed")


def test_change_of_the_status_states_how_the_people_asked(http_account: Account) -> None:
    create_people(http_account)
    words = ("--status", "confirmed", "--consent-source", "Trade fair")

    transfer(http_account, "batch", "--filter", "email:*", *words)

    people = http_account.ok("ListSubscribers", view="FULL")["subscribers"]
    assert {each["consent"]["source"] for each in people} == {"Trade fair"}


def test_excluded_subscribers_and_an_unexpected_selection_are_not_changed(
    http_account: Account,
) -> None:
    create_people(http_account)
    (ada,) = http_account.ok("ListSubscribers", tag="ada")["subscribers"]
    words = ("batch", "--filter", "email:*", "--add-tag", "vip", "--exclude", ada["id"])

    differs = transfer(http_account, *words, "--expected-total", "100")
    done = transfer(http_account, *words, "--expected-total", "2")

    assert differs.returncode == ExitCode.REJECTED
    assert "is 1 instead of 100" in differs.stderr
    assert done.stdout.endswith("1 changed, 0 unchanged, 1 excluded.\n"), done
    assert ada["id"] not in str(http_account.ok("ListSubscribers", tag="vip"))


def test_operation_is_named_if_the_connection_is_lost(http_account: Account) -> None:
    # The first response has 580 bytes. The headers of the second arrive, so it is not repeated.
    with interrupting(http_account.service.http, after=900, then=lambda: None) as proxy:
        lost = transfer(
            http_account, "batch", "--filter", "email:*", "--add-tag", "vip", url=proxy.url
        )

    (operation,) = http_account.ok("ListOperations")["operations"]
    assert lost.returncode == ExitCode.INCOMPLETE
    assert f"GET /api/operations/{operation['id']} returns its progress." in lost.stderr


@pytest.mark.parametrize(
    ("answer", "code", "remaining"), [("y", 0, 1), ("n", ExitCode.INTERRUPTED, 2)]
)
def test_deletion_is_confirmed_on_a_terminal(
    http_account: Account, answer: str, code: int, remaining: int
) -> None:
    create_people(http_account)
    words, env = command(http_account, "batch", "--filter", "tags:ada", "--delete")
    controller, terminal = pty.openpty()
    os.write(controller, f"{answer}\n".encode())

    done = subprocess.run(
        words, env=env, stdin=terminal, stdout=subprocess.PIPE, stderr=terminal, timeout=60
    )

    printed = os.read(controller, 4096).decode()
    os.close(terminal)
    os.close(controller)
    assert "Delete 1 subscriber? [y/N]:" in printed
    assert (done.returncode, total(http_account)) == (code, remaining)


CHOOSE_ACTION = "Choose one of --add-tag, --remove-tag, --set, --status, --delete."


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["--filter", "email:*", "--set", "plan"], ExitCode.USAGE, "'plan' is not KEY=VALUE."),
        (["--filter", "email:*"], ExitCode.USAGE, CHOOSE_ACTION),
        (["--filter", "email:*", "--status", "bounced", "--delete"], ExitCode.USAGE, CHOOSE_ACTION),
        (
            ["--filter", "email:*", "--delete", "--yes", "--consent-source", "Letter"],
            ExitCode.USAGE,
            "--consent-source requires --status.",
        ),
        (["--delete"], ExitCode.USAGE, "Set --filter, --segment or --search."),
        (
            ["--filter", "email:*", "--delete"],
            ExitCode.USAGE,
            "--delete requires --yes without a terminal.",
        ),
    ],
)
def test_an_invalid_argument_is_named(
    http_account: Account, arguments: list[str], code: ExitCode, text: str
) -> None:
    done = transfer(http_account, "batch", *arguments)

    assert done.returncode == code
    assert text in done.stderr


def test_error_of_the_service_is_printed_with_its_details_as_json(http_account: Account) -> None:
    done = transfer(http_account, "batch", "--filter", "x = 1", "--add-tag", "vip", "--json")

    error = json.loads(done.stderr)["error"]
    assert (done.returncode, done.stdout, error["code"]) == (7, "", "ValidationError")
    assert [detail["field"] for detail in error["details"]] == ["filter"]
    assert error["requestId"]
