"""Operations without a request body accept an empty body or {} and reject any other."""

from __future__ import annotations

from typing import Any

from rosterd.http_gateway.body import MAX_BODY_BYTES

from ..behavior.deliveries import create_webhook
from ..behavior.helpers import MISSING_ID
from ..cases import each
from ..conftest import Account
from ..fronts import METHODS, UNARY, HttpFront, Response, binding, path_variables
from .test_http import address_of, both_http, send_raw

pytestmark = both_http

WITHOUT_BODY = sorted(rpc for rpc in METHODS if not binding(rpc)[2])
# They need no key.
PAGES = {rpc for rpc in METHODS if rpc.endswith("Page")}
INVALID = {
    "garbage": b"garbage",
    "a key": b'{"id": "x"}',
    "an array": b"[]",
    "null": b"null",
    "only whitespace": b" ",
    "something after the object": b"{} x",
    "another encoding": b"\xff\xfe{\x00}\x00",
}
HEADERS: dict[str, tuple[int, bytes, dict[str, str]]] = {
    "another content type": (415, b"{}", {"Content-Type": "text/plain"}),
    "compressed": (415, b"\x1f\x8b", {"Content-Encoding": "gzip"}),
    "too large": (413, b" " * (MAX_BODY_BYTES + 1), {}),
}


def send(
    account: Account,
    rpc: str,
    body: bytes,
    *,
    key: str | None = "",
    headers: dict[str, str] | None = None,
    **variables: str,
) -> Response:
    """Calls an rpc with these bytes as its body, by default on a resource that does not exist."""
    assert isinstance(account.front, HttpFront)
    method, path, _ = binding(rpc)
    for variable in path_variables(rpc):
        path = path.replace(f"{{{variable}}}", variables.get(variable, MISSING_ID))
    sent = account.key if key == "" else key
    return account.front.send(method, path, sent, body=body, headers=headers)


@each("rpc", WITHOUT_BODY)
def test_any_other_body_is_rejected_before_the_resource_is_read(account: Account, rpc: str) -> None:
    for body in INVALID.values():
        refused = send(account, rpc, body)
        assert (refused.status, refused.code) == (400, "ValidationError"), body


@each("rpc", WITHOUT_BODY)
def test_unreadable_body_is_rejected_by_its_headers(account: Account, rpc: str) -> None:
    for status, body, headers in HEADERS.values():
        assert send(account, rpc, body, headers=headers).status == status


# Not every combination: the services throttle an address that sends many invalid keys.
@each(
    ("rpc", "body", "headers"),
    {rpc: (rpc, b"garbage", {}) for rpc in WITHOUT_BODY if rpc not in PAGES}
    | {name: ("ListTags", body, {}) for name, body in INVALID.items()}
    | {name: ("ListTags", *rest) for name, (_, *rest) in HEADERS.items()},
)
def test_missing_key_is_reported_before_the_body(
    account: Account, rpc: str, body: bytes, headers: dict[str, str]
) -> None:
    assert send(account, rpc, body, key=None, headers=headers).code == "Unauthorized"


def test_scope_is_reported_before_errors_in_the_body(account: Account) -> None:
    reader, headers = account.new_key("read"), {"Content-Type": "text/plain"}

    for rpc in ("TestWebhook", "RotateWebhookSecret", "DeleteTag", "ListApiKeys"):
        assert send(account, rpc, b"garbage", key=reader).code == "Forbidden", rpc
        assert send(account, rpc, b"{}", key=reader, headers=headers).status == 415, rpc


@each("rpc", sorted(set(WITHOUT_BODY) & set(UNARY)))
def test_empty_body_and_empty_object_are_equivalent(account: Account, rpc: str) -> None:
    # An empty body has no type that could be wrong.
    empty = send(account, rpc, b"", headers={"Content-Type": "text/plain"})

    assert empty.status in (200, 404)
    for body in (b"{}", b" { } \n"):
        assert send(account, rpc, body).status == empty.status


def test_rejected_test_and_rotation_have_no_effect(account: Account) -> None:
    created = create_webhook(account, url="http://127.0.0.1:9/", enabled=False)

    for rpc in ("TestWebhook", "RotateWebhookSecret", "DeleteWebhook"):
        refused = send(account, rpc, b'{"nothing": 1}', id=created["id"])
        assert (refused.status, refused.violations) == (400, [("nothing", "UNKNOWN_FIELD")])

    listed: dict[str, Any] = account.ok("ListWebhookDeliveries", webhookId=created["id"])
    assert listed["deliveries"] == []
    assert account.ok("GetWebhook", id=created["id"])["webhook"] == created


@each(
    ("chunks", "status"),
    [([], 404), ([b"{", b"}"], 404), ([b"{", b'"a": 1}'], 400)],
)
def test_chunked_body_is_read_to_its_end(
    account: Account, chunks: list[bytes], status: int
) -> None:
    head = (
        f"POST /api/webhooks/{MISSING_ID}/test HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Authorization: Bearer {account.key}\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    sent = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])

    assert send_raw(address_of(account), head.encode() + sent).status == status
