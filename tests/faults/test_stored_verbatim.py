"""Text with special characters of SQL, HTML or CSV is stored verbatim and not interpreted."""

from __future__ import annotations

import json
import re
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from roster.v1 import tags_pb2

from ..behavior.helpers import MISSING_ID, emails, over_http, send, tag_names
from ..conftest import Account
from ..fronts import GrpcFront, HttpFront

TEXTS = {
    "SQL": "Robert'); DROP TABLE subscriber;--",
    "double quote": 'a" OR "1"="1',
    "percent": "100%",
    "underscore": "a_b",
    "backslash": "a\\b\\'c\\",
    "placeholder": "? :id $1 %s {0}",
    "formula": "=cmd|' /C calc'!A0",
    "plus formula": "+1-1@SUM(A1)",
    "script": "<script>alert(1)</script>",
    "merge tag": "{{customFields.x}} {{email}}",
    "bidi": "a\u202eb",
    "emoji": "👩\u200d👩\u200d👧",
    "NFD": "e\u0301",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_every_text_field_is_stored_verbatim(account: Account, text: str) -> None:
    account.ok("CreateCustomField", label="Note")
    texts = {"firstName": text, "lastName": text, "tags": [text], "customFields": {"note": text}}
    created = account.ok("CreateSubscriber", email="a@example.com", **texts)
    subscriber = created["subscriber"]
    rows = [{"email": "b@example.com", **texts}]
    assert account.ok("BulkCreateSubscribers", subscribers=rows) == {"failed": []}
    account.ok("UpdateSubscriber", id=subscriber["id"], firstName=text)
    tag = account.ok("CreateTag", name=f"t{text}", description=text)["tag"]
    field = account.ok("CreateCustomField", label=f"f{text}", fallback=text)["customField"]

    for stored in account.ok("ListSubscribers")["subscribers"]:
        assert (stored["firstName"], stored["lastName"]) == (text, text)
        assert (stored["tags"], stored["customFields"]) == ([text], {"note": text})
    stored = account.ok("GetTag", id=tag["id"])["tag"]
    assert (stored["name"], stored["description"]) == (f"t{text}", text)
    stored = account.ok("GetCustomField", id=field["id"])["customField"]
    assert (stored["label"], stored["fallback"]) == (f"f{text}", text)


@pytest.mark.parametrize(
    ("name", "other"), [("100%", "100 of 100"), ("a_b", "axb"), ("a\\b", "ab"), ("%", "x")]
)
def test_pattern_characters_match_only_themselves(account: Account, name: str, other: str) -> None:
    account.ok("CreateTag", name=other)

    created = account.ok("CreateSubscriber", email="ada@example.com", tags=[name])["subscriber"]

    assert created["tags"] == [name]
    assert sorted(tag_names(account)) == sorted([name, other])


@over_http
def test_responses_cannot_be_sniffed_as_html(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    account.ok("CreateTag", name="<script>alert(1)</script>")

    for path, status in (("/api/tags", 200), ("/api/tags/<script>", 404), ("/<script>", 404)):
        response = account.front.exchange("GET", path, account.key)
        assert response[0] == status
        assert response[1]["content-type"] == "application/json"
        assert response[1]["x-content-type-options"] == "nosniff"


@over_http
@pytest.mark.parametrize(
    "path",
    [
        "/api/tags/%0d%0aSet-Cookie:%20a=b",
        "/api/subscribers/a%0d%0aSet-Cookie:a=b@example.com",
        "/api/%0d%0aSet-Cookie:a=b",
        "/api/tags?limit=%0d%0aSet-Cookie:a=b",
        "/api/tags?%0d%0aSet-Cookie:a=b",
    ],
)
def test_line_breaks_of_a_path_never_reach_a_header(account: Account, path: str) -> None:
    assert isinstance(account.front, HttpFront)

    status, headers, _ = account.front.exchange("GET", path, account.key)

    assert status in (400, 404)
    assert "set-cookie" not in headers
    assert not any("Set-Cookie" in value for value in headers.values())


@over_http
def test_line_breaks_of_a_value_never_reach_a_header(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    body = b'{"name": "a", "description": "a\\r\\nSet-Cookie: b=c"}'

    status, headers, _ = account.front.exchange("POST", "/api/tags", account.key, body=body)

    assert status == 201
    assert not any("Set-Cookie" in part for pair in headers.items() for part in pair)


VALID_IDS = ["a", "A.b-c_9", "x" * 64]
INVALID_IDS = {
    "blank": "a b",
    "folded line": "a\r\n Set-Cookie: b=c",
    "tab": "a\tb",
    "markup": "<b>",
    "colon": "a:b",
    "empty": "",
    "65 characters": "x" * 65,
    "beyond ASCII": "é",
}


def request_ids(account: Account, request_id: str) -> tuple[str, str]:
    """Makes a failing call, and returns the request ID in its header and in its error."""
    if isinstance(account.front, HttpFront):
        _, headers, text = account.front.exchange(
            "GET", f"/api/tags/{MISSING_ID}", account.key, headers={"X-Request-Id": request_id}
        )
        return headers["x-request-id"], json.loads(text)["error"]["requestId"]
    assert isinstance(account.front, GrpcFront)
    metadata = [("authorization", f"Bearer {account.key}"), ("x-request-id", request_id)]
    with pytest.raises(grpc.RpcError) as failed:
        account.front.stub("GetTag")(tags_pb2.GetTagRequest(id=MISSING_ID), metadata=metadata)
    trailing = dict(failed.value.trailing_metadata())
    status = rpc_status.from_call(failed.value)
    assert status is not None
    info = error_details_pb2.RequestInfo()
    assert status.details[-1].Unpack(info)
    return trailing["x-request-id"], info.request_id


@pytest.mark.parametrize("request_id", VALID_IDS)
def test_valid_request_id_is_returned(account: Account, request_id: str) -> None:
    assert request_ids(account, request_id) == (request_id, request_id)


@over_http
@pytest.mark.parametrize("request_id", INVALID_IDS.values(), ids=INVALID_IDS)
def test_invalid_request_id_is_replaced(account: Account, request_id: str) -> None:
    assert isinstance(account.front, HttpFront)
    _, headers, _ = account.front.exchange(
        "GET", "/api/tags", account.key, headers={"X-Request-Id": request_id}
    )

    assert re.fullmatch("[A-Za-z0-9._-]{1,64}", headers["x-request-id"])
    assert headers["x-request-id"] != request_id
    assert not any("Set-Cookie" in part for pair in headers.items() for part in pair)


@pytest.mark.parametrize("request_id", ["a b", "<b>", "a:b", "x" * 65])
def test_invalid_request_id_in_metadata_is_replaced(grpc_account: Account, request_id: str) -> None:
    in_metadata, in_error = request_ids(grpc_account, request_id)

    assert in_metadata == in_error
    assert re.fullmatch("[A-Za-z0-9._-]{1,64}", in_error)
    assert in_error != request_id


READ_ONLY_FIELDS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    (
        "subscribers",
        {"email": "ada@example.com"},
        {"id": MISSING_ID, "status": "COMPLAINED", "createdAt": "2001-01-01T00:00:00.000Z"},
    ),
    ("tags", {"name": "vip"}, {"id": MISSING_ID, "createdAt": "2001-01-01T00:00:00.000Z"}),
    (
        "custom-fields",
        {"label": "Town"},
        {
            "id": MISSING_ID,
            "key": "own",
            "mergeTag": "{{own}}",
            "createdAt": "2001-01-01T00:00:00.000Z",
            "updatedAt": "2001-01-01T00:00:00.000Z",
        },
    ),
]


@over_http
@pytest.mark.parametrize(
    ("path", "fields", "read_only"), READ_ONLY_FIELDS, ids=[row[0] for row in READ_ONLY_FIELDS]
)
def test_fields_that_the_server_owns_are_never_applied(
    account: Account, path: str, fields: dict[str, Any], read_only: dict[str, Any]
) -> None:
    created = send(account, "POST", f"/api/{path}", {**fields, **read_only})
    assert created.status == 201
    resource = next(iter(created.body.values()))
    assert {key for key, value in read_only.items() if resource[key] == value} == set()

    for method in ("PUT", "PATCH"):
        updated = send(account, method, f"/api/{path}/{resource['id']}", read_only)
        assert (updated.status, updated.body) == (200, created.body)

    stored = send(account, "GET", f"/api/{path}").body
    assert (stored["total"], next(iter(stored.values()))) == (1, [resource])


@over_http
def test_fields_that_the_server_owns_are_never_applied_to_a_row(account: Account) -> None:
    row = {"email": "ada@example.com", **READ_ONLY_FIELDS[0][2]}

    body = account.ok("BulkCreateSubscribers", subscribers=[row])

    assert body == {"failed": []}
    stored = account.ok("ListSubscribers")["subscribers"][0]
    assert {key for key, value in READ_ONLY_FIELDS[0][2].items() if stored[key] == value} == set()
    assert emails(account) == ["ada@example.com"]
