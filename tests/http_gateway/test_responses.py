"""The bytes of responses."""

from __future__ import annotations

import asyncio
import re
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp.http import HttpVersion11

from rosterd.http_gateway import responses
from rosterd.http_gateway.options import Options

from ..conftest import Account
from ..processes import Service
from .streams.test_flow_control import Transport

COMMON = {b"server", b"x-content-type-options", b"date", b"x-request-id"}


def exchange(service: Service, request: str, responses: int = 1) -> bytes:
    """Sends requests in one piece, and returns the bytes of the responses."""
    host, _, port = service.http.rpartition(":")
    data = b""
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(request.replace("\n", "\r\n").encode())
        while data.count(b"\r\n\r\n") < responses:
            data += connection.recv(65_536)
    return data


def parts(data: bytes) -> tuple[bytes, dict[bytes, bytes], bytes]:
    """Returns the status line, the headers, and the rest of a response."""
    head, _, body = data.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    return status, dict(line.lower().split(b": ", 1) for line in lines), body


def test_response_has_date_and_length_and_hides_the_software(service: Service) -> None:
    status, headers, body = parts(exchange(service, "GET /healthz HTTP/1.1\nHost: x\n\n"))

    assert status == b"HTTP/1.1 200 OK"
    assert headers.keys() == COMMON | {b"content-type", b"content-length"}
    assert headers[b"server"] == b"roster"
    assert re.fullmatch(rb"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d gmt", headers[b"date"])
    assert int(headers[b"content-length"]) == len(body)


def test_json_ends_with_a_newline(http_account: Account) -> None:
    key = f"Authorization: Bearer {http_account.key}\n"
    for path in ("/api/tags", "/api/tags/missing", "/healthz"):
        request = f"GET {path} HTTP/1.1\nHost: x\n{key}\n"
        _, headers, body = parts(exchange(http_account.service, request))

        assert headers[b"content-type"] == b"application/json"
        assert body.endswith(b"}\n"), path


def test_no_content_has_neither_length_nor_type(http_account: Account) -> None:
    tag = http_account.ok("CreateTag", name="vip")["tag"]

    request = f"DELETE /api/tags/{tag['id']} HTTP/1.1\nHost: x\nX-API-Key: {http_account.key}\n\n"
    status, headers, body = parts(exchange(http_account.service, request))

    assert (status, headers.keys(), body) == (b"HTTP/1.1 204 No Content", COMMON, b"")


@pytest.mark.parametrize(
    ("request_head", "connection"),
    [
        ("GET /healthz HTTP/1.1\nHost: x\n", None),
        ("GET /healthz HTTP/1.1\nHost: x\nConnection: close\n", b"close"),
        ("GET /healthz HTTP/1.0\n", b"close"),
        ("GET /healthz HTTP/1.0\nConnection: keep-alive\n", b"keep-alive"),
    ],
    ids=["1.1", "1.1 close", "1.0", "1.0 keep-alive"],
)
def test_connection_header_follows_the_http_version(
    service: Service, request_head: str, connection: bytes | None
) -> None:
    headers = parts(exchange(service, f"{request_head}\n"))[1]

    assert headers.get(b"connection") == connection


def test_pipelined_requests_are_answered_in_order(service: Service) -> None:
    once = "GET /healthz HTTP/1.1\nHost: x\nX-Request-Id: {}\n\n"

    data = exchange(service, "".join(once.format(name) for name in "abc"), responses=3)

    assert re.findall(rb"X-Request-Id: (\w)", data) == [b"a", b"b", b"c"]


def test_client_that_does_not_read_its_response_is_disconnected() -> None:
    async def main() -> Transport:
        transport = Transport()
        request: Any = SimpleNamespace(
            transport=transport,
            writer=SimpleNamespace(drain=transport.drain),
            version=HttpVersion11,
            method="GET",
            keep_alive=True,
            is_draining=lambda: False,
            options=Options(write_seconds=0.02),
        )
        with pytest.raises(ConnectionResetError):
            await responses.Response(200, "abc", b"x" * responses.UNREAD_BYTES).prepare(request)
        return transport

    assert asyncio.run(main()).was_aborted
