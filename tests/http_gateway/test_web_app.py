"""A web application behind the gateway: its files, its start page for all paths, and redirects."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from rosterd.http_gateway.options import Options, WebApp
from rosterd.http_gateway.routing.bindings import InvalidBinding

from .client import ReceivedResponse
from .page_service import exchange
from .serving import run
from .test_error_pages import CHROMIUM, HTML

POLICY = "default-src 'self'"
SCRIPT = "assets/app-0A1B2C3D.js"
CODE = b"let number = 1;\n" * 100


@pytest.fixture
def options(tmp_path: Path) -> Options:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(f'<script src="{{{{base}}}}{SCRIPT}"></script>')
    (tmp_path / SCRIPT).write_bytes(CODE)
    app = WebApp("/app/", tmp_path, POLICY, {"X-Robots-Tag": "noindex"})
    return Options(web_app=app, path="/behind/proxy")


def send(options: Options, path: str, method: str = "GET", **headers: Any) -> ReceivedResponse:
    received: ReceivedResponse = run(exchange({}, method, path, options=options, **headers))
    return received


@pytest.mark.parametrize(
    "path", ["/app/", "/app/items/7", "/app/items/a%2Fb?q=1", "/app/index.html"]
)
def test_paths_below_the_prefix_get_the_start_page_with_its_headers(
    options: Options, path: str
) -> None:
    got = send(options, path)

    assert got.status == 200
    assert got.body.decode() == f'<script src="/behind/proxy/app/{SCRIPT}"></script>'
    assert got.headers["content-type"] == HTML
    assert got.headers["content-security-policy"] == POLICY
    assert got.headers["x-robots-tag"] == "noindex"
    assert got.headers["cache-control"] == "no-store"


def test_assets_are_immutable_and_compressed_and_have_entity_tags(options: Options) -> None:
    plain = send(options, f"/app/{SCRIPT}")
    compressed = send(options, f"/app/{SCRIPT}", **{"Accept-Encoding": "gzip"})
    head = send(options, f"/app/{SCRIPT}", "HEAD")
    known = send(options, f"/app/{SCRIPT}", **{"If-None-Match": plain.headers["etag"]})

    assert (plain.body, gzip.decompress(compressed.body)) == (CODE, CODE)
    assert plain.headers["content-type"] == "text/javascript; charset=utf-8"
    assert plain.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert plain.headers["etag"] != compressed.headers["etag"]
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", str(len(CODE)))
    assert (known.status, known.body) == (304, b"")


@pytest.mark.parametrize(
    "path", ["/app/assets/app-OLD.js", "/app/assets/", "/app/assets/../index.html"]
)
def test_asset_that_does_not_exist_is_not_the_start_page(options: Options, path: str) -> None:
    assert send(options, path, Accept=CHROMIUM).status == 404


def test_other_methods_are_rejected(options: Options) -> None:
    got = send(options, "/app/items", "POST")

    assert (got.status, got.headers["allow"]) == (405, "GET, HEAD, OPTIONS")


@pytest.mark.parametrize(("accept", "url"), [(CHROMIUM, "/behind/proxy/app/"), ("*/*", "/docs")])
def test_root_leads_browsers_to_the_application(options: Options, accept: str, url: str) -> None:
    got = send(options, "/", Accept=accept)

    assert (got.status, got.headers["location"], got.headers["vary"]) == (302, url, "Accept")


def test_prefix_without_its_slash_is_redirected(options: Options) -> None:
    got = send(options, "/app")

    assert (got.status, got.headers["location"]) == (308, "/behind/proxy/app/")


def test_binding_for_the_path_of_the_application_stops_the_start(options: Options) -> None:
    app = options.web_app
    assert app is not None
    taken = Options(web_app=WebApp("/items/", app.folder, POLICY, {}))

    with pytest.raises(InvalidBinding, match="a page of the gateway"):
        send(taken, "/")
