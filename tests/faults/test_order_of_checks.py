"""Order of checks: 401, then 413 and 415, then 403, then 400, 404, 409."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from rosterd.http_gateway.body import MAX_BODY_BYTES
from rosterd.server.features.accounts.rules import make_secret

from ..cases import each
from ..conftest import Account
from ..fronts import HttpFront, Response
from .test_http import both_http

pytestmark = both_http

MISSING_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


class InvalidBody(NamedTuple):
    """A body that every operation rejects, with the status."""

    status: int
    body: bytes
    headers: dict[str, str]


INVALID_BODIES = {
    "too large": InvalidBody(413, b" " * (MAX_BODY_BYTES + 1), {}),
    "plain text": InvalidBody(415, b"{}", {"Content-Type": "text/plain"}),
    "another charset": InvalidBody(
        415, b"{}", {"Content-Type": "application/json; charset=latin-1"}
    ),
    "compressed": InvalidBody(415, b"\x1f\x8b", {"Content-Encoding": "gzip"}),
    "empty": InvalidBody(400, b"", {}),
    "not JSON": InvalidBody(400, b"{", {}),
    "no object": InvalidBody(400, b"[]", {}),
    "too deep": InvalidBody(400, b"[" * 33 + b"]" * 33, {}),
    "a key twice": InvalidBody(400, b'{"name": "a", "name": "b"}', {}),
    "an unknown key": InvalidBody(400, b'{"nothing": 1}', {}),
    "a invalid type": InvalidBody(400, b'{"name": 7, "label": 7}', {}),
    "a invalid value": InvalidBody(400, b'{"name": "", "label": ""}', {}),
    "NUL": InvalidBody(400, rb'{"name": "\u0000", "label": "\u0000"}', {}),
}
# An unknown key has a test of its own.
KEYS = {"no key": None, "malformed": "rk_x", "invalid checksum": "rk_" + "0" * 46}

each_invalid_body = each("invalid", INVALID_BODIES)
each_400 = each("invalid", {name: w for name, w in INVALID_BODIES.items() if w.status == 400})
each_413_and_415 = each(
    "invalid", {name: w for name, w in INVALID_BODIES.items() if w.status != 400}
)


def send(account: Account, method: str, path: str, invalid: InvalidBody) -> Response:
    assert isinstance(account.front, HttpFront)
    return account.front.send(method, path, account.key, body=invalid.body, headers=invalid.headers)


# Not every combination: the services throttle an address that sends many invalid keys.
@each(
    ("method", "path"),
    [("POST", "/api/custom-fields"), ("PUT", f"/api/tags/{MISSING_ID}")],
)
@each(
    ("key", "invalid"),
    {name: ("", invalid) for name, invalid in INVALID_BODIES.items()}
    | {name: (key, INVALID_BODIES["not JSON"]) for name, key in KEYS.items()},
)
def test_invalid_key_is_reported_before_errors_in_the_body(
    account: Account, method: str, path: str, key: str | None, invalid: InvalidBody
) -> None:
    assert isinstance(account.front, HttpFront)
    sent = make_secret() if key == "" else key

    response = account.front.send(method, path, sent, body=invalid.body, headers=invalid.headers)

    error: dict[str, Any] = response.body["error"]
    assert response.status == 401
    assert {**error, "requestId": ""} == {
        "code": "Unauthorized",
        "message": "A valid API key is required.",
        "details": [],
        "requestId": "",
    }


@each("query", ["limit=x", "nothing=1", "limit=1&limit=1", "%ff=1"])
def test_invalid_key_is_reported_before_errors_in_the_query(account: Account, query: str) -> None:
    assert isinstance(account.front, HttpFront)

    assert account.front.send("GET", f"/api/tags?{query}").code == "Unauthorized"


@pytest.fixture
def reader(account: Account) -> Account:
    """The account through a key that may only read."""
    return account.with_key(account.new_key("read"))


@each_413_and_415
def test_unreadable_body_is_reported_before_the_scope(
    reader: Account, invalid: InvalidBody
) -> None:
    assert send(reader, "POST", "/api/tags", invalid).status == invalid.status


@each_413_and_415
def test_unreadable_body_is_reported_before_the_unverified_email(
    unverified_account: Account, invalid: InvalidBody
) -> None:
    assert send(unverified_account, "POST", "/api/custom-fields", invalid).status == invalid.status


@each_400
def test_scope_is_reported_before_errors_in_the_body(reader: Account, invalid: InvalidBody) -> None:
    response = send(reader, "POST", "/api/tags", invalid)

    assert (response.status, response.code) == (403, "Forbidden")
    assert response.violations == []


@each_400
@each(
    ("method", "path"),
    [("POST", "/api/custom-fields"), ("PATCH", f"/api/custom-fields/{MISSING_ID}")],
)
def test_unverified_email_is_reported_before_errors_in_the_body(
    unverified_account: Account, method: str, path: str, invalid: InvalidBody
) -> None:
    response = send(unverified_account, method, path, invalid)

    assert (response.status, response.code) == (403, "EmailNotVerified")
    assert response.violations == []


def test_scope_is_reported_before_the_unverified_email(unverified_account: Account) -> None:
    reader = unverified_account.with_key(unverified_account.new_key("read"))

    reader.fails("Forbidden", "CreateCustomField", label="")


def test_scope_is_reported_before_errors_in_the_query(reader: Account) -> None:
    assert isinstance(reader.front, HttpFront)

    assert reader.front.send("GET", "/api/keys?limit=x", reader.key).code == "Forbidden"


def test_scope_is_reported_before_a_missing_resource(reader: Account) -> None:
    reader.fails("Forbidden", "UpdateTag", id=MISSING_ID, name="vip")


@each_invalid_body
def test_errors_in_the_body_are_reported_before_a_missing_resource(
    account: Account, invalid: InvalidBody
) -> None:
    assert send(account, "PUT", f"/api/tags/{MISSING_ID}", invalid).status == invalid.status


@each(
    ("rpc", "fields"),
    [
        ("ChangeSubscriberStatus", {}),
        ("ChangeSubscriberStatus", {"status": "NO_SUCH_STATUS"}),
        ("AddSubscriberTags", {"tags": []}),
        ("RemoveSubscriberTags", {"tags": [" "]}),
        ("UpdateSubscriber", {"email": "none"}),
    ],
)
def test_errors_in_the_request_are_reported_before_a_missing_subscriber(
    account: Account, rpc: str, fields: dict[str, Any]
) -> None:
    account.fails("ValidationError", rpc, id=MISSING_ID, **fields)


def test_errors_in_the_body_are_reported_before_a_duplicate_name(account: Account) -> None:
    account.ok("CreateTag", name="vip")

    account.fails("ValidationError", "CreateTag", name="vip", description="d" * 501)


def test_missing_resource_is_reported_before_a_duplicate_name(account: Account) -> None:
    account.ok("CreateTag", name="vip")

    account.fails("TagNotFound", "UpdateTag", id=MISSING_ID, name="vip")
