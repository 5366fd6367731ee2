"""What is looked at first: 401, then 413 and 415, then 403, then 400, 404, 409."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from http_gateway.body import MAX_BODY_BYTES
from server.accounts.rules import make_secret

from ..conftest import Account
from ..fronts import HttpFront, Response
from .test_http import both_http

pytestmark = both_http

MISSING_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


class Wrong(NamedTuple):
    """A body that every operation rejects."""

    status: int
    body: bytes
    headers: dict[str, str]


WRONG = {
    "too large": Wrong(413, b" " * (MAX_BODY_BYTES + 1), {}),
    "plain text": Wrong(415, b"{}", {"Content-Type": "text/plain"}),
    "another charset": Wrong(415, b"{}", {"Content-Type": "application/json; charset=latin-1"}),
    "compressed": Wrong(415, b"\x1f\x8b", {"Content-Encoding": "gzip"}),
    "empty": Wrong(400, b"", {}),
    "not JSON": Wrong(400, b"{", {}),
    "no object": Wrong(400, b"[]", {}),
    "too deep": Wrong(400, b"[" * 33 + b"]" * 33, {}),
    "a key twice": Wrong(400, b'{"name": "a", "name": "b"}', {}),
    "an unknown key": Wrong(400, b'{"nothing": 1}', {}),
    "a wrong type": Wrong(400, b'{"name": 7, "label": 7}', {}),
    "a wrong value": Wrong(400, b'{"name": "", "label": ""}', {}),
    "NUL": Wrong(400, rb'{"name": "\u0000", "label": "\u0000"}', {}),
}
# Other than unknown ones.
KEYS = {"no key": None, "malformed": "rk_x", "wrong checksum": "rk_" + "0" * 46}

each_wrong = pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
each_400 = pytest.mark.parametrize(
    "wrong", [pytest.param(w, id=name) for name, w in WRONG.items() if w.status == 400]
)
each_413_and_415 = pytest.mark.parametrize(
    "wrong", [pytest.param(w, id=name) for name, w in WRONG.items() if w.status != 400]
)


def send(account: Account, method: str, path: str, wrong: Wrong) -> Response:
    assert isinstance(account.front, HttpFront)
    return account.front.send(method, path, account.key, body=wrong.body, headers=wrong.headers)


# Not every combination: the services throttle an address that sends many invalid keys.
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/custom-fields"), ("PUT", f"/api/tags/{MISSING_ID}")],
    ids=["POST", "PUT"],
)
@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        *(pytest.param("", wrong, id=name) for name, wrong in WRONG.items()),
        *(pytest.param(key, WRONG["not JSON"], id=name) for name, key in KEYS.items()),
    ],
)
def test_invalid_key_is_reported_before_errors_in_the_body(
    account: Account, method: str, path: str, key: str | None, wrong: Wrong
) -> None:
    assert isinstance(account.front, HttpFront)
    sent = make_secret() if key == "" else key

    answer = account.front.send(method, path, sent, body=wrong.body, headers=wrong.headers)

    error: dict[str, Any] = answer.body["error"]
    assert answer.status == 401
    assert {**error, "requestId": ""} == {
        "code": "Unauthorized",
        "message": "A valid API key is required.",
        "details": [],
        "requestId": "",
    }


@pytest.mark.parametrize("query", ["limit=x", "nothing=1", "limit=1&limit=1", "%ff=1"])
def test_without_a_valid_key_nothing_is_learnt_of_a_query(account: Account, query: str) -> None:
    assert isinstance(account.front, HttpFront)

    assert account.front.send("GET", f"/api/tags?{query}").code == "Unauthorized"


@each_413_and_415
def test_a_body_that_cannot_be_read_comes_before_the_scope(account: Account, wrong: Wrong) -> None:
    reader = account.with_key(account.new_key("read"))

    assert send(reader, "POST", "/api/tags", wrong).status == wrong.status


@each_413_and_415
def test_a_body_that_cannot_be_read_comes_before_the_verified_email(
    unverified_account: Account, wrong: Wrong
) -> None:
    assert send(unverified_account, "POST", "/api/custom-fields", wrong).status == wrong.status


@each_400
def test_the_scope_comes_before_the_faults_of_a_body(account: Account, wrong: Wrong) -> None:
    reader = account.with_key(account.new_key("read"))

    answer = send(reader, "POST", "/api/tags", wrong)

    assert (answer.status, answer.code) == (403, "Forbidden")
    assert answer.faults == []


@each_400
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/api/custom-fields"), ("PATCH", f"/api/custom-fields/{MISSING_ID}")],
    ids=["POST", "PATCH"],
)
def test_the_verified_email_comes_before_the_faults_of_a_body(
    unverified_account: Account, method: str, path: str, wrong: Wrong
) -> None:
    answer = send(unverified_account, method, path, wrong)

    assert (answer.status, answer.code) == (403, "EmailNotVerified")
    assert answer.faults == []


def test_the_scope_comes_before_the_verified_email(unverified_account: Account) -> None:
    reader = unverified_account.with_key(unverified_account.new_key("read"))

    reader.fails("Forbidden", "CreateCustomField", label="")


def test_the_scope_comes_before_the_faults_of_a_query(account: Account) -> None:
    reader = account.with_key(account.new_key("read"))
    assert isinstance(reader.front, HttpFront)

    assert reader.front.send("GET", "/api/keys?limit=x", reader.key).code == "Forbidden"


def test_the_scope_comes_before_what_is_missing(account: Account) -> None:
    reader = account.with_key(account.new_key("read"))

    reader.fails("Forbidden", "UpdateTag", id=MISSING_ID, name="vip")


@each_wrong
def test_the_faults_of_a_body_come_before_what_is_missing(account: Account, wrong: Wrong) -> None:
    assert send(account, "PUT", f"/api/tags/{MISSING_ID}", wrong).status == wrong.status


@pytest.mark.parametrize(
    ("rpc", "given"),
    [
        ("ChangeSubscriberStatus", {}),
        ("ChangeSubscriberStatus", {"status": "NO_SUCH_STATUS"}),
        ("AddSubscriberTags", {"tags": []}),
        ("RemoveSubscriberTags", {"tags": [" "]}),
        ("UpdateSubscriber", {"email": "none"}),
    ],
)
def test_the_faults_of_a_request_come_before_a_subscriber_that_is_missing(
    account: Account, rpc: str, given: dict[str, Any]
) -> None:
    account.fails("ValidationError", rpc, id=MISSING_ID, **given)


def test_the_faults_of_a_body_come_before_what_is_taken(account: Account) -> None:
    account.ok("CreateTag", name="vip")

    account.fails("ValidationError", "CreateTag", name="vip", description="d" * 501)


def test_what_is_missing_comes_before_what_is_taken(account: Account) -> None:
    account.ok("CreateTag", name="vip")

    account.fails("TagNotFound", "UpdateTag", id=MISSING_ID, name="vip")
