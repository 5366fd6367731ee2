"""Requests of web pages of other origins."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from grpc import StatusCode

from rosterd.http_gateway.cross_origin import CrossOrigin
from rosterd.http_gateway.options import Options
from rosterd.http_gateway.routing.bindings import InvalidBinding, bindings_of
from rosterd.http_gateway.routing.routes import Routes
from rosterd.server.serving.gateway_policy import POLICY

from ..cases import each
from .client import Client, ReceivedResponse
from .page_service import SERVICE, Rule, exchange, fail, reply, request, service_of
from .serving import OPTIONS, WITHOUT_REQUEST_ERRORS, gateway_to, run

ORIGIN = "https://www.example.com"
ALLOWED = replace(OPTIONS, cors_origins=frozenset({ORIGIN, "http://[::1]:3000"}))
ANY = replace(OPTIONS, cors_origins=frozenset({"*"}))
HEADERS = {
    "access-control-allow-origin": ORIGIN,
    "access-control-expose-headers": "X-Request-Id, Retry-After",
}


def cors_of(response: ReceivedResponse) -> dict[str, str]:
    return {k: v for k, v in response.headers.items() if k.startswith("access-control-")}


async def create(request: Any, context: Any) -> Any:
    if request.name == "taken":
        await fail(context, StatusCode.RESOURCE_EXHAUSTED, "RATE_LIMITED", retry_after="7")
    if request.name == "unauthorized":
        await fail(context, StatusCode.UNAUTHENTICATED, "UNAUTHORIZED")
    if request.name == "broken":
        raise RuntimeError
    return reply("CreateItem", id="1")


async def give_page(_request: Any, _context: Any) -> Any:
    return reply("GetPage", content_type="text/html")


def send(
    method: str, path: str, body: bytes = b"", options: Options = ALLOWED, **headers: str
) -> ReceivedResponse:
    handlers = {"CreateItem": create, "ListItems": create, "GetPage": give_page}
    received: ReceivedResponse = run(
        exchange(handlers, method, path, body, options=options, **headers)
    )
    return received


def preflight(
    origin: str = ORIGIN, method: str = "POST", path: str = "/items", options: Options = ALLOWED
) -> ReceivedResponse:
    headers = {"Origin": origin, "Access_Control_Request_Method": method}
    return send("OPTIONS", path, options=options, **headers)


def test_preflight_of_an_allowed_origin_is_accepted() -> None:
    got = preflight()

    assert got.status == 204
    assert cors_of(got) == {
        "access-control-allow-origin": ORIGIN,
        "access-control-allow-methods": "POST",
        "access-control-allow-headers": "authorization, content-type, idempotency-key, x-api-key",
        "access-control-max-age": "7200",
    }
    assert got.headers["vary"] == (
        "Origin, Access-Control-Request-Method, Access-Control-Request-Headers"
    )
    assert got.headers["allow"] == "GET, HEAD, OPTIONS, POST"


def test_preflight_of_any_origin_is_accepted_if_all_are_allowed() -> None:
    assert preflight("null", options=ANY).headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"origin": "https://www.example.com.evil.example"}, id="longer origin"),
        pytest.param({"origin": "http://www.example.com"}, id="other scheme"),
        pytest.param({"origin": "null"}, id="null"),
        pytest.param({"origin": "https://é"}, id="not ASCII"),
        pytest.param({"method": "GET"}, id="other method"),
        pytest.param({"method": "GET", "path": "/pages/1"}, id="other path"),
        pytest.param({"path": "/docs"}, id="page of the gateway"),
        pytest.param({"options": OPTIONS}, id="no origins allowed"),
    ],
)
def test_other_preflight_gets_no_permission(arguments: dict[str, Any]) -> None:
    got = preflight(**arguments)

    assert (got.status, cors_of(got)) == (204, {})
    assert "allow" in got.headers


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{}", {}, 200),
        (b"{", {}, 400),
        (b'{"name": "unauthorized"}', {}, 401),
        (b"{}", {"Content_Type": "text/plain"}, 415),
        (b'{"name": "taken"}', {}, 429),
        (b'{"name": "broken"}', {}, 500),
    ],
)
def test_every_response_of_the_binding_is_visible_to_an_allowed_origin(
    body: bytes, headers: dict[str, str], status: int
) -> None:
    options = replace(ALLOWED, policy=WITHOUT_REQUEST_ERRORS)

    got = send("POST", "/items", body, options, Origin=ORIGIN, **headers)

    assert got.status == status
    assert cors_of(got) == HEADERS
    assert got.headers["vary"] == "Origin"
    assert status != 429 or got.headers["retry-after"] == "7"


def test_response_is_visible_to_every_origin_if_all_are_allowed() -> None:
    got = send("POST", "/items", b"{}", ANY, Origin="https://other.example")

    assert cors_of(got) == {**HEADERS, "access-control-allow-origin": "*"}
    assert got.headers["vary"] == "Origin"


@pytest.mark.parametrize(
    ("method", "path", "origin"),
    [
        ("POST", "/items", "https://other.example"),
        ("POST", "/items", ""),
        ("GET", "/items", ORIGIN),
        ("GET", "/pages/1", ORIGIN),
        ("GET", "/healthz", ORIGIN),
    ],
)
def test_response_to_another_request_has_no_cors_headers(
    method: str, path: str, origin: str
) -> None:
    headers = {"Origin": origin} if origin else {}

    got = send(method, path, b"{}" if method == "POST" else b"", **headers)

    assert (got.status, cors_of(got)) == (200, {})
    assert "vary" not in got.headers


@pytest.mark.parametrize("pieces", [1, 2], ids=["whole", "in pieces"])
@pytest.mark.parametrize(
    ("path", "origin", "expected"),
    [("/items", ORIGIN, HEADERS), ("/items", "https://other.example", {}), ("/any", ORIGIN, {})],
)
def test_rejection_by_an_overloaded_gateway_is_visible_to_an_allowed_origin(
    path: str, origin: str, expected: dict[str, str], pieces: int
) -> None:
    async def main() -> ReceivedResponse:
        started, gate = asyncio.Event(), asyncio.Event()

        async def wait(_request: Any, _context: Any) -> Any:
            started.set()
            await gate.wait()
            return reply("CreateItem")

        options = replace(ALLOWED, max_calls=1)
        async with gateway_to(
            "in-process", service=SERVICE, options=options, CreateItem=wait
        ) as runner:
            first = asyncio.ensure_future(request(runner, "POST", "/items", b"{}"))
            await started.wait()
            client = await Client.to(runner)
            sent = f"POST {path}?a HTTP/1.1\r\nHost: x\r\nOrigin: {origin}\r\n\r\n".encode()
            await client.raw(sent[: len(sent) // pieces])
            if pieces > 1:
                await asyncio.sleep(0.01)
                await client.raw(sent[len(sent) // pieces :])
            got = await client.response()
            gate.set()
            await first
            return got

    got = run(main())

    assert (got.status, got.headers["retry-after"]) == (503, "1")
    assert cors_of(got) == expected
    assert got.headers.get("vary") == ("Origin" if expected else None)


def test_streaming_rpc_with_the_option_is_rejected() -> None:
    service = service_of(CreateItem=("*Item", Rule(post="/items", body="*")))

    with pytest.raises(InvalidBinding, match="cross_origin is not supported for streaming"):
        list(bindings_of(service, POLICY.annotations))


@each(
    ("url", "target"),
    {
        f"{ORIGIN}/thanks?a=b#c": f"{ORIGIN}/thanks?a=b#c",
        f"{ORIGIN}/danke schön": f"{ORIGIN}/danke%20sch%C3%B6n",
        "http://[::1]:3000/x": "http://[::1]:3000/x",
        f"{ORIGIN}/\r\nX-Header: 1": f"{ORIGIN}/%0D%0AX-Header:%201",
        "": None,
        "/thanks": None,
        "//www.example.com/": None,
        "http://www.example.com/": None,
        f"{ORIGIN}:444/": None,
        f"{ORIGIN}.evil.example/": None,
        f"{ORIGIN}@evil.example/": None,
        f"{ORIGIN}\\@evil.example/": None,
        "javascript:alert(1)//https://www.example.com": None,
    }.items(),
)
def test_forms_redirect_only_to_urls_of_origins_that_are_named(
    url: str, target: str | None
) -> None:
    routes = Routes([SERVICE], POLICY.annotations)

    assert CrossOrigin(ALLOWED, routes).redirect_url(url) == target
    assert CrossOrigin(ANY, routes).redirect_url(url) is None
