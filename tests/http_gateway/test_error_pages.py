"""Errors of paths without an operation: a page for browsers, JSON for other clients."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from rosterd.http_gateway.options import Options

from .client import ReceivedResponse
from .page_service import exchange
from .serving import run

CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
HTML, JSON = "text/html; charset=utf-8", "application/json"
TYPES = {
    CHROMIUM: HTML,
    "text/html": HTML,
    "TEXT/HTML;level=1;Q=1": HTML,
    "text/*;q=0.5, application/json;q=0.4": HTML,
    "*/*": JSON,
    "application/json": JSON,
    "text/html, application/json": JSON,
    "text/html;q=0.8, application/json;q=0.9": JSON,
    "text/html;q=0": JSON,
    "text/html;q=0, */*;q=0.1": JSON,
    "image/avif,image/webp": JSON,
    "": JSON,
}


def send(method: str, path: str, body: bytes = b"", **headers: Any) -> ReceivedResponse:
    received: ReceivedResponse = run(exchange({}, method, path, body, **headers))
    return received


@pytest.mark.parametrize("accept", TYPES)
def test_unknown_path_gets_a_page_if_the_client_prefers_html(accept: str) -> None:
    got = send("GET", "/nothing", Accept=accept)

    assert (got.status, got.headers["content-type"]) == (404, TYPES[accept])
    assert got.headers["vary"].startswith("Accept")
    if TYPES[accept] == JSON:
        assert json.loads(got.body)["error"]["code"] == "RouteNotFound"


def test_page_names_the_api_and_links_to_its_documentation() -> None:
    text = send("GET", "/nothing", Accept=CHROMIUM).body.decode()

    assert "<title>404 Not Found – Roster</title>" in text
    assert "No route matches this path." in text
    assert "<code>/api</code>" in text
    assert 'href="/docs"' in text
    other = run(exchange({}, "GET", "/nothing", options=Options(), Accept=CHROMIUM)).body.decode()
    assert "<title>404 Not Found – API</title>" in other
    assert "roster" not in other.lower()


def test_page_loads_nothing_and_is_not_framed() -> None:
    headers = send("GET", "/nothing", Accept=CHROMIUM).headers

    assert headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-content-type-options"] == "nosniff"


def test_page_is_compressed_and_head_has_no_body() -> None:
    got = send("GET", "/nothing", Accept=CHROMIUM, Accept_Encoding="gzip")
    head = send("HEAD", "/nothing", Accept=CHROMIUM, Accept_Encoding="gzip")

    assert b"<h1>" in gzip.decompress(got.body)
    assert got.headers["vary"] == "Accept, Accept-Encoding"
    assert head.status == 404
    volatile = {"date", "x-request-id"}
    assert {n: v for n, v in head.headers.items() if n not in volatile} == {
        n: v for n, v in got.headers.items() if n not in volatile
    }


@pytest.mark.parametrize(("method", "content_type"), [("GET", HTML), ("DELETE", JSON)])
def test_method_that_a_path_does_not_allow_gets_a_page_only_when_it_is_opened(
    method: str, content_type: str
) -> None:
    got = send(method, "/files/1", Accept=CHROMIUM)

    assert (got.status, got.headers["content-type"]) == (405, content_type)
    assert got.headers["allow"] == "OPTIONS, PUT"
    assert b"This path allows only OPTIONS, PUT." in got.body
    assert b"/api" not in got.body


def test_other_methods_on_an_unknown_path_get_json() -> None:
    got = send("POST", "/nothing", b"{}", Accept=CHROMIUM)

    assert (got.status, got.headers["content-type"]) == (404, JSON)


def test_error_of_an_operation_is_json_in_a_browser_too() -> None:
    got = send("GET", "/items", Accept=CHROMIUM)

    assert (got.status, got.headers["content-type"]) == (501, JSON)
