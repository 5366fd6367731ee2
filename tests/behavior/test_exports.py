"""Exports as files: their content, ranges, ends, and what an erasure leaves of them."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import time
from typing import Any

import grpc
import pytest
from google.api.httpbody_pb2 import HttpBody

from roster.v1 import exports_pb2 as pb
from rosterd.server.features.exports import store as exports
from rosterd.server.features.files import store as files

from ..cases import each
from ..conftest import Account
from ..fronts import GrpcFront, HttpFront, SessionToken, error_response
from .helpers import MISSING_ID, create_field, create_subscriber, over_http
from .streams import export as streamed
from .streams import export_table, import_table
from .test_sessions import link, sign_in


def start(account: Account, **request: Any) -> dict[str, Any]:
    export: dict[str, Any] = account.ok("CreateExport", **request)["export"]
    return export


def run(account: Account, **request: Any) -> dict[str, Any]:
    """Starts an export and returns it when it has ended."""
    export = start(account, **request)
    while not export["done"]:
        time.sleep(0.01)
        export = account.ok("GetExport", id=export["id"])["export"]
    return export


def download(
    account: Account, export_id: str, *, verb: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Returns the status, the headers in lower case and the body of a file or its error."""
    if isinstance(account.front, HttpFront):
        path = f"/api/exports/{export_id}/file"
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        status, received, body = account.front.exchange(verb, path, account.key, headers=sent)
        return status, received, body
    assert isinstance(account.front, GrpcFront)
    is_session = isinstance(account.key, SessionToken)
    metadata = (
        ("session", account.key) if is_session else ("authorization", f"Bearer {account.key}")
    )
    call = account.front.channel.unary_stream(
        "/roster.v1.ExportService/DownloadExport",
        request_serializer=pb.DownloadExportRequest.SerializeToString,
        response_deserializer=HttpBody.FromString,
    )(
        pb.DownloadExportRequest(id=export_id, **{k.lower(): v for k, v in headers.items()}),
        metadata=[metadata],
        timeout=60,
    )
    try:
        pieces = list(call)
    except grpc.RpcError as error:
        response = error_response(error)
        failed: Any = error
        trailing = {name: str(value) for name, value in failed.trailing_metadata()}
        return response.status, trailing, json.dumps(response.body).encode()
    received = {name: str(value) for name, value in call.initial_metadata()}
    received["content-type"] = pieces[0].content_type
    received["content-length"] = received.pop("x-content-length")
    status = 206 if "content-range" in received else 200
    return status, received, b"".join(piece.data for piece in pieces)


def content(account: Account, **request: Any) -> bytes:
    export = run(account, **request)
    assert export["state"] == "SUCCEEDED", export
    status, headers, body = download(account, export["id"])
    assert status == 200
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    assert headers["repr-digest"] == f"sha-256=:{digest}:"
    assert export["sha256"] == hashlib.sha256(body).hexdigest()
    assert export["size"] == len(body) == int(headers["content-length"])
    return body


def table(body: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(body.decode())))


def create_people(account: Account) -> None:
    create_field(account, "Plan")
    create_subscriber(
        account, "ada@b.io", firstName="=Ada", tags=["vip"], customFields={"plan": "pro"}
    )
    import_table(account, "email,status,consentSource\nbob@b.io,CONFIRMED,shop\n")


def test_a_file_has_what_the_stream_has(account: Account) -> None:
    create_people(account)
    for request in ({}, {"view": "FULL"}, {"filter": "tags:vip"}, {"q": "bob"}):
        rows = list(map(json.loads, content(account, format="NDJSON", **request).splitlines()))
        assert rows == streamed(account, **request)
        assert rows
        assert table(content(account, **request)) == export_table(account, **request)


def test_a_file_of_csv_can_be_for_excel_or_for_programs(account: Account) -> None:
    create_people(account)
    assert content(account, bom=True).startswith(b"\xef\xbb\xbfid,")
    assert content(account, bom=True, delimiter="SEMICOLON").startswith(b"\xef\xbb\xbfid;")
    assert b",'=Ada," in content(account)
    assert b",=Ada," in content(account, escapeFormulas=False)


def test_a_file_and_the_stream_have_the_columns_of_the_request(account: Account) -> None:
    create_people(account)
    columns = ["consentSource", "email", "customFields.plan", "updatedAt"]
    updated = [each["updatedAt"] for each in streamed(account, view="FULL")]
    expected = [
        columns,
        ["", "ada@b.io", "pro", updated[0]],
        ["shop", "bob@b.io", "", updated[1]],
    ]
    assert table(content(account, columns=columns)) == expected
    assert export_table(account, columns=columns) == expected
    rows = [
        {"email": "ada@b.io", "customFields": {"plan": "pro"}, "updatedAt": updated[0]},
        {"email": "bob@b.io", "consent": {"source": "shop"}, "updatedAt": updated[1]},
    ]
    lines = content(account, format="NDJSON", columns=columns).splitlines()
    assert list(map(json.loads, lines)) == rows
    found = streamed(account, columns=columns)
    if isinstance(account.front, GrpcFront):  # Its messages have no values in the other fields.
        empty = ("", [], "STATUS_UNSPECIFIED")
        found = [{k: value for k, value in row.items() if value not in empty} for row in found]
    assert found == rows


def test_a_file_has_the_chosen_people_only(account: Account) -> None:
    ids = [create_subscriber(account, f"{name}@b.io", tags=["vip"])["id"] for name in "abcd"]

    def exported(**request: Any) -> str:
        rows = [row[0] for row in table(content(account, columns=["email"], **request))[1:]]
        export = account.ok("ListExports")["exports"][0]
        assert export["total"] == export["processed"] == len(rows)
        return "".join(row[0] for row in rows)

    assert exported(ids=[ids[2], ids[0], ids[2], MISSING_ID]) == "ac"
    assert exported(ids=[MISSING_ID]) == ""
    assert exported(excludeIds=[ids[1], MISSING_ID]) == "acd"
    assert exported(excludeIds=ids[:3], filter="tags:vip") == "d"
    for request, field in (
        ({"ids": ids, "filter": "tags:vip"}, "ids"),
        ({"ids": ids, "excludeIds": ids}, "excludeIds"),
        ({"excludeIds": ["a@b.io"]}, "excludeIds[0]"),
    ):
        error = account.fails("ValidationError", "CreateExport", **request)
        assert error.violations[0][0] == field


@each(
    ("columns", "field"),
    {
        "unknown": (["email", "nickname"], "columns[1]"),
        "of no field": (["customFields.other"], "columns[0]"),
        "twice": (["email", "email"], "columns[1]"),
    },
)
def test_columns_must_exist(account: Account, columns: list[str], field: str) -> None:
    response = account.call("CreateExport", columns=columns)
    assert (response.status, response.body["error"]["details"][0]["field"]) == (400, field)


def test_a_download_can_be_resumed(account: Account) -> None:
    create_people(account)
    body = content(account)
    (export,) = account.ok("ListExports")["exports"]
    size = len(body)
    status, headers, _ = download(account, export["id"])
    assert headers["accept-ranges"] == "bytes"
    assert headers["content-disposition"].startswith('attachment; filename="subscribers-')
    assert headers["content-disposition"].endswith('.csv"')
    etag = headers["etag"]
    for text, start, end in (
        ("bytes=0-9", 0, 10),
        ("bytes=10-", 10, size),
        ("bytes=-7", size - 7, size),
        (f"bytes={size - 1}-{size + 100}", size - 1, size),
    ):
        status, headers, part = download(account, export["id"], Range=text, If_Range=etag)
        assert (status, part) == (206, body[start:end])
        assert headers["content-range"] == f"bytes {start}-{end - 1}/{size}"
        assert int(headers["content-length"]) == len(part)
    for sent in (
        {"Range": "bytes=0-1,3-4"},
        {"Range": "lines=0-1"},
        {"Range": "bytes=5-2"},
        {"Range": "bytes=0-9", "If_Range": '"another"'},
    ):
        assert download(account, export["id"], **sent)[::2] == (200, body)
    for text in (f"bytes={'0-1,' * 500}2-3", f"bytes={'0' * 3000}-9", f"bytes=0-{'9' * 3000}"):
        assert download(account, export["id"], Range=text)[::2] == (200, body)
    status, headers, error = download(account, export["id"], Range=f"bytes={size}-")
    assert (status, headers["content-range"]) == (416, f"bytes */{size}")
    assert json.loads(error)["error"]["code"] == "RangeNotSatisfiable"


@over_http
def test_a_download_can_have_conditions(account: Account) -> None:
    create_people(account)
    export = run(account)
    _, sent, body = download(account, export["id"])
    etag, other = sent["etag"], '"another"'

    def result(verb: str = "GET", **headers: str) -> tuple[int, bytes]:
        status, received, content = download(account, export["id"], verb=verb, **headers)
        if status == 304:
            assert received["etag"] == etag
            assert {"content-type", "content-length", "transfer-encoding"}.isdisjoint(received)
        return status, content if status < 400 else b""

    def downloads() -> int:
        entries = account.ok("ListAuditEntries", action="export.downloaded")
        return int(entries["total"])

    before = downloads()
    for tags in (etag, f"W/{etag}", f"{other}, {etag}", "*"):
        assert result(If_None_Match=tags) == result("HEAD", If_None_Match=tags) == (304, b"")
        assert result(If_None_Match=tags, Range="bytes=0-1") == (304, b"")
    assert downloads() == before
    assert result(If_None_Match=other) == (200, body)
    for tags in (etag, f"{other}, {etag}", "*"):
        assert result(If_Match=tags) == (200, body)
        assert result(If_Match=tags, Range="bytes=0-1") == (206, body[:2])
        assert result(If_Match=tags, If_None_Match=etag) == (304, b"")
    for tags in (other, f"W/{etag}"):
        assert result(If_Match=tags, If_None_Match=etag) == (412, b"")


@over_http
def test_head_of_a_file_has_the_headers_and_no_body(account: Account) -> None:
    create_people(account)
    export = run(account)
    _, expected, body = download(account, export["id"])
    status, headers, nothing = download(account, export["id"], verb="HEAD", Range="bytes=0-3")
    assert (status, nothing) == (200, b"")
    varying = ("date", "x-request-id")
    assert {k: v for k, v in headers.items() if k not in varying} == {
        k: v for k, v in expected.items() if k not in varying
    }
    assert int(headers["content-length"]) == len(body)
    assert download(account, MISSING_ID, verb="HEAD")[::2] == (404, b"")


def test_a_file_belongs_to_its_account_and_needs_the_scope_read(
    account: Account, other_account: Account
) -> None:
    create_people(account)
    export = run(account)
    _, _, body = download(account, export["id"])
    readers = account.with_key(account.new_key("read")), sign_in(account, link(account, "read"))
    for reader in readers:
        assert download(reader, export["id"])[::2] == (200, body)
    for other in (other_account, sign_in(other_account, link(other_account))):
        status, _, error = download(other, export["id"])
        assert (status, json.loads(error)["error"]["code"]) == (404, "ExportNotFound")
    signup = account.with_key(account.new_key("signup"))
    assert download(signup, export["id"])[0] == 403
    session = readers[1]
    session.ok("SignOut")
    assert download(session, export["id"])[0] == 401


def test_a_reader_cancels_and_deletes_exports_of_its_own_only(account: Account) -> None:
    export = run(account)
    for reader in (
        account.with_key(account.new_key("read")),
        sign_in(account, link(account, "read")),
    ):
        for rpc in ("CancelExport", "DeleteExport"):
            reader.fails("Forbidden", rpc, id=export["id"])
        own = run(reader)
        reader.ok("CancelExport", id=own["id"])
        reader.ok("DeleteExport", id=own["id"])
        assert reader.ok("ListExports")["exports"] == [export]
    account.with_key(account.new_key("write")).ok("DeleteExport", id=export["id"])


def test_an_export_of_nobody_is_an_empty_file(account: Account) -> None:
    assert content(account, format="NDJSON") == b""
    assert table(content(account)) == export_table(account)


def test_a_deleted_export_has_no_file(account: Account) -> None:
    create_people(account)
    export = run(account)
    account.ok("DeleteExport", id=export["id"])
    status, _, error = download(account, export["id"])
    assert (status, json.loads(error)["error"]["code"]) == (404, "ExportNotFound")
    assert account.ok("ListExports")["exports"] == []
    assert account.ok("GetOperation", id=export["id"])["operation"]["state"] == "SUCCEEDED"


def test_an_export_without_its_file_is_not_found(account: Account) -> None:
    """As in a restored database."""
    create_people(account)
    export = run(account)
    with account.service.unit_of_work() as tx:
        file_id = exports.find(account.id, export["id"], tx).row.file_id
        files.delete(account.id, file_id, tx)
    status, _, error = download(account, export["id"])
    assert (status, json.loads(error)["error"]["code"]) == (404, "ExportNotFound")


def test_an_export_that_has_not_succeeded_cannot_be_downloaded(account: Account) -> None:
    create_people(account)
    export = start(account, filter="tags:vip")
    canceled = account.ok("CancelExport", id=export["id"])["export"]
    if canceled["state"] == "CANCELLED":  # It had not ended already.
        status, _, error = download(account, export["id"])
        assert (status, json.loads(error)["error"]["code"]) == (409, "ExportNotReady")
    assert download(account, MISSING_ID)[0] == 404


def test_an_erasure_deletes_all_exports(account: Account) -> None:
    create_people(account)
    export = run(account)
    account.ok("DeleteSubscriber", id="ada@b.io", erase=True)
    assert download(account, export["id"])[0] == 404
    assert account.ok("ListExports")["exports"] == []


def test_an_export_is_an_operation(account: Account) -> None:
    create_people(account)
    export = run(account, filter="tags:vip")
    operation = account.ok("GetOperation", id=export["id"])["operation"]
    assert (operation["type"], operation["filter"], operation["processed"]) == (
        "SUBSCRIBERS_EXPORT",
        "tags:vip",
        1,
    )
    assert export["total"] == export["processed"] == 1
    account.ok("UpdateTag", id=account.ok("ListTags")["tags"][0]["id"], name="gold")


def test_an_account_has_a_limited_number_of_exports(account: Account) -> None:
    for _ in range(20):
        run(account)
    response = account.call("CreateExport")
    assert (response.status, response.body["error"]["code"]) == (409, "ExportLimitReached")
    account.ok("DeleteExport", id=account.ok("ListExports")["exports"][0]["id"])
    assert account.call("CreateExport").status == 202


@pytest.mark.parametrize("view", ["BASIC", "FULL"])
def test_an_export_of_several_parts_is_complete(account: Account, view: str) -> None:
    create_field(account, "Text")
    long = "x" * 1000
    for first in range(0, 1500, 100):
        rows = [
            {"email": f"p{number}@b.io", "firstName": "é" * 100, "customFields": {"text": long}}
            for number in range(first, first + 100)
        ]
        assert account.ok("BulkCreateSubscribers", subscribers=rows)["failed"] == []
    body = content(account, format="NDJSON", view=view)
    assert len(body) > 1.5 * 1024 * 1024
    assert list(map(json.loads, body.splitlines())) == streamed(account, view=view)
