"""Malformed HTTP, unknown paths and methods, and request IDs."""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass
from http.client import HTTPResponse
from typing import Any

import pytest

from ..cases import each
from ..conftest import Account
from ..fronts import HttpFront
from ..processes import Service

both_http = pytest.mark.parametrize("front_and_service", ["http", "http-over-grpc"], indirect=True)
MISSING_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@dataclass(frozen=True)
class RawResponse:
    """A response, read from a socket until the server closed it."""

    status: int
    headers: dict[str, str]
    body: bytes
    json: Any

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


def send_raw(address: str, request: bytes, *, until_response: bool = False) -> RawResponse:
    """Sends bytes and returns the response, once the service has closed the connection.

    `until_response` closes the sending side after the response. A service that rejects a body
    before its end continues to read it, because the response would be lost otherwise.
    """
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(request)
        response = HTTPResponse(connection, method=request.split(b" ")[0].decode())
        response.begin()
        body = response.read()
        response.close()
        if until_response:
            connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
        headers = {name.lower(): value for name, value in response.getheaders()}
        parsed = json.loads(body) if body.startswith(b"{") else None
        return RawResponse(response.status, headers, body, parsed)


def address_of(account: Account) -> str:
    assert isinstance(account.front, HttpFront)
    return account.front.address


@pytest.fixture
def http_service(front_and_service: tuple[HttpFront, Service]) -> Service:
    return front_and_service[1]


POST = "POST /api/tags HTTP/1.1\r\nHost: x\r\n"
GET = "GET /healthz HTTP/1.1\r\nHost: x\r\n"


MALFORMED = {
    "Content-Length with Transfer-Encoding": (
        f"{POST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
    ),
    "Transfer-Encoding with Content-Length": (
        f"{POST}Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"
    ),
    "two lengths": f"{POST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}} ",
    "negative length": f"{POST}Content-Length: -1\r\n\r\n",
    "a chunk of no size": f"{POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "unknown coding": f"{POST}Transfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n",
    "bare LF": "GET /healthz HTTP/1.1\nHost: x\n\n",
    "bare CR": f"{GET}A: b\rc\r\n\r\n",
    "NUL": f"{GET}A: b\0c\r\n\r\n",
    "space before the colon": f"{GET}A : b\r\n\r\n",
    "folded header": f"{GET}A: b\r\n c\r\n\r\n",
    "no Host": "GET /healthz HTTP/1.1\r\n\r\n",
    "two Hosts": f"{GET}Host: y\r\n\r\n",
    "129 headers": GET + "A: b\r\n" * 128 + "\r\n",
    "9 k header": f"{GET}A: {'b' * 9_216}\r\n\r\n",
    "66 k line": "GET /healthz?" + "b" * 66_000 + " HTTP/1.1\r\nHost: x\r\n\r\n",
    "not HTTP": "hello\r\n\r\n",
    "TLS": "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "method is not a token": "F(O /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
    "no version": "GET /healthz HTTP/9.9.9\r\nHost: x\r\n\r\n",
}


@both_http
def test_malformed_http_is_a_regular_error_without_a_traceback(http_service: Service) -> None:
    for case, text in MALFORMED.items():
        response = send_raw(http_service.http, text.encode())

        assert (response.status, response.code) == (400, "ValidationError"), case
        assert response.headers["content-type"] == "application/json"
        assert set(response.json) == {"error"}
        assert set(response.json["error"]) == {"code", "message", "details", "requestId"}
        assert response.json["error"]["requestId"] == response.headers["x-request-id"]
    assert http_service.traces() == []


@both_http
@each(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/tags", "GET, HEAD, OPTIONS, POST"),
        ("POST", f"/api/tags/{MISSING_ID}", "DELETE, GET, HEAD, OPTIONS, PATCH, PUT"),
        ("GET", f"/api/keys/{MISSING_ID}/rotate", "OPTIONS, POST"),
        ("GET", "/api/subscribers/bulk", "OPTIONS, POST"),
        ("HEAD", "/api/subscribers/import", "OPTIONS, POST"),
        ("DELETE", "/api/subscribers/export", "GET, HEAD, OPTIONS"),
        ("TRACE", "/api/tags", "GET, HEAD, OPTIONS, POST"),
        ("POST", "/healthz", "GET, HEAD, OPTIONS"),
    ],
)
def test_wrong_method_is_rejected_with_the_allowed_methods(
    account: Account, method: str, path: str, allowed: str
) -> None:
    assert isinstance(account.front, HttpFront)
    status, headers, body = account.front.exchange(method, path, account.key)

    assert (status, headers["allow"]) == (405, allowed)
    if method != "HEAD":
        assert json.loads(body)["error"]["code"] == "MethodNotAllowed"


@both_http
@each("path", ["/api/tags", "/healthz", f"/api/tags/{MISSING_ID}", "/api/tags?limit=x", "/nowhere"])
def test_head_matches_get_without_a_body(account: Account, path: str) -> None:
    head = f"{path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: same\r\n"
    head += f"Authorization: Bearer {account.key}\r\n\r\n"

    of_get = send_raw(address_of(account), f"GET {head}".encode())
    of_head = send_raw(address_of(account), f"HEAD {head}".encode())

    assert of_get.body
    assert (of_head.status, of_head.body) == (of_get.status, b"")
    assert {**of_head.headers, "date": ""} == {**of_get.headers, "date": ""}


@both_http
@each(
    "sent_id",
    ["", "7" * 65, "a b", "a\tb", "a;b", "<script>", 'a"b', "a%0d%0aSet-Cookie:x", "é", "١"],
)
def test_request_id_with_other_characters_or_length_is_replaced(
    account: Account, sent_id: str
) -> None:
    head = (
        f"GET /api/tags/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: {sent_id}\r\n"
    )
    head += f"Authorization: Bearer {account.key}\r\n\r\n"

    response = send_raw(address_of(account), head.encode())

    made = response.headers["x-request-id"]
    assert re.fullmatch("[A-Za-z0-9._-]{1,64}", made)
    assert made != sent_id
    assert response.json["error"]["requestId"] == made


# Characters that some parsers treat as line breaks.
BREAKS = ["%0d%0a", "\t", "\x0b", "\x0c", "\x1c", "\x85", "\u2028"]


@both_http
@each("name", ["X-Request-Id", "Idempotency-Key", "Traceparent", "Tracestate"])
@each("end", BREAKS)
def test_request_header_cannot_inject_a_response_header(
    account: Account, name: str, end: str
) -> None:
    head = "GET /api/tags/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    head += f"{name}: a{end}Set-Cookie: x=1\r\nAuthorization: Bearer {account.key}\r\n\r\n"

    response = send_raw(address_of(account), head.encode())

    assert response.status in {400, 404}
    assert "set-cookie" not in str(response.headers).lower()
