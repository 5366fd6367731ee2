"""One line a call, where it came in."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from ..fronts import HttpFront
from ..parts import wait_until
from .helpers import lines_of


@pytest.mark.parametrize("front_and_service", ["http"], indirect=True)
def test_a_request_in_process_is_one_line_with_what_both_sides_know(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    body = b'{"name": "vip"}'
    _, headers, answer = account.front.exchange("POST", "/api/tags", account.key, body=body)

    (line,) = lines_of(account.service.log, headers["x-request-id"])

    assert line.pop("time") > "2026"
    assert line.pop("ms") > 0
    assert line == {
        "level": "info",
        "message": "call",
        "method": "POST",
        "status": 201,
        "rpc": "TagService.CreateTag",
        "code": "OK",
        "received": len(body),
        "sent": len(answer),
        "account": account.id,
        "requestId": headers["x-request-id"],
    }


@pytest.mark.parametrize("front_and_service", ["http-over-grpc"], indirect=True)
def test_a_request_over_a_socket_is_a_line_on_either_side_of_it(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    _, headers, _ = account.front.exchange("GET", "/api/tags", account.key)
    log, request_id = account.service.log, headers["x-request-id"]

    wait_until(lambda: len(lines_of(log, request_id)) == 2, "two lines")

    server, gateway = sorted(lines_of(log, request_id), key=lambda line: "status" in line)
    assert (server["rpc"], server["code"], server["account"]) == (
        "TagService.ListTags",
        "OK",
        account.id,
    )
    assert (gateway["rpc"], gateway["status"]) == ("TagService.ListTags", 200)
    assert server["sent"] > 0


@pytest.mark.parametrize("front_and_service", ["http"], indirect=True)
@pytest.mark.parametrize(
    ("method", "path", "key", "body", "expected"),
    [
        ("POST", "/api/tags", True, b"{", (400, "TagService.CreateTag", "INVALID_ARGUMENT")),
        ("GET", "/api/tags", False, None, (401, "TagService.ListTags", "UNAUTHENTICATED")),
        ("GET", "/nothing", False, None, (404, None, None)),
        ("DELETE", "/api/tags", True, None, (405, None, None)),
        ("PROPFIND", "/api/tags", True, None, (405, None, None)),
        ("GET", "/openapi.json", False, None, (200, None, None)),
    ],
)
def test_what_was_refused_has_a_line_as_well(
    account: Account,
    method: str,
    path: str,
    key: bool,
    body: bytes | None,
    expected: tuple[Any, ...],
) -> None:
    assert isinstance(account.front, HttpFront)
    sent = account.key if key else None
    _, headers, _ = account.front.exchange(method, path, sent, body=body)

    (line,) = lines_of(account.service.log, headers["x-request-id"])

    assert (line["status"], line.get("rpc"), line.get("code")) == expected
    assert line["method"] == (method if method != "PROPFIND" else "OTHER")
