"""The session cookie: its name, its attributes, and which requests it is read from."""

from __future__ import annotations

from ipaddress import ip_network
from types import SimpleNamespace
from typing import Any

import pytest
from multidict import CIMultiDict

from rosterd.http_gateway.cookies import Cookies
from rosterd.http_gateway.options import Options
from rosterd.http_gateway.policy import CookiePolicy, Policy
from rosterd.http_gateway.request_errors import RequestError

from ..cases import each

POLICY = Policy(cookie=CookiePolicy("app", 60))
PROXY, CLIENT = "192.0.2.1", "203.0.113.7"


def cookies(path: str = "") -> Cookies:
    return Cookies(Options(policy=POLICY, trusted_proxies=(ip_network(PROXY),), path=path))


def request(host: str, *, tls: bool = False, remote: str = CLIENT, **headers: str) -> Any:
    return SimpleNamespace(
        secure=tls,
        host=host,
        remote=remote,
        headers=CIMultiDict({name.replace("_", "-"): each for name, each in headers.items()}),
        response_headers={},
    )


def binding(*, public: bool = False, takes_cookie: bool = True, cookie: str | None = None) -> Any:
    return SimpleNamespace(is_public=public, takes_cookie=takes_cookie, cookie=cookie)


SIGN_IN = binding(public=True, takes_cookie=False, cookie="token")
HOST, SECURE = "__Host-app=t; Path=/", "; HttpOnly; SameSite=Strict; Secure"


@each(
    ("sent", "path", "cookie"),
    [
        (request("a.example", tls=True), "", f"{HOST}; Max-Age=60{SECURE}"),
        (
            request("a.example", remote=PROXY, X_Forwarded_Proto="http, https"),
            "",
            f"{HOST}; Max-Age=60{SECURE}",
        ),
        (
            request("a.example", tls=True),
            "/mail",
            f"__Secure-app=t; Path=/mail; Max-Age=60{SECURE}",
        ),
        (
            request("localhost:8080"),
            "",
            "app-8080=t; Path=/; Max-Age=60; HttpOnly; SameSite=Strict",
        ),
        (request("[::1]"), "", "app-80=t; Path=/; Max-Age=60; HttpOnly; SameSite=Strict"),
        (request("a.localhost:1"), "", "app-1=t; Path=/; Max-Age=60; HttpOnly; SameSite=Strict"),
        (request("a.example"), "", None),
        (request("localhost.a.example"), "", None),
        (request("0.0.0.0:80"), "", None),
        (request("a.example", remote=PROXY, X_Forwarded_Proto="https, http"), "", None),
        # Of a client that is no trusted proxy.
        (request("a.example", X_Forwarded_Proto="https"), "", None),
        (request("a.example:x", tls=True), "", None),
        (request("", tls=True), "", None),
    ],
)
def test_cookie_is_named_and_protected_as_the_connection_allows(
    sent: Any, path: str, cookie: str | None
) -> None:
    sent.headers["Sec-Fetch-Site"] = "same-origin"

    assert cookies(path).headers(sent, "t").get("Set-Cookie") == cookie

    if cookie is None:
        with pytest.raises(RequestError) as raised:
            cookies(path).metadata(sent, SIGN_IN)
        assert raised.value.error.reason == "HTTPS_REQUIRED"
    else:
        assert cookies(path).metadata(sent, SIGN_IN) == ()
        deleted = cookies(path).headers(sent, "")["Set-Cookie"]
        assert deleted == cookie.replace("=t;", "=;").replace("Max-Age=60", "Max-Age=0")


@each(
    ("host", "tls", "origin", "accepted"),
    [
        ("a.example", True, "https://a.example", True),
        ("A.example:443", True, "https://a.example", True),
        ("a.example:8443", True, "https://a.example:8443", True),
        ("[::1]:8080", False, "http://[::1]:8080", True),
        ("a.example:8443", True, "https://a.example", False),
        ("a.example", True, "http://a.example", False),
        ("a.example", True, "https://b.a.example", False),
        # The proxy has replaced the host.
        ("127.0.0.1:8080", False, "https://a.example", False),
    ],
)
def test_origin_is_compared_with_scheme_host_and_port(
    host: str, tls: bool, origin: str, accepted: bool
) -> None:
    sent = request(host, tls=tls, Origin=origin, Sec_Fetch_Site="same-origin")

    if accepted:
        assert cookies().metadata(sent, SIGN_IN) == ()
    else:
        with pytest.raises(RequestError) as raised:
            cookies().metadata(sent, SIGN_IN)
        assert raised.value.error.reason == "CROSS_ORIGIN_REQUEST"


@each(
    ("name", "first", "second"),
    [
        ("Origin", "https://a.example", "https://b.example"),
        ("Sec-Fetch-Site", "same-origin", "cross-site"),
    ],
)
def test_every_value_of_a_repeated_header_must_prove_the_origin(
    name: str, first: str, second: str
) -> None:
    sent = request("a.example", tls=True)
    sent.headers.add(name, first)
    assert cookies().metadata(sent, SIGN_IN) == ()

    sent.headers.add(name, second)

    with pytest.raises(RequestError):
        cookies().metadata(sent, SIGN_IN)


@each(
    ("text", "tokens"),
    [
        ("__Host-app=t", ["t"]),
        ("a=1; __Host-app=t; b", ["t"]),
        ("__Host-app=t=u", ["t=u"]),
        ("__Host-app=t; __Host-app=u", ["t", "u"]),
        ("__Host-app=ü", ["unprintable"]),
        ("app=t; __host-app=t; x__Host-app=t; __Host-app2=t; __Secure-app=t", []),
        ("__Host-app", []),
        ("", []),
    ],
)
def test_tokens_are_read_from_cookies_of_the_exact_name(text: str, tokens: list[str]) -> None:
    sent = request("a.example", tls=True, Cookie=text, Sec_Fetch_Site="same-origin")

    assert cookies().metadata(sent, binding()) == tuple(("session", token) for token in tokens)
    assert sent.response_headers == ({"Cache-Control": "no-store"} if tokens else {})
    assert cookies().metadata(sent, binding(takes_cookie=False)) == ()
    assert cookies().metadata(sent, binding(public=True)) == ()


def test_header_with_credentials_replaces_the_cookie() -> None:
    sent = request("a.example", tls=True, Cookie="__Host-app=t", Authorization="Bearer key")

    assert cookies().metadata(sent, binding()) == ()
