"""The undo of operations over every front."""

from __future__ import annotations

from typing import Any

import pytest

from rosterd.server.features.operations import store as operations
from rosterd.server.features.operations.rules import State

from ..conftest import Account
from .helpers import MISSING_ID, create_field, create_subscriber, unsubscribe_token
from .streams import import_rows
from .test_operations import ALL, create_people, ended, run, tags_of

VIP = {"addTags": ["vip"]}


def undo(account: Account, operation: dict[str, Any], **request: Any) -> dict[str, Any]:
    """Undoes an operation and returns the undo when it has ended."""
    return ended(account, account.ok("UndoOperation", id=operation["id"], **request)["operation"])


def counts(operation: dict[str, Any]) -> tuple[int, int, dict[str, int]]:
    changed = operation["wouldChange" if operation["dryRun"] else "changed"]
    failed = {each["reason"]: each["total"] for each in operation["failed"]}
    return changed, operation["unchanged"], failed


def contents(account: Account) -> list[tuple[Any, ...]]:
    people = account.ok("ListSubscribers", limit=100)["subscribers"]
    return [(p["email"], p["status"], p["tags"], p.get("customFields")) for p in people]


def status_of(account: Account, name: str) -> str:
    return str(account.ok("GetSubscriber", id=f"{name}@example.com")["subscriber"]["status"])


def set_status(account: Account, name: str, status: str) -> None:
    account.ok("ChangeSubscriberStatus", id=f"{name}@example.com", status=status)


@pytest.mark.parametrize(
    "action",
    [
        {"addTags": ["vip", "news"]},
        {"removeTags": ["NEWS", "none"]},
        {"setCustomFields": {"plan": "pro", "score": None}},
        {"changeStatus": "UNSUBSCRIBED"},
        {"changeStatus": "CONFIRMED"},
    ],
)
def test_undo_returns_everyone_to_the_state_before(account: Account, action: Any) -> None:
    create_field(account, "Plan", "TEXT")
    create_field(account, "Score", "NUMBER")
    create_people(account, "ada", tags=["news"], customFields={"plan": "free", "score": 1.5})
    create_people(account, "bob", tags=["vip"], customFields={"plan": "pro"}, isConfirmed=True)
    create_people(account, "eve", isConfirmed=True)
    create_people(account, "kim", tags=["news", "vip"])
    set_status(account, "kim", "UNSUBSCRIBED")
    before = contents(account)
    operation = run(account, filter=ALL, action=action)
    assert contents(account) != before
    after, total = contents(account), operation["changed"]

    dry_run = undo(account, operation, dryRun=True)
    assert (counts(dry_run), contents(account)) == ((total, 0, {}), after)
    undone = undo(account, operation)

    assert (counts(undone), undone["total"], undone["processed"]) == ((total, 0, {}), total, total)
    assert contents(account) == before
    assert (undone["type"], undone["undoOf"]) == ("SUBSCRIBERS_UNDO", operation["id"])
    operation = account.ok("GetOperation", id=operation["id"])["operation"]
    assert operation["undoneBy"] == undone["id"]
    assert "undoExpiresAt" not in operation


def test_each_undone_change_has_an_event_and_a_history_entry(account: Account) -> None:
    event_types = ["subscriber.*", "operation.*"]
    account.ok("CreateWebhook", url="https://example.com/hook", eventTypes=event_types)
    create_people(account, "ada", "bob", isConfirmed=True)
    operation = run(account, filter=ALL, action={"changeStatus": "UNSUBSCRIBED"})

    undone = undo(account, operation)

    events = account.ok("ListEvents", limit=100)["events"]
    types = [event["type"] for event in events]
    assert types.count("subscriber.confirmed") == 2
    assert types.count("operation.completed") == 2
    last, first, created = account.ok("ListSubscriberHistory", id="ada@example.com")["history"]
    assert (first["operationId"], last["operationId"]) == (operation["id"], undone["id"])
    assert "operationId" not in created
    assert last["statusChange"] == {"from": "UNSUBSCRIBED", "to": "CONFIRMED"}
    (entry, *_) = account.ok("ListAuditEntries", action="operation.undone")["entries"]
    assert entry["resourceId"] == operation["id"]


def test_what_was_changed_since_is_reported_and_stays(account: Account) -> None:
    create_field(account, "Plan", "TEXT")
    names = ("ada", "bob", "eve", "kim", "lee")
    ids = create_people(account, *names, customFields={"plan": "free"})
    tagged = run(account, filter=ALL, action=VIP)
    valued = run(account, filter=ALL, action={"setCustomFields": {"plan": "pro"}})
    for rpc in ("RemoveSubscriberTags", "AddSubscriberTags"):
        account.ok(rpc, id=ids[0], tags=["vip"])
    account.ok("RemoveSubscriberTags", id=ids[1], tags=["vip"])
    account.ok("UpdateSubscriber", id=ids[0], customFields={"plan": "max"})
    account.ok("UpdateSubscriber", id=ids[1], customFields={"plan": "free"})
    account.ok("DeleteSubscriber", id=ids[2])

    without_tags, without_values = undo(account, tagged), undo(account, valued)

    failed = {"CHANGED_SINCE": 1, "SUBSCRIBER_NOT_FOUND": 1}
    assert counts(without_tags) == counts(without_values) == (2, 1, failed)
    assert without_tags["failed"][0]["examples"] == [ids[0]]
    assert [tags_of(account, name) for name in ("ada", "bob", "kim")] == [["vip"], [], []]
    values = [person[3] for person in contents(account)]
    assert values == [{"plan": "max"}, *[{"plan": "free"}] * 3]


def test_undo_follows_a_renamed_tag_and_reports_a_deleted_one(account: Account) -> None:
    create_people(account, "ada", tags=["old", "gone"])
    added = run(account, filter=ALL, action=VIP)
    removed = run(account, filter=ALL, action={"removeTags": ["old", "gone"]})
    tags = {each["name"]: each["id"] for each in account.ok("ListTags")["tags"]}
    account.ok("UpdateTag", id=tags["vip"], name="Best")
    account.ok("UpdateTag", id=tags["old"], name="Older")
    account.ok("DeleteTag", id=tags["gone"])
    # Another tag has the name now.
    account.ok("CreateTag", name="old")

    assert counts(undo(account, added)) == (1, 0, {})
    # A part of the change is undone.
    assert counts(undo(account, removed)) == (1, 0, {"TAG_NOT_FOUND": 1})

    assert tags_of(account, "ada") == ["Older"]


def test_undo_never_ends_an_opt_out_that_was_stated_since(account: Account) -> None:
    """By the person with a link, by files, by a call, by the list of suppressions, and again."""
    names = ("link", "file", "skip", "fail", "call", "list", "again", "none")
    create_people(account, *names, isConfirmed=True)
    token = unsubscribe_token(account, "link@example.com")
    operation = run(account, filter=ALL, action={"changeStatus": "UNSUBSCRIBED"})

    account.ok("FollowLink", token=token)
    for name, status, conflict in (
        ("file", "UNSUBSCRIBED", "UPDATE"),
        ("skip", "COMPLAINED", "SKIP"),
        ("fail", "COMPLAINED", "FAIL"),
    ):
        rows = [{"email": f"{name}@example.com", "status": status}]
        import_rows(account, rows, onConflict=conflict)
    set_status(account, "call", "UNSUBSCRIBED")
    account.ok("AddSuppressions", emails=["list@example.com"], reason="UNSUBSCRIBED")
    account.ok("DeleteSuppression", id="list@example.com")
    run(account, filter="email = again@example.com", action={"changeStatus": "UNSUBSCRIBED"})
    assert counts(undo(account, operation)) == (1, 0, {"OPT_OUT_KEPT": 7})

    assert status_of(account, "none") == "CONFIRMED"
    assert {status_of(account, name) for name in names[:-1]} == {"UNSUBSCRIBED"}
    history = account.ok("ListSubscriberHistory", id="link@example.com")["history"]
    assert [entry["type"] for entry in history[:2]] == ["OPT_OUT_REPEATED", "STATUS_CHANGED"]
    assert (history[0]["source"], history[0]["statusChange"]) == (
        "SELF_SERVICE",
        {"to": "UNSUBSCRIBED"},
    )
    # It is recorded once.
    account.ok("FollowLink", token=token)
    assert account.ok("ListSubscriberHistory", id="link@example.com")["total"] == len(history)


def test_undo_makes_nobody_mailable_whose_status_or_address_changed_since(account: Account) -> None:
    names = ("ada", "bob", "eve", "kim", "lee")
    create_people(account, *names, isConfirmed=True)
    operation = run(account, filter=ALL, action={"changeStatus": "BOUNCED"})
    # A later status, also after a return to that of the operation; an address that was not
    # confirmed; an address that is suppressed.
    set_status(account, "ada", "COMPLAINED")
    set_status(account, "bob", "CONFIRMED")
    set_status(account, "bob", "BOUNCED")
    account.ok("UpdateSubscriber", id="eve@example.com", email="new@example.com")
    account.ok("AddSuppressions", emails=["kim@example.com"], reason="BOUNCED")

    undone = undo(account, operation)

    assert counts(undone) == (1, 0, {"CHANGED_SINCE": 3, "OPT_OUT_KEPT": 1})
    assert [person[1] for person in contents(account)] == [
        "COMPLAINED",
        "BOUNCED",
        "UNCONFIRMED",
        "BOUNCED",
        "CONFIRMED",
    ]


def test_undo_of_a_status_requires_scope_admin(account: Account) -> None:
    create_people(account, "ada", isConfirmed=True)
    operation = run(account, filter=ALL, action={"changeStatus": "UNSUBSCRIBED"})
    tagged = run(account, filter=ALL, action=VIP)
    writer = account.with_key(account.new_key("write"))

    writer.fails("Forbidden", "UndoOperation", id=operation["id"])

    assert counts(undo(writer, tagged)) == (1, 0, {})
    assert status_of(account, "ada") == "UNSUBSCRIBED"


def test_an_operation_is_undone_once_and_again_after_a_canceled_undo(account: Account) -> None:
    create_people(account, "ada")
    operation = run(account, filter=ALL, action=VIP)
    assert operation["undoExpiresAt"] > operation["endedAt"]
    undone = undo(account, operation)

    account.fails("OperationAlreadyUndone", "UndoOperation", id=operation["id"])
    account.fails("OperationNotUndoable", "UndoOperation", id=undone["id"])
    account.fails("OperationNotFound", "UndoOperation", id=MISSING_ID)


@pytest.mark.parametrize("request_", [{"action": {"delete": True}}, {"dryRun": True}])
def test_deletions_and_dry_runs_cannot_be_undone(account: Account, request_: Any) -> None:
    create_subscriber(account)
    operation = run(account, filter=ALL, **{"action": VIP, **request_})

    account.fails("OperationNotUndoable", "UndoOperation", id=operation["id"])

    assert "undoExpiresAt" not in operation


@pytest.mark.parametrize(
    ("stored", "code"),
    [
        (
            {"runner": "another process", "state": State.RUNNING, "ended_at": None},
            "OperationNotEnded",
        ),
        ({"ended_at": 0}, "UndoExpired"),
    ],
    ids=["runs", "ended long ago"],
)
def test_operation_can_be_undone_for_a_limited_time_after_its_end(
    account: Account, stored: dict[str, Any], code: str
) -> None:
    operation = run(account, filter=ALL, action=VIP)
    with account.service.unit_of_work() as tx:
        row = operations.find(account.id, operation["id"], tx)
        operations.put(account.id, row._replace(**stored), tx)

    account.fails(code, "UndoOperation", id=operation["id"])
