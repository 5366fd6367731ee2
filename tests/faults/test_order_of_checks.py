"""Order of checks: 401, then 413 and 415, then 403, then 400, 404, 409."""

from __future__ import annotations

from typing import Any, NamedTuple

from rosterd.http_gateway.body import MAX_BODY_BYTES
from rosterd.server.features.accounts.rules import make_secret

from ..behavior.helpers import MISSING_ID, error_of, over_http, send
from ..cases import each
from ..conftest import Account

pytestmark = over_http


class InvalidBody(NamedTuple):
    """A body that every operation rejects, with the status."""

    status: int
    body: bytes
    headers: dict[str, str]


UNREADABLE = [
    InvalidBody(413, b" " * (MAX_BODY_BYTES + 1), {}),
    InvalidBody(415, b"{}", {"Content-Type": "text/plain"}),
    InvalidBody(415, b"\x1f\x8b", {"Content-Encoding": "gzip"}),
]
INVALID = [
    InvalidBody(400, body, {})
    for body in (
        *(b"", b"{", b"[]", b"[" * 33 + b"]" * 33, b'{"nothing": 1}'),
        *(b'{"name": "a", "name": "b"}', b'{"name": 7, "label": 7}'),
        *(b'{"name": "", "label": ""}', rb'{"name": "\u0000", "label": "\u0000"}'),
    )
]


@each("path", ["/api/custom-fields", f"/api/tags/{MISSING_ID}"])
def test_key_is_checked_first_and_its_error_reveals_nothing_about_the_request(
    account: Account, path: str
) -> None:
    method = "POST" if path == "/api/custom-fields" else "PUT"
    # An unknown key, and only one request with each other one, as many would be throttled.
    unknown = account.with_key(make_secret())
    others = [account.with_key(key) for key in ("rk_x", "rk_" + "0" * 46)]

    responses = [
        *(send(unknown, method, path, each.body, headers=each.headers) for each in UNREADABLE),
        *(send(unknown, method, path, each.body) for each in INVALID),
        *(send(other, method, path, b"{") for other in others),
        send(unknown, "GET", "/api/tags?nothing=1&limit=x"),
        send(unknown, "DELETE", f"/api/tags/{MISSING_ID}", b"garbage"),
    ]

    found = [error_of(response) for response in responses]
    messages = [error.pop("message") for _, error in found]
    assert found == [(401, {"code": "Unauthorized", "details": []})] * len(found)
    # The message depends on the key only.
    assert len({*messages}) == 2
    assert messages.count(messages[-1]) == len(found) - len(others)


def test_unreadable_body_is_reported_before_the_scope_and_the_unverified_email(
    account: Account, unverified_account: Account
) -> None:
    reader = account.with_key(account.new_key("read"))
    for status, body, headers in UNREADABLE:
        assert send(reader, "POST", "/api/tags", body, headers=headers).status == status
        unverified = send(unverified_account, "POST", "/api/custom-fields", body, headers=headers)
        assert unverified.status == status


def test_scope_and_unverified_email_are_reported_before_errors_in_the_request(
    account: Account, unverified_account: Account
) -> None:
    reader = account.with_key(account.new_key("read"))
    forbidden = [send(reader, "POST", "/api/tags", each.body) for each in INVALID]
    forbidden.append(send(reader, "GET", "/api/keys?limit=x"))
    forbidden.append(send(reader, "POST", "/api/webhooks/x/test", b"garbage"))
    forbidden.append(reader.call("UpdateTag", id=MISSING_ID, name="vip"))
    unverified = [
        send(unverified_account, method, f"/api/custom-fields{path}", each.body)
        for each in INVALID
        for method, path in (("POST", ""), ("PATCH", f"/{MISSING_ID}"))
    ]

    assert {(each.status, each.code, *each.violations) for each in forbidden} == {
        (403, "Forbidden")
    }
    assert {(each.status, each.code, *each.violations) for each in unverified} == {
        (403, "EmailNotVerified")
    }
    reader = unverified_account.with_key(unverified_account.new_key("read"))
    reader.fails("Forbidden", "CreateCustomField", label="")


@each(
    ("rpc", "fields"),
    [
        ("ChangeSubscriberStatus", {"status": "NO_SUCH_STATUS"}),
        ("RemoveSubscriberTags", {"tags": [" "]}),
        ("UpdateSubscriber", {"email": "none"}),
        ("UpdateTag", {"name": ""}),
    ],
)
def test_errors_in_the_request_are_reported_before_a_missing_resource(
    account: Account, rpc: str, fields: dict[str, Any]
) -> None:
    account.fails("ValidationError", rpc, id=MISSING_ID, **fields)


def test_conflicts_are_reported_last(account: Account) -> None:
    account.ok("CreateTag", name="vip")

    account.fails("ValidationError", "CreateTag", name="vip", description="d" * 501)
    account.fails("TagNotFound", "UpdateTag", id=MISSING_ID, name="vip")
