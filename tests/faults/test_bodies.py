"""Invalid bodies are rejected with the path of the error and without effect."""

from __future__ import annotations

import asyncio
import gzip
from types import SimpleNamespace

import pytest

from rosterd.http_gateway import body
from rosterd.http_gateway.options import Options
from rosterd.http_gateway.request_errors import RequestError

from ..cases import each
from ..conftest import Account
from ..fronts import HttpFront, Response
from .test_http import address_of, both_http, send_raw

MISSING_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
VALID = b'{"name": "vip"}'
COMPRESSED = gzip.compress(VALID)


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
@each(
    "content_type",
    [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        'application/json; profile=x; CHARSET="us-ascii"',
    ],
)
def test_another_content_type_or_charset_is_rejected(account: Account, content_type: str) -> None:
    response = post(account, VALID, headers={"Content-Type": content_type})

    assert (response.status, response.code) == (415, "UnsupportedMediaType")
    assert account.ok("ListTags")["total"] == 0


@both_http
@each(
    ("encoding", "sent"),
    {
        "whole": ("gzip", COMPRESSED),
        "broken": ("gzip", COMPRESSED[:-9]),
        # Members of one mebibyte each.
        "bomb": ("gzip", gzip.compress(b" " * body.MAX_BODY_BYTES) * 64),
        "br": ("br", VALID),
    },
)
def test_content_encoding_is_rejected(account: Account, encoding: str, sent: bytes) -> None:
    response = post(account, sent, headers={"Content-Encoding": encoding})

    assert (response.status, response.code) == (415, "UnsupportedMediaType")
    assert account.ok("ListTags")["total"] == 0


@both_http
@each("coding", ["gzip, chunked", "GZIP,chunked", "identity, chunked"])
def test_another_transfer_encoding_is_rejected(account: Account, coding: str) -> None:
    head = (
        "POST /api/tags HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {account.key}\r\nTransfer-Encoding: {coding}\r\n\r\n"
    )
    sent = b"%x\r\n%b\r\n0\r\n\r\n" % (len(VALID), VALID)

    assert send_raw(address_of(account), head.encode() + sent).status in (400, 415)
    assert account.ok("ListTags")["total"] == 0


@both_http
@each(
    ("chunks", "status"),
    [([], 404), ([b"{", b"}"], 404), ([b"{", b'"a": 1}'], 400)],
)
def test_chunked_body_is_read_to_its_end(
    account: Account, chunks: list[bytes], status: int
) -> None:
    head = (
        f"POST /api/webhooks/{MISSING_ID}/test HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Authorization: Bearer {account.key}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    sent = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])

    assert send_raw(address_of(account), head.encode() + sent).status == status
