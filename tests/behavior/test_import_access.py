"""Imports as jobs: sessions instead of keys, and files that expire."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rosterd.server.features.files import store as files
from rosterd.server.features.imports.jobs import store as imports
from rosterd.server.features.imports.jobs.rules import RETENTION_MILLISECONDS

from ..conftest import Account
from .helpers import emails, keep_operations_waiting, over_http
from .import_jobs import CREATE, FILE, Job, create, failures, run, send_part, settled, upload
from .test_sessions import ends, link, session_of, sign_in

pytestmark = pytest.mark.each_database
HALF = len(FILE) // 2


@over_http
def test_session_imports_a_file_reads_its_failed_rows_and_undoes_it(account: Account) -> None:
    session = sign_in(account, link(account, "write"))

    job = run(session, upload(session, FILE, options=CREATE))
    failed = failures(session, job)
    undo = session.ok("UndoImport", id=job["id"])["operation"]

    assert (job["summary"]["created"], [row["line"] for row in failed]) == (2, [3])
    expected = {"type": "SESSION", "id": session_of(session)["id"], "name": "Ada"}
    assert job["actor"] == undo["actor"] == expected


@over_http
def test_session_that_may_only_read_changes_no_import(account: Account) -> None:
    reader = sign_in(account, link(account, "read"))
    job = run(account, upload(account, FILE, options=CREATE))
    part: dict[str, str] = {"data": ""}

    for rpc, fields in (
        ("CreateImport", {"name": "a.csv", "size": 1}),
        ("UploadImportPart", {"id": job["id"], "part": part}),
        ("UpdateImport", {"id": job["id"], "options": {}}),
        *((rpc, {"id": job["id"]}) for rpc in ("StartImport", "CancelImport", "UndoImport")),
        ("DeleteImport", {"id": job["id"]}),
    ):
        assert reader.call(rpc, **fields).status == 403, rpc

    assert reader.ok("GetImport", id=job["id"])["import"] == job
    assert [row["line"] for row in failures(reader, job)] == [3]


@over_http
def test_import_outlives_the_session_that_uploads_it(account: Account) -> None:
    session = sign_in(account, link(account, "write"))
    started = upload(session, b"email\na@b.io\n")
    keep_operations_waiting(account)
    session.ok("StartImport", id=started["id"])
    uploading = create(session, FILE, options=CREATE)
    send_part(session, uploading, FILE[:HALF])

    account.ok("DeleteSession", id=session_of(session)["id"])

    ends(session)
    assert send_part(session, uploading, FILE[HALF:], HALF).status == 401
    assert session.call("StartImport", id=started["id"]).status == 401
    # Another person continues the upload, and what was started goes on.
    sent = send_part(account, uploading, FILE[HALF:], HALF)
    assert sent.body["import"]["received"] == len(FILE)
    assert settled(account, started)["state"] == "SUCCEEDED"
    assert settled(account, uploading)["state"] == "READY"


def expire(account: Account, job: Job) -> None:
    with account.service.unit_of_work() as tx:
        row = imports.find(account.id, job["id"], tx)
        files.set_expiry(account.id, row.file_id, tx.now, tx)


@pytest.mark.parametrize("purge", [lambda *_: 0, files.purge], ids=["expired", "deleted"])
def test_file_that_has_expired_is_not_imported(account: Account, purge: Callable[..., int]) -> None:
    uploading, waiting = create(account, FILE), upload(account, FILE, options=CREATE)
    send_part(account, uploading, FILE[:HALF])
    keep_operations_waiting(account)
    account.ok("StartImport", id=waiting["id"])

    for job in (uploading, waiting):
        expire(account, job)
        with account.service.unit_of_work() as tx:
            purge(account.id, tx)

    late = send_part(account, uploading, FILE[HALF:], HALF)
    assert (late.status, late.code) == (404, "ImportNotFound")
    ended = settled(account, waiting)
    assert (ended["state"], emails(account)) == ("FAILED", [])
    assert [each["message"] for each in ended["error"]["details"]] == [
        "is lost; create the import again"
    ]


def test_import_that_expires_before_its_rows_are_imported_is_canceled(account: Account) -> None:
    job = upload(account, FILE, options=CREATE)
    keep_operations_waiting(account)
    started = account.ok("StartImport", id=job["id"])["import"]

    with account.service.unit_of_work() as tx:
        row = imports.find(account.id, job["id"], tx)
        old = row._replace(created_at=row.created_at - RETENTION_MILLISECONDS - 1)
        imports.put(account.id, old, tx)
        assert imports.purge(account.id, tx) == 1

    operation = account.ok("GetOperation", id=started["operationId"])["operation"]
    assert (operation["state"], emails(account)) == ("CANCELLED", [])
    assert account.call("GetImport", id=job["id"]).code == "ImportNotFound"
