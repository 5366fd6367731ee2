"""Redirects, compression and caching over both HTTP fronts."""

from __future__ import annotations

import json
import re

import pytest

from ..conftest import Account
from ..fronts import HttpFront
from .helpers import over_http

pytestmark = over_http
PAGES = ("/docs", "/docs/webhooks", "/openapi.json")
GZIP = {"Accept-Encoding": "gzip"}


def get(
    account: Account, path: str, *, method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Requests a path. Header names are written with _ instead of -."""
    assert isinstance(account.front, HttpFront)
    body = {name.replace("_", "-"): value for name, value in headers.items()}
    return account.front.exchange(method, path, account.key, headers=body)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(("path", "status"), [("/", 302), ("/docs/", 308)])
def test_root_redirects_to_the_reference(
    account: Account, method: str, path: str, status: int
) -> None:
    got, headers, body = get(account, path, method=method)

    assert (got, headers["location"], headers["content-length"], body) == (
        status,
        "/docs",
        "0",
        b"",
    )


def test_guides_and_reference_show_the_grpc_port_of_the_service(account: Account) -> None:
    for path in ("/docs", "/docs/guides/quick-start"):
        _, _, page = get(account, path)

        text = re.sub(b"<[^>]+>", b"", page)
        assert (account.service.grpc.encode() in text, b":50051" in text) == (True, False), path


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_matching_etag_returns_not_modified(
    account: Account, path: str, method: str, encoding: str
) -> None:
    _, cached, _ = get(account, path, Accept_Encoding=encoding)
    tag = cached["etag"]

    for named in (tag, f'"other", W/{tag}', "*"):
        status, headers, body = get(
            account, path, method=method, Accept_Encoding=encoding, If_None_Match=named
        )
        assert (status, body) == (304, b"")
        assert [headers[name] for name in ("etag", "vary", "cache-control")] == [
            cached[name] for name in ("etag", "vary", "cache-control")
        ]
        assert "content-length" not in headers
    assert get(account, path, Accept_Encoding=encoding, If_None_Match='"other"')[0] == 200
    other = "identity" if encoding == "gzip" else "gzip"
    assert get(account, path, Accept_Encoding=other, If_None_Match=tag)[0] == 200


def test_response_with_a_new_secret_is_not_compressed(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    body = {"url": f"https://example.com/{'a' * 1_100}"}
    status, headers, text = account.front.exchange(
        "POST", "/api/webhooks", account.key, body=json.dumps(body).encode(), headers=GZIP
    )

    assert (status, len(text) > 1_024) == (201, True)
    assert "content-encoding" not in headers
    assert "secret" in json.loads(text)
