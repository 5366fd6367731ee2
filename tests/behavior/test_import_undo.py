"""The undo of imports over every front."""

from __future__ import annotations

from typing import Any

import pytest

from rosterd.server.features.operations import store as operations
from rosterd.server.features.operations.rules import UNDO_MILLISECONDS

from ..conftest import Account
from .helpers import create_field, emails
from .import_jobs import Job, create, run, run_file, upload
from .test_operations import create_people, ended
from .test_undo import contents, counts, set_status, status_of

pytestmark = pytest.mark.each_database

FILE = """email,status,firstName,tags,plan
created@example.com,CONFIRMED,Ada,vip,pro
again@example.com,CONFIRMED,Ada,vip,pro
again@example.com,CONFIRMED,Eve,best,max
changed@example.com,CONFIRMED,Ada,vip,pro
left@example.com,CONFIRMED,Ada,vip,pro
returns@example.com,UNCONFIRMED,Ada,vip,pro
opted.out@example.com,UNSUBSCRIBED,Ada,vip,pro
updated@example.com,CONFIRMED,Eve,vip,pro
edited@example.com,CONFIRMED,Eve,vip,pro
same@example.com,CONFIRMED,,,
stops@example.com,UNSUBSCRIBED,Eve,vip,pro
"""
UPDATE = {"onConflict": "UPDATE"}


def undo(account: Account, job: Job, **request: Any) -> dict[str, Any]:
    """Undoes an import and returns the undo when it has ended."""
    return ended(account, account.ok("UndoImport", id=job["id"], **request)["operation"])


def import_of(account: Account, job: Job) -> Job:
    found: Job = account.ok("GetImport", id=job["id"])["import"]
    return found


def person(account: Account, name: str) -> dict[str, Any]:
    found: dict[str, Any] = account.ok("GetSubscriber", id=f"{name}@example.com")["subscriber"]
    return found


def test_undo_of_an_import_deletes_who_it_created_and_returns_who_it_updated(
    account: Account,
) -> None:
    create_field(account, "Plan")
    create_people(
        account,
        *("updated", "edited", "same", "stops"),
        firstName="Kim",
        tags=["old"],
        customFields={"plan": "free"},
        isConfirmed=True,
    )
    before = {name: person(account, name) for name in ("updated", "same", "stops")}
    job = run_file(account, FILE, **UPDATE)
    assert (job["summary"]["created"], job["summary"]["updated"]) == (6, 5)
    account.ok("AddSubscriberTags", id="changed@example.com", tags=["mine"])
    set_status(account, "left", "UNSUBSCRIBED")
    account.ok("UpdateSubscriber", id="edited@example.com", firstName="Lee")
    for _ in range(2):
        account.ok("SignUp", email="returns@example.com")
    (signed_up, *_) = account.ok("ListSubscriberHistory", id="returns@example.com")["history"]
    assert (signed_up["type"], signed_up["source"]) == ("SIGNED_UP_AGAIN", "SELF_SERVICE")
    create_people(account, "later")
    after = contents(account)
    failed = {"CHANGED_SINCE": 4, "OPT_OUT_KEPT": 1}

    dry_run = undo(account, job, dryRun=True)
    assert (counts(dry_run), contents(account)) == ((6, 0, failed), after)
    undone = undo(account, job)

    assert (counts(undone), undone["total"], undone["processed"]) == ((6, 0, failed), 9, 9)
    assert dry_run["deleted"] == undone["deleted"] == 3
    assert (undone["type"], undone["undoOf"]) == ("SUBSCRIBERS_UNDO", job["operationId"])
    names = ("changed", "edited", "later", "left", "returns", "same", "stops", "updated")
    assert sorted(emails(account)) == [f"{name}@example.com" for name in names]
    for name, was in before.items():
        now = person(account, name)
        fields = ("firstName", "tags", "customFields")
        assert [now[each] for each in fields] == [was[each] for each in fields]
    assert (person(account, "edited")["firstName"], person(account, "edited")["tags"]) == (
        "Lee",
        ["old"],
    )
    assert set(person(account, "changed")["tags"]) == {"mine", "vip"}
    # Opt-outs hold, and the address of a person that the file created with one is suppressed.
    assert {status_of(account, name) for name in ("left", "stops")} == {"UNSUBSCRIBED"}
    suppressed = account.ok("GetSuppression", id="opted.out@example.com")["suppression"]
    assert suppressed["reason"] == "UNSUBSCRIBED"
    assert account.call("GetSuppression", id="created@example.com").code == "SuppressionNotFound"
    account.fails("SubscriberSuppressed", "CreateSubscriber", email="opted.out@example.com")


def test_undo_of_an_import_keeps_people_who_were_added_again(account: Account) -> None:
    names = ("alone", "bulk", "failed", "skipped", "updated", "upserted", "withdrawn")
    job = run_file(account, "\n".join(["email", *(f"{name}@example.com" for name in names)]))

    def import_again(name: str, on_conflict: str) -> Job:
        return run_file(account, f"email\n{name}@example.com\n", onConflict=on_conflict)

    for _ in range(2):
        import_again("skipped", "SKIP")
        import_again("updated", "UPDATE")
    import_again("failed", "FAIL")
    undo(account, import_again("withdrawn", "SKIP"))
    rows = [{"email": "bulk@example.com"}]
    account.ok("BulkCreateSubscribers", subscribers=rows, onConflict="SKIP")
    account.ok("UpdateSubscriber", id="upserted@example.com", allowMissing=True)

    undone = undo(account, job)

    assert counts(undone) == (3, 0, {"CHANGED_SINCE": 4})
    kept = ("bulk", "skipped", "updated", "upserted")
    assert sorted(emails(account)) == [f"{name}@example.com" for name in kept]
    sources = {}
    for name in kept:
        history = account.ok("ListSubscriberHistory", id=f"{name}@example.com")["history"]
        # Each import has an entry, because it can be undone.
        times = 2 if name in ("skipped", "updated") else 1
        assert [entry["type"] for entry in history] == [*["ADDED_AGAIN"] * times, "CREATED"]
        sources[name] = history[0]["source"]
    assert sources == {"bulk": "API", "skipped": "IMPORT", "updated": "IMPORT", "upserted": "API"}


def test_what_an_undone_import_stated_hides_no_later_statement(account: Account) -> None:
    names = ("again", "bulk", "none", "signed.up", "tagged", "upserted")
    file = "\n".join(["email", *(f"{name}@example.com" for name in names)])
    job = run_file(account, file)
    withdrawn = run_file(account, f"{file}\nnew@example.com", onConflict="SKIP")
    account.ok("SignUp", email="signed.up@example.com")
    run_file(account, "email\nagain@example.com\n", onConflict="SKIP")
    rows = [{"email": "bulk@example.com"}]
    account.ok("BulkCreateSubscribers", subscribers=rows, onConflict="SKIP")
    account.ok("UpdateSubscriber", id="upserted@example.com", allowMissing=True)
    account.ok("AddSubscriberTags", id="tagged@example.com", tags=["mine"])

    # It changed no one else than it created.
    first = undo(account, withdrawn)
    assert (counts(first), first["total"], first["processed"]) == ((1, 0, {}), 1, 1)
    undone = undo(account, job)

    assert counts(undone) == (1, 0, {"CHANGED_SINCE": 5})
    assert sorted(emails(account)) == [f"{name}@example.com" for name in names if name != "none"]


def test_an_import_is_undone_once_by_either_call(account: Account) -> None:
    job = run_file(account, "email\nada@example.com\n")
    assert job["undoExpiresAt"] > job["endedAt"]
    operation = account.ok("GetOperation", id=job["operationId"])["operation"]
    assert operation["undoExpiresAt"] == job["undoExpiresAt"]

    undone = ended(account, account.ok("UndoOperation", id=operation["id"])["operation"])

    assert (counts(undone), emails(account)) == ((1, 0, {}), [])
    job = import_of(account, job)
    assert job["undoneBy"] == undone["id"]
    assert "undoExpiresAt" not in job
    (listed,) = account.ok("ListImports")["imports"]
    assert listed["undoneBy"] == undone["id"]
    account.fails("OperationAlreadyUndone", "UndoImport", id=job["id"])
    account.fails("OperationAlreadyUndone", "UndoOperation", id=operation["id"])
    account.fails("OperationNotUndoable", "UndoOperation", id=undone["id"])


def test_each_undone_row_has_an_event_and_the_audit_log_names_the_import(account: Account) -> None:
    event_types = ["subscriber.deleted", "operation.*"]
    account.ok("CreateWebhook", url="https://example.com/hook", eventTypes=event_types)
    job = run_file(account, "email\nada@example.com\nbob@example.com\n")

    undo(account, job)

    types = [event["type"] for event in account.ok("ListEvents", limit=100)["events"]]
    assert types.count("subscriber.deleted") == 2
    (entry,) = account.ok("ListAuditEntries", action="import.undone")["entries"]
    assert entry["resourceId"] == job["id"]


def test_an_import_can_be_undone_for_24_hours(account: Account) -> None:
    job = run_file(account, "email\nada@example.com\n")
    with account.service.unit_of_work() as tx:
        row = operations.find(account.id, job["operationId"], tx)
        ended_at = (row.ended_at or 0) - UNDO_MILLISECONDS
        operations.put(account.id, row._replace(ended_at=ended_at), tx)

    account.fails("UndoExpired", "UndoImport", id=job["id"])

    assert emails(account) == ["ada@example.com"]


def test_an_import_that_stored_no_rows_cannot_be_undone(account: Account) -> None:
    canceled = create(account, FILE.encode())
    account.fails("ImportStateConflict", "UndoImport", id=canceled["id"])
    account.ok("CancelImport", id=canceled["id"])
    account.fails("OperationNotUndoable", "UndoImport", id=canceled["id"])
    dry_run = run(account, upload(account, b"email\nada@example.com\n"), dryRun=True)
    account.fails("OperationNotUndoable", "UndoOperation", id=dry_run["operationId"])
    account.fails("ImportStateConflict", "UndoImport", id=dry_run["id"])
    account.ok("CancelImport", id=dry_run["id"])

    account.fails("OperationNotUndoable", "UndoImport", id=dry_run["id"])

    assert "undoExpiresAt" not in import_of(account, dry_run)
