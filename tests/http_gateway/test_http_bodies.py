"""Requests and responses that are a google.api.HttpBody, over both channels."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from google.api import httpbody_pb2
from grpc import StatusCode

from roster.v1 import errors_pb2
from rosterd.http_gateway.body import MAX_BODY_BYTES
from rosterd.server.rpc.errors import REQUEST_ERROR_METADATA

from .client import ReceivedResponse
from .page_service import exchange, fail, reply
from .serving import run

PAGE = b"<!doctype html><title>\xc3\x89</title>"
HTML = "text/html; charset=utf-8"
FORM = "application/x-www-form-urlencoded"
MULTIPART = 'multipart/form-data; boundary="x"'

each_channel = pytest.mark.parametrize("kind", ["real", "in-process"])


class Pages:
    """Returns a page for every rpc, and records the last request."""

    def __init__(self, page: bytes = PAGE, content_type: str = HTML, **trailing: str) -> None:
        self.page, self.content_type = page, content_type
        self.trailing = tuple((name.replace("_", "-"), text) for name, text in trailing.items())
        self.request: Any = None
        self.error: errors_pb2.Error | None = None

    async def get(self, message: Any, context: Any) -> Any:
        self.request = message
        metadata = dict(context.invocation_metadata())
        if REQUEST_ERROR_METADATA in metadata:
            self.error = errors_pb2.Error.FromString(metadata[REQUEST_ERROR_METADATA])
        context.set_trailing_metadata(self.trailing)
        return reply("GetPage", content_type=self.content_type, data=self.page)

    async def store(self, message: Any, _context: Any) -> Any:
        self.request = message
        return reply("StoreFile", id="1", name=message.form.content_type)

    def send(self, method: str, path: str, body: bytes = b"", **options: Any) -> ReceivedResponse:
        handlers = {"GetPage": self.get, "SubmitPage": self.get, "StoreFile": self.store}
        received: ReceivedResponse = run(exchange(handlers, method, path, body, **options))
        return received


@pytest.mark.parametrize("content_type", ["", "text/html\r\nSet-Cookie: a=b", "text/é"])
def test_invalid_content_type_of_an_http_body_is_replaced(content_type: str) -> None:
    got = Pages(content_type=content_type).send("GET", "/pages/1")

    assert (got.status, got.body) == (200, PAGE)
    assert got.headers["content-type"] == "application/octet-stream"
    assert "set-cookie" not in got.headers


def test_text_is_compressed_and_other_data_is_not() -> None:
    page = PAGE * 100

    html = Pages(page, vary="Accept-Language").send("GET", "/pages/1", Accept_Encoding="gzip")
    image = Pages(page, "image/png").send("GET", "/pages/1", Accept_Encoding="gzip")

    assert gzip.decompress(html.body) == page
    assert html.headers["content-encoding"] == "gzip"
    assert html.headers["vary"] == "Accept-Language, Accept-Encoding"
    assert image.body == page
    assert "vary" not in image.headers


@each_channel
@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (FORM, b"List-Unsubscribe=One-Click"),
        (MULTIPART, b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--\r\n'),
        ("application/json", b"{"),
        ("text/plain; charset=latin1", b"\xff\x00"),
        ("", b"a=b"),
    ],
)
def test_body_of_any_media_type_reaches_the_server_unchanged(
    kind: str, content_type: str, body: bytes
) -> None:
    pages = Pages()
    headers = {"Content_Type": content_type} if content_type else {}

    got = pages.send("POST", "/pages/1", body, kind=kind, **headers)

    assert (got.status, got.body, got.headers["content-type"]) == (200, PAGE, HTML)
    assert pages.request.id == "1"
    assert (pages.request.form.content_type, pages.request.form.data) == (content_type, body)
    assert pages.error is None


def test_start_of_a_form_that_is_too_large_reaches_the_server_as_binary_data() -> None:
    pages = Pages()

    got = pages.send("POST", "/pages/1", b"a" * (MAX_BODY_BYTES + 1))

    assert (got.status, pages.error) == (200, None)
    assert pages.request.form.content_type == "application/octet-stream"
    assert pages.request.form.data == b"a" * 65_536


@pytest.mark.parametrize("headers", [{"Content_Encoding": "br"}, {"Content_Type": "text/é"}])
def test_form_that_cannot_be_read_reaches_the_server_as_binary_data(
    headers: dict[str, str],
) -> None:
    pages = Pages()

    got = pages.send("POST", "/pages/1", b"a=b", **headers)

    assert (got.status, pages.error) == (200, None)
    assert pages.request.form.content_type == "application/octet-stream"
    assert pages.request.form.data == b"a=b"


@each_channel
def test_failed_call_returns_its_http_body_with_the_status_of_the_error(kind: str) -> None:
    page = httpbody_pb2.HttpBody(content_type=HTML, data=PAGE)

    async def get(_request: Any, context: Any) -> None:
        metadata = {"cache_control": "no-store", "x_robots_tag": "noindex"}
        await fail(context, StatusCode.NOT_FOUND, "TAG_NOT_FOUND", page, **metadata)

    got = run(exchange({"GetPage": get}, "GET", "/pages/1", kind=kind))

    assert (got.status, got.body, got.headers["content-type"]) == (404, PAGE, HTML)
    assert (got.headers["cache-control"], got.headers["x-robots-tag"]) == ("no-store", "noindex")


def test_failed_call_without_an_http_body_returns_json() -> None:
    async def get(_request: Any, context: Any) -> None:
        await fail(context, StatusCode.NOT_FOUND, "TAG_NOT_FOUND")

    got = run(exchange({"GetPage": get}, "GET", "/pages/1"))

    assert (got.status, got.headers["content-type"]) == (404, "application/json")
    assert json.loads(got.body)["error"]["code"] == "TagNotFound"
