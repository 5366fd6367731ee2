"""A gateway and a server of different versions: this one, and a copy with more fields and rpcs."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from rosterd.server.features.accounts.rules import make_secret

from .components import Component, free_port, running, status_of, wait_until
from .new_field import imports_of, insert_after, make_copy

pytestmark = pytest.mark.verify

KEY = make_secret()
# Requests with fields of the later version in the query, in the body, in a row, and in a row of a
# stream, and one for an rpc of the later version; and what the message names.
LATER_REQUESTS = [
    ("GET", "/api/subscribers?vipOnly=true", None, "vipOnly"),
    ("POST", "/api/subscribers", {"email": "new@b.io", "isVip": False}, "isVip"),
    (
        "POST",
        "/api/subscribers/bulk",
        {"subscribers": [{"email": "new@b.io"}, {"email": "b@b.io", "score": 1}]},
        "subscribers[1].score",
    ),
    (
        "POST",
        "/api/subscribers/import",
        {"email": "new@b.io", "phone": "1"},
        "subscribers[0].phone",
    ),
    ("GET", "/api/subscribers/a@b.io/score", None, "GetSubscriberScore"),
]
# The gateway does not compare versions, as if the server had been replaced a moment ago.
WITHOUT_COMPARISON = """
from rosterd.http_gateway.channel.version_skew import VersionSkew
from rosterd.server.__main__ import main

async def refresh(self): pass
VersionSkew.refresh = refresh
main()
"""


def add_more(protos: Path) -> None:
    """Adds a filter and an rpc to the copy."""
    file = protos / "subscribers.proto"
    insert_after(file, "message ListSubscribersRequest {", "  // New.\n  bool vip_only = 101;")
    insert_after(
        file,
        "service SubscriberService {",
        "  // New.",
        "  rpc GetSubscriberScore(GetSubscriberRequest) returns (GetSubscriberResponse) {",
        '    option (google.api.http) = {get: "/api/subscribers/{id}/score"};',
        '    option (access) = {scope: "read"};',
        "  }",
    )


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The program under which a process has the later version."""
    folder = tmp_path_factory.mktemp("later")
    make_copy(folder, add_more)
    return imports_of(folder)


@contextmanager
def server(folder: Path, port: int, **options: Any) -> Iterator[Component]:
    settings = {
        "ROSTER_DATABASE_URL": f"sqlite:///{folder / 'roster.db'}",
        "ROSTER_GRPC_ADDRESS": f"127.0.0.1:{port}",
        "ROSTER_BOOTSTRAP_API_KEY": KEY,
    }
    with running("serve-grpc", folder, **settings, **options) as component:
        yield component


def send(gateway: Component, method: str, path: str, body: Any = None) -> tuple[int, Any, Any]:
    """Returns the status, the body and the headers of a response."""
    data = None if body is None else json.dumps(body).encode()
    kind = "application/x-ndjson" if path.endswith("/import") else "application/json"
    headers = {"Authorization": f"Bearer {KEY}", "Content-Type": kind}
    request = urllib.request.Request(f"http://{gateway.http}{path}", data, headers, method=method)
    try:
        response = urllib.request.urlopen(request, timeout=30)
    except HTTPError as error:
        response = error
    return response.status, json.loads(response.read().splitlines()[0]), response.headers


def is_ready(gateway: Component) -> bool:
    return status_of(gateway.http, "/readyz") == 200


@pytest.mark.parametrize("code", ["", WITHOUT_COMPARISON], ids=["compared", "not compared"])
def test_earlier_server_rejects_requests_with_later_fields_until_it_is_updated(
    later: Any, tmp_path: Path, code: str
) -> None:
    port = free_port()
    with running(
        "serve-http", tmp_path, under=later, code=code, ROSTER_UPSTREAM=f"127.0.0.1:{port}"
    ) as gateway:
        with server(tmp_path, port):
            wait_until(lambda: is_ready(gateway), "the gateway is not ready")
            assert send(gateway, "POST", "/api/subscribers", {"email": "a@b.io"})[0] == 201
            # Before the comparison with a new connection, the server rejects these requests.
            method, path, body, named = LATER_REQUESTS[0]
            wait_until(
                lambda: bool(code) or named in str(send(gateway, method, path, body)),
                "no comparison",
            )

            for method, path, body, named in LATER_REQUESTS:
                status, response, headers = send(gateway, method, path, body)
                error = response["error"]
                # If the stream has started, the error is its last record.
                has_started = path.endswith("/import") and status == 200
                assert has_started or status == 503, (path, response)
                assert has_started or headers["Retry-After"] == "10"
                assert error["code"] == "Unavailable"
                assert "server is of an earlier version" in error["message"]
                # The server does not have the name of a field, only its number.
                assert code or named in error["message"]
                codes = [] if path.endswith("/score") else ["UNKNOWN_FIELD"]
                assert [each["code"] for each in error["details"]] == codes
            assert send(gateway, "GET", "/api/subscribers")[1]["total"] == 1

        with server(tmp_path, port, under=later):
            wait_until(lambda: is_ready(gateway), "the gateway is not ready")
            method, path, body, _ = LATER_REQUESTS[1]
            wait_until(
                lambda: send(gateway, method, path, body)[0] != 503, "the field is still rejected"
            )
            _, found, _ = send(gateway, "GET", "/api/subscribers/new@b.io")
            assert found["subscriber"]["isVip"] is False


def test_earlier_gateway_returns_the_responses_of_a_later_server(
    later: Any, tmp_path: Path
) -> None:
    port = free_port()
    with (
        server(tmp_path, port, under=later),
        running("serve-http", tmp_path, ROSTER_UPSTREAM=f"127.0.0.1:{port}") as gateway,
    ):
        wait_until(lambda: is_ready(gateway), "the gateway is not ready")
        status, created, _ = send(gateway, "POST", "/api/subscribers", {"email": "a@b.io"})
        assert (status, "score" in created["subscriber"]) == (201, False)
        assert send(gateway, "GET", "/api/subscribers?filter=isVip:*")[1]["total"] == 0
        status, body, _ = send(gateway, "GET", "/api/subscribers?vipOnly=true")
        assert (status, body["error"]["code"]) == (400, "ValidationError")
