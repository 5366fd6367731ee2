"""Invalid bodies are rejected with the path of the error and without effect."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from types import SimpleNamespace
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor

from roster.v1 import http_pb2, subscribers_pb2
from rosterd.http_gateway import body
from rosterd.http_gateway.options import Options
from rosterd.http_gateway.request_errors import RequestError

from ..cases import each
from ..conftest import Account
from ..fronts import UNARY, HttpFront, Response, binding, path_variables
from .test_http import address_of, both_http, send_raw

MISSING_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
VALID = b'{"name": "vip"}'

# test_streams.py tests the bodies of streaming rpcs.
WITH_BODY = [rpc for rpc in UNARY if binding(rpc)[2]]
FIELDS = {
    f"{rpc}.{field.json_name}": (rpc, field)
    for rpc in WITH_BODY
    for field in UNARY[rpc].input_type.fields
    if field.name not in ("id", "token", "update_mask")
}
ROW_FIELDS = {
    field.json_name: field
    for field in subscribers_pb2.BulkSubscriber.DESCRIPTOR.fields
    if not field.GetOptions().Extensions[http_pb2.row_faults]
}


def post(
    account: Account,
    sent: bytes,
    path: str = "/api/tags",
    *,
    method: str = "POST",
    headers: dict[str, str] | None = None,
) -> Response:
    """Sends these bytes as the body."""
    assert isinstance(account.front, HttpFront)
    return account.front.send(method, path, account.key, body=sent, headers=headers)


def validation_errors(
    account: Account, sent: bytes, path: str = "/api/tags"
) -> list[tuple[str, str]]:
    """Sends an invalid body and returns the details of the ValidationError."""
    response = post(account, sent, path)
    assert (response.status, response.code) == (400, "ValidationError"), response
    return response.violations


def wrong_values(field: FieldDescriptor) -> list[Any]:
    """Returns values of a JSON type or format that a field rejects."""
    if field.is_repeated:
        return [7, True, "x", {}]
    if field.type == FieldDescriptor.TYPE_STRING:
        return [7, 1.5, True, {}, []]
    if field.type == FieldDescriptor.TYPE_BYTES:
        return [7, True, "=", {}, []]
    if field.type == FieldDescriptor.TYPE_BOOL:
        return [2, -1, 1.5, "maybe", "", {}, []]
    if field.type == FieldDescriptor.TYPE_ENUM:
        return [1.5, True, "NO_SUCH_VALUE", "text", {}, []]
    if field.message_type.full_name in ("google.protobuf.Struct", "roster.v1.BatchAction"):
        return [7, True, "x", []]
    assert field.message_type.full_name == "google.protobuf.Timestamp"
    return [7, True, "yesterday", "2026-02-30T00:00:00Z", {}, []]


@both_http
@each(
    "sent",
    {
        "empty": b"",
        "blank": b" \n",
        "truncated": b'{"name": "vip"',
        "trailing brace": VALID + b"}",
        "two objects": VALID + VALID,
        "single quotes": b"{'name': 'vip'}",
        "trailing comma": b'{"name": "vip",}',
        "comment": b'{"name": "vip"} // c',
        "array": b'["vip"]',
        "string": b'"vip"',
        "number": b"7",
        "true": b"true",
        "null": b"null",
    },
)
def test_body_that_is_not_a_json_object_is_rejected_without_effect(
    account: Account, sent: bytes
) -> None:
    assert [path for path, _ in validation_errors(account, sent)] == [""]
    assert account.ok("ListTags")["total"] == 0


@both_http
def test_body_of_one_mebibyte_is_accepted(account: Account) -> None:
    assert post(account, VALID.ljust(body.MAX_BODY_BYTES)).status == 201


@both_http
@pytest.mark.parametrize("framing", ["declared", "chunked"])
def test_larger_body_is_rejected_before_its_end_and_the_connection_closed(
    account: Account, framing: str
) -> None:
    size = body.MAX_BODY_BYTES + 1
    head = f"POST /api/tags HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {account.key}\r\n"
    if framing == "declared":
        sent = f"{head}Content-Length: {size}\r\n\r\n{{".encode()
    else:
        chunk = VALID.ljust(size)
        sent = f"{head}Transfer-Encoding: chunked\r\n\r\n{size:x}\r\n".encode() + chunk + b"\r\n"

    response = send_raw(address_of(account), sent, until_response=True)

    assert (response.status, response.code) == (413, "PayloadTooLarge")
    assert response.headers["connection"] == "close"
    assert account.ok("ListTags")["total"] == 0


def test_body_without_a_length_is_read_at_most_one_chunk_past_the_limit() -> None:
    chunk, read = b" " * 65_536, [0]

    async def readany() -> bytes:
        read[0] += len(chunk)
        return chunk

    endless = SimpleNamespace(
        headers={},
        content_length=None,
        content=SimpleNamespace(is_eof=lambda: False, readany=readany),
        options=Options(),
    )
    with pytest.raises(RequestError) as caught:
        asyncio.run(body.read(endless))

    assert caught.value.close
    assert read[0] <= body.MAX_BODY_BYTES + len(chunk)


@both_http
@each("depth", [33, 1_025, 200_000])
@each(("opening", "closing"), {"arrays": ("[", "]"), "objects": ('{"":', "}")})
@each(
    "around",
    {
        "the body": "%s",
        "a value": '{"name": %s}',
        "an ignored value": '{"id": %s}',
        "duplicate value": '{"name": %s, "name": "vip"}',
    },
)
def test_nesting_over_32_is_rejected(
    account: Account, depth: int, opening: str, closing: str, around: str
) -> None:
    validation_errors(account, (around % f"{opening * depth}1{closing * depth}").encode())


@both_http
@each("opening", ["[", '{"":'])
def test_nesting_in_a_value_that_a_duplicate_key_replaces_is_rejected(
    account: Account, opening: str
) -> None:
    # Within the parser's own limit, and not in its result.
    hidden = opening * 1_000 + "1" + ("]" if opening == "[" else "}") * 1_000

    validation_errors(account, f'{{"name": {hidden}, "name": "vip"}}'.encode())


@both_http
@each(
    ("path", "sent", "named"),
    {
        "top": ("/api/tags", '{"name": "a", "name": "b"}', "name"),
        "same value": ("/api/tags", '{"name": "a", "name": "a"}', "name"),
        "colons in texts": ("/api/tags", '{"name": "a", "description": ":", "name": "b"}', "name"),
        "escaped": ("/api/tags", r'{"name": "a", "n\u0061me": "b"}', "name"),
        "ignored key": ("/api/tags", '{"id": 1, "name": "a", "id": 1}', "id"),
        "deep": ("/api/tags", '{"name": "a", "id": {"x": [{"y": 1, "y": 2}]}}', "id.x[0].y"),
        "both names of a field": (
            "/api/subscribers",
            '{"email": "a@b.io", "firstName": "", "first_name": ""}',
            "firstName",
        ),
        "the rows": (
            "/api/subscribers/bulk",
            '{"subscribers": [], "subscribers": []}',
            "subscribers",
        ),
    },
)
def test_duplicate_key_is_reported_by_its_path(
    account: Account, path: str, sent: str, named: str
) -> None:
    assert validation_errors(account, sent.encode(), path) == [(named, "DUPLICATE_FIELD")]
    assert account.ok("ListSubscribers")["total"] == 0


@both_http
@each("key", {"field": "name", "ignored key": "id"})
@each(
    "number",
    ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" * 400, "-" + "9" * 400, "01", "+1"],
)
def test_number_that_is_invalid_or_beyond_a_double_is_rejected(
    account: Account, key: str, number: str
) -> None:
    validation_errors(account, f'{{"name": "vip", "{key}": {number}}}'.encode())


@both_http
@each(
    "sent",
    {
        "no UTF-8": b'{"name": "\xff"}',
        "overlong": b'{"name": "\xc0\xaf"}',
        "encoded surrogate": b'{"name": "\xed\xa0\x80"}',
        "UTF-16": VALID.decode().encode("utf-16"),
        "UTF-16 without mark": VALID.decode().encode("utf-16-be"),
        "byte-order mark": b"\xef\xbb\xbf" + VALID,
        "lone high surrogate": rb'{"name": "\ud83d"}',
        "lone low surrogate": rb'{"name": "\ude00"}',
        "lone surrogate in a key": rb'{"name": "vip", "\ud83d": 1}',
    },
)
def test_text_that_is_not_unicode_is_rejected_without_effect(account: Account, sent: bytes) -> None:
    validation_errors(account, sent)
    assert account.ok("ListTags")["total"] == 0


@both_http
@each(("rpc", "field"), FIELDS)
def test_wrong_json_type_is_reported_by_its_path(
    account: Account, rpc: str, field: FieldDescriptor
) -> None:
    key = dict.fromkeys(path_variables(rpc), MISSING_ID)
    for value in wrong_values(field):
        response = account.fails("ValidationError", rpc, **key, **{field.json_name: value})
        assert [path for path, _ in response.violations] == [field.json_name], value


@both_http
def test_number_that_is_no_enum_value_is_rejected(account: Account) -> None:
    response = account.fails("ValidationError", "CreateCustomField", label="City", dataType=99)

    assert [path for path, _ in response.violations] == ["dataType"]


@both_http
@each("rpc", WITH_BODY)
def test_all_fields_of_a_wrong_json_type_are_reported(account: Account, rpc: str) -> None:
    # The query is read after a valid body.
    in_query = http_pb2.in_query
    fields = [
        field
        for owner, field in FIELDS.values()
        if owner == rpc and not field.GetOptions().Extensions[in_query]
    ]
    key = dict.fromkeys(path_variables(rpc), MISSING_ID)
    wrong = {field.json_name: wrong_values(field)[-1] for field in fields}

    response = account.fails("ValidationError", rpc, **key, **wrong)

    assert [path for path, _ in response.violations] == [field.json_name for field in fields]


@both_http
@each("item", [7, True, None, {}, []])
@each("rpc", ["CreateSubscriber", "UpdateSubscriber"])
def test_wrong_json_type_in_an_array_is_reported_by_its_index(
    account: Account, rpc: str, item: Any
) -> None:
    key = {"id": MISSING_ID} if rpc == "UpdateSubscriber" else {}

    response = account.fails("ValidationError", rpc, **key, email="a@b.io", tags=["vip", item])

    assert response.violations == [("tags[1]", "INVALID_TYPE")]


@both_http
@each("field", ROW_FIELDS)
def test_wrong_json_type_in_a_row_fails_only_that_row(
    account: Account, field: FieldDescriptor
) -> None:
    before = account.ok("ListSubscribers")["total"]
    wrong = wrong_values(field) + ([[7], [None]] if field.is_repeated else [])
    for number, value in enumerate(wrong):
        bad = {"email": "bad@example.com", field.json_name: value}
        good = [{"email": f"{letter}{number}.{field.name}@b.io"} for letter in "az"]
        rows = [good[0], bad, good[1]]

        failed = account.ok("BulkCreateSubscribers", subscribers=rows)["failed"]

        email = "" if field.name == "email" and not isinstance(value, str) else "bad@example.com"
        assert failed == [{"index": 1, "email": email, "reason": "INVALID_FIELD"}], value
    assert account.ok("ListSubscribers")["total"] == before + 2 * len(wrong)


@both_http
def test_unknown_key_in_a_row_fails_only_that_row(account: Account) -> None:
    for number, key in enumerate(["nothing", "a.b", "", "[x", ".x"]):
        rows = [{"email": "bad@example.com", key: 1}, {"email": f"{number}@example.com"}]

        failed = account.ok("BulkCreateSubscribers", subscribers=rows)["failed"]

        expected = {"index": 0, "email": "bad@example.com", "reason": "INVALID_FIELD"}
        assert failed == [expected], key


@both_http
def test_row_that_is_not_an_object_fails_only_that_row(account: Account) -> None:
    for number, row in enumerate([7, "a@b.io", True, None, []]):
        rows = [row, {"email": f"{number}@example.com"}]

        failed = account.ok("BulkCreateSubscribers", subscribers=rows)["failed"]

        assert failed == [{"index": 0, "email": "", "reason": "INVALID_ROW"}], row
        assert account.ok("ListSubscribers")["total"] == number + 1, row


@both_http
@each(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/json; charset=latin-1",
        "application/json; charset=utf-16",
        'application/json; profile=x; CHARSET="us-ascii"',
        "application/json, text/plain",
    ],
)
def test_another_content_type_or_charset_is_rejected(account: Account, content_type: str) -> None:
    response = post(account, VALID, headers={"Content-Type": content_type})

    assert (response.status, response.code) == (415, "UnsupportedMediaType")
    assert account.ok("ListTags")["total"] == 0


@both_http
def test_content_type_of_json_in_utf_8_is_accepted_in_every_spelling(account: Account) -> None:
    spellings = [
        "application/json",
        "Application/JSON",
        "application/json; charset=UTF-8",
        'application/json;charset="utf-8"',
    ]
    for number, content_type in enumerate(spellings):
        sent = json.dumps({"name": f"vip {number}"}).encode()
        response = post(account, sent, headers={"Content-Type": content_type})
        assert response.status == 201, content_type


@both_http
def test_missing_content_type_means_json(account: Account) -> None:
    head = f"POST /api/tags HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {account.key}\r\n"
    sent = f"{head}Connection: close\r\nContent-Length: {len(VALID)}\r\n\r\n".encode() + VALID

    assert send_raw(address_of(account), sent).status == 201


@both_http
@each(
    ("encoding", "sent"),
    {
        "whole": ("gzip", gzip.compress(VALID)),
        "upper case": ("GZIP", gzip.compress(VALID)),
        "broken": ("gzip", gzip.compress(VALID)[:-9]),
        "bomb": ("gzip", gzip.compress(b" " * 64 * body.MAX_BODY_BYTES)),
        "not gzip": ("gzip", VALID),
        "deflate": ("deflate", zlib.compress(VALID)),
        "br": ("br", VALID),
        "list": ("gzip, identity", gzip.compress(VALID)),
    },
)
def test_content_encoding_is_rejected(account: Account, encoding: str, sent: bytes) -> None:
    response = post(account, sent, headers={"Content-Encoding": encoding})

    assert (response.status, response.code) == (415, "UnsupportedMediaType")
    assert account.ok("ListTags")["total"] == 0
