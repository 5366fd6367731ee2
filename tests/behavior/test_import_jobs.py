"""Imports as jobs: options, runs, dry runs, failed rows and erasures."""

from __future__ import annotations

import io
import json
import time
import zipfile
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor

from roster.v1 import imports_pb2, subscribers_pb2
from rosterd.http_gateway.codec.fields import rules_of
from rosterd.server.features.files import store as files
from rosterd.server.features.imports.jobs import store as imports
from rosterd.server.storage.sqlite.file import files_folder

from ..cases import each
from ..conftest import Account
from .helpers import (
    create_field,
    create_subscriber,
    emails,
    keep_operations_waiting,
    over_http,
    send,
)
from .import_jobs import CREATE, FILE, create, failures, run, run_file, send_part, settled, upload
from .test_exports import run as run_export

pytestmark = pytest.mark.each_database


def test_rows_are_imported_once_and_failed_rows_keep_their_cells(account: Account) -> None:
    create_subscriber(account, "eve@example.com")

    job = run_file(account, FILE, **CREATE)

    assert (job["state"], job["processedBytes"]) == ("SUCCEEDED", len(FILE))
    assert {name: job["summary"][name] for name in ("created", "failed", "createdFields")} == {
        "created": 1,
        "failed": 2,
        "createdFields": ["town"],
    }
    assert emails(account) == ["eve@example.com", "ada@example.com"]
    assert failures(account, job) == [
        {
            "line": 3,
            "reason": "INVALID_EMAIL",
            "field": "email",
            "cells": ["bob@", "Bob", "Rome"],
        },
        {
            "line": 4,
            "reason": "ALREADY_EXISTS",
            "field": "email",
            "cells": ["eve@example.com", "Eve", ""],
        },
    ]
    operation = account.ok("GetOperation", id=job["operationId"])["operation"]
    assert (operation["type"], operation["importId"]) == ("SUBSCRIBERS_IMPORT", job["id"])
    assert (operation["total"], operation["processed"], operation["state"]) == (3, 3, "SUCCEEDED")


@over_http
def test_file_of_failed_rows_can_be_imported_again(account: Account) -> None:
    job = run_file(account, FILE, unknownColumns="IGNORE")

    path = f"/api/imports/{job['id']}/failures?format=CSV"
    status, headers, body = account.front.exchange("GET", path, account.key)  # type: ignore[attr-defined]

    assert (status, headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert body == (
        b"email,firstName,town,line,reason,field\r\nbob@,Bob,Rome,3,INVALID_EMAIL,email\r\n"
    )
    corrected = body.replace(b"bob@,", b"bob@example.com,")
    again = run_file(account, corrected, unknownColumns="IGNORE")
    assert (again["summary"]["created"], again["summary"]["failed"]) == (1, 0)


@over_http
def test_failed_rows_of_another_encoding_can_be_imported_with_its_options(
    account: Account,
) -> None:
    options = {"charset": "windows-1252", "columnMap": ["Größe=firstName"]}
    job = run_file(account, "email;Größe\nada@;Zoë\n".encode("windows-1252"), **options)

    path = f"/api/imports/{job['id']}/failures?format=CSV"
    _, headers, body = account.front.exchange("GET", path, account.key)  # type: ignore[attr-defined]

    assert headers["content-disposition"] == 'attachment; filename="members.failures.csv"'
    text = "email,Größe,line,reason,field\r\nada@,Zoë,2,INVALID_EMAIL,email\r\n"
    assert body == text.encode("utf-8-sig")
    again = run_file(account, body.replace(b"ada@,", b"ada@example.com,"), **options)
    assert again["summary"]["created"] == 1
    found = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert found["firstName"] == "Zoë"


@over_http
def test_file_with_a_delimiter_that_is_not_recognized_is_read_again(account: Account) -> None:
    # The header has more commas than vertical bars.
    content = b"email|name, first|name, last, if known\nada@|Ada|Lovelace\n"
    job = upload(account, content)
    assert len(job["columns"]) == 4
    columns = ["name, first=firstName", "name, last, if known=lastName"]
    options = {"delimiter": "VERTICAL_BAR", "columnMap": columns}

    account.ok("UpdateImport", id=job["id"], options=options)
    job = settled(account, job)

    assert job["delimiter"] == "|"
    names = [column["name"] for column in job["columns"]]
    assert names == ["email", "name, first", "name, last, if known"]
    job = run(account, job)
    path = f"/api/imports/{job['id']}/failures?format=CSV"
    _, _, body = account.front.exchange("GET", path, account.key)  # type: ignore[attr-defined]
    assert b"\r\nada@|Ada|Lovelace|2|INVALID_EMAIL|email\r\n" in body
    again = run_file(account, body.replace(b"ada@|", b"ada@example.com|"), **options)
    assert again["summary"]["created"] == 1
    found = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert (found["firstName"], found["lastName"]) == ("Ada", "Lovelace")


def test_failed_objects_can_be_imported_again(account: Account) -> None:
    """They have members that say why they failed."""
    row = {"email": "bob@example.com", "line": 3, "reason": "INVALID_EMAIL", "field": "email"}

    job = run_file(account, json.dumps(row))

    assert (job["summary"]["created"], job["summary"]["failed"]) == (1, 0)


def test_dry_run_reports_the_same_and_stores_nothing(account: Account) -> None:
    content = FILE + b"ada@example.com,Twice,\r\n"
    job = upload(account, content, options=CREATE)

    tried = run(account, job, dryRun=True)

    assert (tried["state"], tried["dryRun"]) == ("READY", True)
    assert emails(account) == []
    assert account.ok("ListCustomFields")["customFields"] == []
    listed = failures(account, job)
    assert [(row["line"], row["reason"]) for row in listed] == [
        (3, "INVALID_EMAIL"),
        (5, "ALREADY_EXISTS"),
    ]
    options = job["options"] | {"addTags": ["a"]}
    changed = settled(account, account.ok("UpdateImport", id=job["id"], options=options)["import"])
    assert (changed["state"], failures(account, job)) == ("READY", [])
    ran = run(account, job)
    assert ran["state"] == "SUCCEEDED"
    assert failures(account, job) == listed
    assert {**ran["summary"], "dryRun": True} == tried["summary"]


def test_dry_run_shows_the_first_different_unknown_cells_of_all_steps(account: Account) -> None:
    words = ["paused"] * 250 + ["before"] + ["on hold"] * 200 + ["paused", "later"]
    rows = [f"p{line}@example.com,{word},soon" for line, word in enumerate(words)]
    rows.append("last@example.com,CONFIRMED,31.12.2024")
    job = upload(account, "\n".join(["email,status,createdAt", *rows, ""]).encode())

    cells = run(account, job, dryRun=True)["summary"]["unrecognizedCells"]

    dates, statuses = sorted(cells, key=lambda each: str(each["column"]))
    assert (statuses["rows"], statuses["example"]) == (453, "paused")
    assert statuses["examples"] == ["paused", "before", "on hold"]
    # The first cell is no date at all.
    assert dates["examples"] == ["soon", "31.12.2024"]
    assert "dateFormat" in dates["hint"]


@pytest.mark.one_database
def test_canceled_dry_run_leaves_no_results(account: Account) -> None:
    rows = "".join(f"p{number}@example.com\n" for number in range(5_000))
    job = upload(account, f"email\n{rows}".encode())
    account.ok("StartImport", id=job["id"], dryRun=True)
    while not account.ok("GetImport", id=job["id"])["import"]["processed"]:
        time.sleep(0.01)

    canceled = account.ok("CancelImport", id=job["id"])["import"]

    found = account.ok("GetImport", id=job["id"])["import"]
    for state in (canceled, found):
        assert (state["state"], state["processed"], state["dryRun"]) == ("READY", 0, False)
        assert state.get("summary") is None
        assert state.get("startedAt") is None
    ran = run(account, job, dryRun=True)
    assert (ran["state"], ran["summary"]["created"]) == ("READY", 5_000)


def test_every_format_of_the_stream_is_read(account: Account) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("people.csv", "email,firstName\nzoë@example.com,Zoë\n")
    rows: list[dict[str, Any]] = [{"email": f"p{n}@example.com", "tags": ["a"]} for n in range(3)]
    files = {
        "zip": archive.getvalue(),
        "utf-16": "email,firstName\nada@example.com,Adä\n".encode("utf-16"),
        "array": json.dumps(rows).encode(),
        "ndjson": b'{"email": "nd@example.com"}\n{"email": 5}\n',
    }

    jobs = {name: run_file(account, content) for name, content in files.items()}

    counts = {name: (j["summary"]["created"], j["summary"]["failed"]) for name, j in jobs.items()}
    assert counts == {"zip": (1, 0), "utf-16": (1, 0), "array": (3, 0), "ndjson": (1, 1)}
    assert failures(account, jobs["ndjson"]) == [
        {"line": 2, "reason": "INVALID_FIELD", "field": "email", "cells": ['{"email": 5}']}
    ]


def test_opt_outs_of_all_rows_of_an_address_hold(account: Account) -> None:
    content = "email,status\nada@example.com,CONFIRMED\nada@example.com,UNSUBSCRIBED\n"

    job = run_file(account, content)

    assert job["summary"]["updated"] == 1
    found = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]
    assert found["status"] == "UNSUBSCRIBED"


def test_states_allow_only_what_is_possible(account: Account) -> None:
    job = create(account, FILE)

    assert account.call("StartImport", id=job["id"]).code == "ImportStateConflict"
    canceled = account.ok("CancelImport", id=job["id"])["import"]
    assert canceled["state"] == "CANCELLED"
    same = account.call("UpdateImport", id=job["id"], options=job["options"])
    assert (same.status, same.code) == (409, "ImportStateConflict")
    assert send_part(account, job, FILE).code == "ImportStateConflict"
    assert account.ok("CancelImport", id=job["id"])["import"] == canceled
    account.ok("DeleteImport", id=job["id"])
    assert account.call("GetImport", id=job["id"]).code == "ImportNotFound"


def test_imports_that_have_not_ended_are_limited(account: Account) -> None:
    keep_operations_waiting(account)
    ended = create(account, FILE)
    operation = send_part(account, ended, FILE).body["import"]["operationId"]
    account.ok("CancelOperation", id=operation)
    jobs = [create(account, FILE) for _ in range(20)]

    refused = account.call("CreateImport", name="x.csv", size=1)

    assert (refused.status, refused.code) == (409, "ImportLimitReached")
    account.ok("CancelImport", id=jobs[0]["id"])
    create(account, FILE)


@over_http
def test_import_is_watched_until_it_is_ready(account: Account) -> None:
    job = create(account, FILE)
    send(account, "PUT", f"/api/imports/{job['id']}/content?offset=0", FILE)

    path = f"/api/imports/{job['id']}/watch"
    status, _, body = account.front.exchange("GET", path, account.key)  # type: ignore[attr-defined]

    states = [json.loads(line)["import"]["state"] for line in body.splitlines() if line]
    assert (status, states[-1]) == (200, "READY")


def test_filter_selects_rows(account: Account) -> None:
    create_field(account, "Town")

    job = run_file(
        account, FILE.replace(b"bob@", b"bob@example.com"), filter='customFields.town = "Rome"'
    )

    assert (job["summary"]["created"], job["summary"]["skipped"]) == (1, 2)
    assert emails(account) == ["bob@example.com"]


def stored_parts(account: Account) -> int:
    """Returns the number of parts of files that are stored, in the database or on the disk."""
    with account.service.unit_of_work() as tx:
        names = files.names(account.id, tx)
    if not account.service.database_url.startswith("sqlite:"):
        return len(names)
    folder = files_folder(account.service.database) / account.id
    return len(list(folder.iterdir())) if folder.exists() else 0


@each("rpc", ["CancelImport", "DeleteImport"])
def test_the_file_of_an_import_that_is_not_needed_is_removed(account: Account, rpc: str) -> None:
    job = upload(account, FILE)
    assert stored_parts(account) == 1

    account.ok(rpc, id=job["id"])

    assert stored_parts(account) == 0


@pytest.mark.one_database
def test_file_of_an_import_is_purged_when_its_operation_was_canceled(account: Account) -> None:
    canceled, unchecked, waiting = (upload(account, FILE, options=CREATE) for _ in range(3))
    keep_operations_waiting(account)
    for job, is_dry_run in ((canceled, False), (unchecked, True), (waiting, False)):
        started = account.ok("StartImport", id=job["id"], dryRun=is_dry_run)["import"]
        if job is not waiting:
            account.ok("CancelOperation", id=started["operationId"])
    canceled = account.ok("GetImport", id=canceled["id"])["import"]

    with account.service.unit_of_work() as tx:
        assert imports.has_old(account.id, tx)
        assert [imports.purge(account.id, tx) for _ in range(2)] == [1, 0]
        assert not imports.has_old(account.id, tx)
        assert len(files.every(account.id, tx)) == 2

    assert canceled["state"] == "CANCELLED"
    assert account.ok("GetImport", id=canceled["id"])["import"] == canceled
    # The other files are still needed.
    assert account.ok("GetImport", id=unchecked["id"])["import"]["state"] == "READY"
    account.ok("StartImport", id=unchecked["id"])


def test_erasure_removes_a_person_from_files_and_failed_rows(account: Account) -> None:
    create_subscriber(account, "eve@example.com")
    ended = run_file(account, FILE, unknownColumns="IGNORE")
    spelled = run_file(account, b"email,status\nbob@b.io; eve [at] example.com,UNSUBSCRIBED\n")
    assert [row["line"] for row in failures(account, spelled)] == [2]
    options = {"unknownColumns": "IGNORE"}
    ready = upload(account, FILE, options=options, name="List of Eve@Example.com.csv")
    # Without a header, the first row gives the columns their names.
    upload(account, b"eve@example.com,Eve\nbob@example.com,Bob\n")
    run_export(account)
    assert [row["line"] for row in failures(account, ended)] == [3, 4]

    account.ok("DeleteSubscriber", id="eve@example.com", erase=True)

    assert [row["line"] for row in failures(account, ended)] == [3]
    assert failures(account, spelled) == []
    assert stored_parts(account) == 0
    assert "eve@" not in json.dumps(account.ok("ListImports"))
    job = account.ok("GetImport", id=ready["id"])["import"]
    assert (job["state"], job["error"]["reason"]) == ("FAILED", "IMPORT_STATE_CONFLICT")
    listed = account.ok("ListImports")["imports"]
    assert [each["name"] for each in listed] == [
        "members.csv",
        "erased",
        "members.csv",
        "members.csv",
    ]
    assert "eve@" not in json.dumps([job, listed]).lower()


@pytest.mark.one_database
def test_running_import_skips_a_person_who_is_erased(account: Account) -> None:
    """Also a row that was read ahead, and rows that failed before."""
    invalid = '"eve@example.com, of the first row",'
    rows = [f"p{number}@example.com,P" for number in range(20_000)]
    # Rows whose address is missing or not valid, with the person in another cell.
    named = [",Eve@Example.com", "rr@,eve@example.com", "rr@,not eve", "=eve@example.com,E,F"]
    lines = ["email,firstName", invalid, *rows, "Eve@Example.com,Eve", *named]
    job = upload(account, "\n".join(lines).encode())
    account.ok("StartImport", id=job["id"])
    while not failures(account, job):
        time.sleep(0.01)

    account.ok("CreateSubscriber", email="eve@example.com")
    account.ok("DeleteSubscriber", id="eve@example.com", erase=True)
    during = account.ok("GetImport", id=job["id"])["import"]
    job = settled(account, job)

    assert (during["state"], job["state"]) == ("RUNNING", "SUCCEEDED")
    assert [row["cells"] for row in failures(account, job)] == [["rr@", "not eve"]]
    assert (job["summary"]["created"], job["summary"]["skipped"]) == (len(rows), 1)
    assert account.call("GetSubscriber", id="eve@example.com").status == 404
    assert "eve@" not in json.dumps(account.ok("GetImport", id=job["id"])).lower()


def test_jobs_have_every_option_of_streams() -> None:
    stream = subscribers_pb2.ImportSubscribersRequest.DESCRIPTOR
    # A stream is parsed by the gateway, which reads a line such as sep=; instead.
    own = {"lines", "subscribers", "after_line", "dry_run", "results", "delimiter", "new_fields"}

    def fields(message: Descriptor) -> dict[str, tuple[Any, ...]]:
        return {
            f.name: (f.number, f.type, f.is_repeated, f.message_type, f.enum_type, rules_of(f))
            for f in message.fields
            if f.name not in own
        }

    assert fields(imports_pb2.ImportOptions.DESCRIPTOR) == fields(stream)
