"""Imports as jobs: the upload in parts, and the inspection of the file."""

from __future__ import annotations

import gzip
import io
import zipfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field, emails, over_http, send
from .import_jobs import CREATE, FILE, create, run, send_part, settled, upload

pytestmark = pytest.mark.each_database


def test_file_is_uploaded_in_parts_and_inspected(account: Account) -> None:
    job = upload(account, FILE, part_bytes=30, options=CREATE)

    assert (job["state"], job["rows"], job["format"], job["delimiter"]) == ("READY", 3, "csv", ",")
    assert job["received"] == job["size"] == job["processedBytes"] == len(FILE)
    assert [(c["name"], c["target"], c["filled"]) for c in job["columns"]] == [
        ("email", "email", 3),
        ("firstName", "firstName", 3),
        ("town", "customFields.town", 2),
    ]
    assert job["columns"][2]["examples"] == ["Paris", "Rome"]
    assert job["statuses"] == [{"status": "UNCONFIRMED", "rows": 2}]
    assert job["invalid"] == [{"reason": "INVALID_EMAIL", "total": 1, "examples": ["3"]}]
    assert [(row["line"], row["email"]) for row in job["sample"]] == [
        (2, "ada@example.com"),
        (3, "bob@"),
        (4, "eve@example.com"),
    ]
    assert job["sample"][0]["customFields"] == {"town": "Paris"}
    assert job["sample"][1]["reason"] == "INVALID_EMAIL"
    assert emails(account) == []


def test_parts_must_follow_each_other(account: Account) -> None:
    job = create(account, FILE)
    assert send_part(account, job, FILE[:20]).body["import"]["received"] == 20

    repeated = send_part(account, job, FILE[:20])
    gap = send_part(account, job, FILE[30:40], 30)
    other = send_part(account, job, b"x" * 20)
    broken = send_part(account, job, FILE[20:40], 20, sha256=sha256(b"other").hexdigest())
    long = send_part(account, job, FILE, 20)

    assert repeated.body["import"]["received"] == 20
    assert (gap.status, gap.code) == (409, "UploadOffsetMismatch")
    assert "offset 20" in gap.body["error"]["message"]
    assert [(d["field"], d["message"]) for d in gap.body["error"]["details"]] == [
        ("offset", "must be 20")
    ]
    assert (other.status, other.code) == (409, "UploadOffsetMismatch")
    assert broken.violations == [("sha256", "INVALID_VALUE")]
    assert long.violations == [("part", "TOO_LONG")]
    assert account.ok("GetImport", id=job["id"])["import"]["received"] == 20
    assert send_part(account, job, FILE[20:], 20).status == 200
    assert settled(account, job)["state"] == "READY"


@over_http
def test_range_of_a_part_in_a_header_is_rejected_instead_of_ignored(account: Account) -> None:
    path = f"/api/imports/{create(account, FILE)['id']}/content"
    headers = {"Content-Range": f"bytes 20-39/{len(FILE)}"}

    response = account.front.send("PUT", path, account.key, body=FILE[20:40], headers=headers)  # type: ignore[attr-defined]

    assert (response.status, response.violations) == (400, [("Content-Range", "UNKNOWN_FIELD")])


def test_same_part_can_be_sent_at_the_same_time(account: Account) -> None:
    content = b"email\n" + b"".join(b"p%d@example.com\n" % number for number in range(9_000))
    half = len(content) // 2
    job = create(account, content, sha256=sha256(content).hexdigest())

    def send_at_once(data: bytes, offset: int) -> list[int]:
        with ThreadPoolExecutor(8) as pool:
            sent = [pool.submit(send_part, account, job, data, offset) for _ in range(8)]
            return [each.result().status for each in sent]

    assert send_at_once(content[:half], 0) == [200] * 8
    assert send_at_once(content[half:], half) == [200] * 8
    job = settled(account, job)
    assert (job["state"], job["rows"]) == ("READY", 9_000)


def test_file_with_another_checksum_is_sent_again_from_the_beginning(account: Account) -> None:
    job = create(account, FILE, sha256=sha256(FILE).hexdigest())
    send_part(account, job, b"X" + FILE[1:40])

    response = send_part(account, job, FILE[40:], 40)

    assert response.violations == [("sha256", "INVALID_VALUE")]
    message = response.body["error"]["details"][0]["message"]
    assert sha256(b"X" + FILE[1:]).hexdigest() in message
    assert "from offset 0" in message
    found = account.ok("GetImport", id=job["id"])["import"]
    assert (found["state"], found["received"]) == ("UPLOADING", 0)
    assert send_part(account, job, FILE[40:], 40).code == "UploadOffsetMismatch"
    assert send_part(account, job, FILE[:40]).status == 200
    assert send_part(account, job, FILE[40:], 40).status == 200
    job = settled(account, job)
    assert job["state"] == "READY"
    assert [column["name"] for column in job["columns"]] == ["email", "firstName", "town"]


def test_problems_of_the_options_are_reported_and_can_be_corrected(account: Account) -> None:
    content = b"E-Mail;Newsletter opt-out;Stadt\nada@example.com;yes;Bonn\n"
    job = upload(account, content)

    assert job["state"] == "READY"
    problems = [("Newsletter opt-out", "CONSENT_COLUMN"), ("Stadt", "UNKNOWN_FIELD")]
    assert [(p["field"], p["code"]) for p in job["problems"]] == problems
    assert [c["looksLikeConsent"] for c in job["columns"]] == [False, True, False]
    refused = account.call("StartImport", id=job["id"])
    assert refused.violations == problems
    message = refused.body["error"]["message"]
    assert "look like consent: Newsletter opt-out." in message
    assert "Unknown columns: Stadt (#3)." in message
    options: Any = {"columnMap": ["Stadt=town", "Newsletter opt-out=optedIn", "Ort=town"]}
    job = settled(account, account.ok("UpdateImport", id=job["id"], options=options)["import"])
    fields = [problem["field"] for problem in job["problems"]]
    assert fields == ["columnMap[0]", "columnMap[2]"]
    options = {"columnMap": ["Newsletter opt-out=optedOut"], "unknownColumns": "IGNORE"}
    job = settled(account, account.ok("UpdateImport", id=job["id"], options=options)["import"])
    assert (job["problems"], job["statuses"]) == ([], [{"status": "UNSUBSCRIBED", "rows": 1}])
    assert job["sample"][0]["status"] == "UNSUBSCRIBED"
    assert run(account, job)["summary"]["statuses"] == {"UNSUBSCRIBED": 1}


@over_http
@pytest.mark.parametrize(
    ("content", "name"),
    [(gzip.compress(FILE), "gzip"), (b"\x28\xb5\x2f\xfd" + bytes(20), "Zstandard")],
    ids=["gzip", "zstd"],
)
def test_compression_of_a_file_is_named(account: Account, content: bytes, name: str) -> None:
    message = f"is compressed with {name}. Decompress it first."

    job = upload(account, content, options={"charset": "windows-1252"})
    streamed = send(
        account,
        "POST",
        "/api/subscribers/import?charset=windows-1252",
        content,
        headers={"Content-Type": "text/csv"},
    )

    assert [(each["code"], each["message"]) for each in job["problems"]] == [
        ("INVALID_FORMAT", message)
    ]
    assert [each["message"] for each in streamed.body["error"]["details"]] == [message]


def zipped(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, content)
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("suppression_global_unsubscribes.csv", b"email,createdAt\na@b.io,2024-01-01\n"),
        ("mg.example.com-bounces.csv", b"email\na@b.io\n"),
        ("Abmeldungen 2024.csv", b"email\na@b.io\n"),
        ("GlobalUnsubscribes.csv", b"email\na@b.io\n"),
        ("export.zip", zipped("lists/members_opt-out.csv", b"email\na@b.io\n")),
    ],
)
def test_list_of_opt_outs_by_its_name_is_not_imported_as_subscribers(
    account: Account, name: str, content: bytes
) -> None:
    job = upload(account, content, name=name, options={"isConfirmed": True})

    assert [(each["field"], each["code"]) for each in job["problems"]] == [
        ("name", "INVALID_VALUE")
    ]
    refused = account.call("StartImport", id=job["id"])
    assert refused.violations == [("name", "INVALID_VALUE")]
    for table in (b"email,status\na@b.io,bounced\nb@b.io,active\n", b"email\n"):
        assert upload(account, table, name=name)["problems"] == []
    options = {"columnMap": ["Zustand=status"]}
    table = b"email,Zustand\na@b.io,active\n"
    assert upload(account, table, name=name, options=options)["problems"] == []


@pytest.mark.parametrize(
    "name",
    [
        *("contacts_pamela.csv", "rebajas_2026.csv", "robinson_club.csv", "no-spam.csv"),
        *("not_unsubscribed.csv", "archived/customers.csv", "unsubscribed/customers.csv"),
        *("customers-excl-unsubscribes.csv", "all_except_bounced.csv"),
    ],
)
def test_file_with_another_name_is_not_a_list_of_opt_outs(account: Account, name: str) -> None:
    table = b"email\na@b.io\n"

    assert upload(account, zipped(name, table), name="export.zip")["problems"] == []
    if "/" not in name:
        assert upload(account, table, name=name)["problems"] == []


def test_file_with_too_many_columns_is_a_problem_without_a_column(account: Account) -> None:
    job = upload(account, b"email" + b"," * 2_000 + b"\nada@example.com\n")

    assert (job["state"], job["columns"]) == ("READY", [])
    assert ("", "TOO_MANY") in [(each["field"], each["code"]) for each in job["problems"]]
    assert ("", "TOO_MANY") in account.call("StartImport", id=job["id"]).violations


def test_filter_and_segment_that_cannot_be_used_are_problems(account: Account) -> None:
    def problems(**options: Any) -> list[tuple[str, str]]:
        job = upload(account, FILE, options={"unknownColumns": "IGNORE", **options})
        refused = account.call("StartImport", id=job["id"])
        assert refused.status in (400, 404)
        account.ok("CancelImport", id=job["id"])
        return [(each["field"], each["code"]) for each in job["problems"]]

    assert problems(filter="((") == [("filter", "INVALID_FORMAT")]
    assert problems(segmentId="x") == [("segmentId", "INVALID_VALUE")]
    options = {"unknownColumns": "IGNORE", "filter": 'customFields.town = "Rome"'}
    job = upload(account, FILE, options=options)
    assert [each["field"] for each in job["problems"]] == ["filter"]

    create_field(account, "Town")

    job = settled(account, account.ok("UpdateImport", id=job["id"], options=options)["import"])
    assert job["problems"] == []
    assert run(account, job)["state"] == "SUCCEEDED"


def test_file_in_another_encoding_is_a_problem_until_it_is_named(account: Account) -> None:
    content = "email,firstName\nada@example.com,Zoë\n".encode("windows-1252")
    job = upload(account, content)

    assert [p["code"] for p in job["problems"]] == ["INVALID_FORMAT"]
    options = {"charset": "windows-1252"}
    job = settled(account, account.ok("UpdateImport", id=job["id"], options=options)["import"])
    assert job["problems"] == []
    assert job["sample"][0]["firstName"] == "Zoë"


def test_inspection_states_the_encoding(account: Account) -> None:
    text = "email,firstName\nada@example.com,Zoë\n"
    files = {
        "plain": (text.encode(), ""),
        "mark": (text.encode("utf-8-sig"), "windows-1252"),
        "utf-16": (text.encode("utf-16"), ""),
        "named": (text.encode("windows-1252"), "windows-1252"),
    }

    jobs = {
        name: upload(account, content, options={"charset": charset})
        for name, (content, charset) in files.items()
    }

    assert {name: job["charset"] for name, job in jobs.items()} == {
        "plain": "utf-8",
        "mark": "utf-8",
        "utf-16": "utf-16",
        "named": "windows-1252",
    }
    assert {job["sample"][0]["firstName"] for job in jobs.values()} == {"Zoë"}


def test_types_of_custom_fields_are_proposed_from_the_whole_file(account: Account) -> None:
    lines = [f"p{n}@example.com,{n}.5,{'x' if n == 900 else n}" for n in range(1000)]
    content = "\n".join(["email,points,mixed", *lines])

    job = upload(account, content.encode(), options={"unknownColumns": "IGNORE"})

    assert [c["proposedType"] for c in job["columns"]] == ["TEXT", "NUMBER", "TEXT"]
    assert [c.get("nearestType") for c in job["columns"]] == [None, None, "NUMBER"]
    assert [c["counterexamples"] for c in job["columns"]] == [[], [], ["x"]]
