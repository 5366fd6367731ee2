"""Redirects, compression and caching over both HTTP fronts."""

from __future__ import annotations

import gzip
import json

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


@pytest.mark.parametrize("path", PAGES)
def test_static_content_is_compressed_if_the_client_accepts_it(account: Account, path: str) -> None:
    _, plain, body = get(account, path)
    status, headers, compressed = get(account, path, Accept_Encoding="br, gzip;q=0.8")
    _, head, nothing = get(account, path, method="HEAD", Accept_Encoding="gzip")

    assert (status, headers["content-encoding"]) == (200, "gzip")
    assert gzip.decompress(compressed) == body
    assert len(compressed) < len(body) / 4
    assert "content-encoding" not in plain
    assert plain["vary"] == headers["vary"] == "Accept-Encoding"
    assert plain["cache-control"] == headers["cache-control"] == "no-cache"
    assert plain.get("content-security-policy") == headers.get("content-security-policy")
    assert plain["etag"] != headers["etag"]
    different = {"date": "", "x-request-id": ""}
    assert ({**head, **different}, nothing) == ({**headers, **different}, b"")


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


def test_list_page_is_compressed_if_the_client_accepts_it(account: Account) -> None:
    for number in range(20):
        account.ok("CreateSubscriber", email=f"a{number}@example.com", lastName="Lovelace")

    path = "/api/subscribers?limit=100"
    _, plain, body = get(account, path)
    _, headers, compressed = get(account, path, Accept_Encoding="gzip")
    _, head, _ = get(account, path, method="HEAD", Accept_Encoding="gzip")

    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "Accept-Encoding")
    assert (plain["vary"], "content-encoding" in plain) == ("Accept-Encoding", False)
    assert int(headers["content-length"]) == len(compressed) == int(head["content-length"])
    assert json.loads(gzip.decompress(compressed)) == json.loads(body)
    assert len(json.loads(body)["subscribers"]) == 20


def test_response_with_a_new_secret_is_not_compressed(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    body = {"url": f"https://example.com/{'a' * 1_100}"}
    status, headers, text = account.front.exchange(
        "POST", "/api/webhooks", account.key, body=json.dumps(body).encode(), headers=GZIP
    )

    assert (status, len(text) > 1_024) == (201, True)
    assert "content-encoding" not in headers
    assert "secret" in json.loads(text)
