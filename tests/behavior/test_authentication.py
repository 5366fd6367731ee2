"""Authentication and scopes over every front."""

from __future__ import annotations

import base64
from typing import Any, cast

import grpc
import pytest
from grpc_status import rpc_status

from roster.v1 import http_pb2, tags_pb2
from rosterd.server.features.accounts.rules import make_secret

from ..conftest import Account
from ..fronts import UNARY, GrpcFront, HttpFront, binding, path_variables
from .helpers import MISSING_ID, error_of, over_http, send

SCOPES = ("signup", "read", "write", "admin")
SCOPE_OF = {
    rpc: method.GetOptions().Extensions[http_pb2.access].scope for rpc, method in UNARY.items()
}
SCOPE_AND_FORBIDDEN_RPC = [
    (scope, rpc)
    for scope in SCOPES
    for rpc, needed in SCOPE_OF.items()
    if SCOPES.index(needed) > SCOPES.index(scope) or (scope, needed) == ("read", "signup")
]


def call_with(account: Account, *headers: tuple[str, str]) -> tuple[int, Any]:
    """Lists tags with these headers or metadata. Returns the status, and the result or error."""
    if isinstance(account.front, HttpFront):
        response = account.front.send("GET", "/api/tags", headers=dict(headers))
        return (
            error_of(response)
            if response.status >= 400
            else (response.status, response.body["total"])
        )
    assert isinstance(account.front, GrpcFront)
    metadata = [(name.lower(), value) for name, value in headers]
    try:
        request = tags_pb2.ListTagsRequest()
        reply = account.front.stub("ListTags")(request, metadata=metadata, timeout=20)
    except grpc.RpcError as error:
        status = rpc_status.from_call(cast(grpc.Call, error))
        assert status is not None
        return status.code, (status.message, [bytes(d.value) for d in status.details[:-1]])
    return 200, reply.total


def wrong_checksum(key: str) -> str:
    """Returns the key with its last character changed."""
    return key[:-1] + ("0" if key[-1] != "0" else "1")


def revoked(account: Account) -> str:
    created = account.ok("CreateApiKey", name="old", scope="admin")
    account.ok("RevokeApiKey", id=created["apiKey"]["id"])
    secret: str = created["secret"]
    return secret


def test_every_invalid_key_gets_the_same_error(account: Account) -> None:
    key, other = account.key, account.new_key("admin")
    basic = base64.b64encode(f"{key}:".encode()).decode()
    wrong: dict[str, list[tuple[str, str]]] = {
        "no key": [],
        "empty": [("Authorization", "")],
        "scheme alone": [("Authorization", "Bearer")],
        "no scheme": [("Authorization", key)],
        "another scheme": [("Authorization", f"Basic {basic}")],
        "malformed": [("Authorization", "Bearer secret")],
        "too short": [("Authorization", f"Bearer {key[:-1]}")],
        "too long": [("Authorization", f"Bearer {key}0")],
        "twice in one": [("Authorization", f"Bearer {key} {key}")],
        "wrong checksum": [("Authorization", f"Bearer {wrong_checksum(key)}")],
        "unknown": [("Authorization", f"Bearer {make_secret()}")],
        "revoked": [("Authorization", f"Bearer {revoked(account)}")],
        "expired": [("Authorization", f"Bearer {account.new_key('admin', expires_at=1)}")],
        "two different": [("Authorization", f"Bearer {key}"), ("X-API-Key", other)],
        "one valid and one invalid": [("Authorization", "Bearer secret"), ("X-API-Key", key)],
    }

    responses = {name: call_with(account, *headers) for name, headers in wrong.items()}

    first = responses["no key"]
    assert first[0] == (401 if isinstance(account.front, HttpFront) else 16)
    assert {name: response for name, response in responses.items() if response != first} == {}


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_authentication_scheme_is_case_insensitive(account: Account, scheme: str) -> None:
    assert call_with(account, ("Authorization", f"{scheme} {account.key}")) == (200, 0)


def test_key_is_accepted_in_x_api_key(account: Account) -> None:
    assert call_with(account, ("X-API-Key", account.key)) == (200, 0)


def test_same_key_is_accepted_in_both_headers(account: Account) -> None:
    both = [("Authorization", f"Bearer {account.key}"), ("X-API-Key", account.key)]

    assert call_with(account, *both) == (200, 0)


@over_http
def test_unauthorized_response_names_the_authentication_scheme(account: Account) -> None:
    assert isinstance(account.front, HttpFront)

    status, headers, _ = account.front.exchange("GET", "/api/tags")

    assert (status, headers["www-authenticate"]) == (401, "Bearer")


@pytest.mark.one_front_per_case
@pytest.mark.parametrize("rpc", UNARY)
def test_every_operation_requires_a_key(account: Account, rpc: str) -> None:
    error = account.front.call(rpc, None, request_of(rpc))

    assert (error.status, error.code) == (401, "Unauthorized")


def request_of(rpc: str) -> dict[str, Any]:
    """Returns a request with the path variables only."""
    return dict.fromkeys(path_variables(rpc), MISSING_ID)


@pytest.mark.one_front_per_case
@pytest.mark.parametrize(
    ("scope", "rpc"),
    SCOPE_AND_FORBIDDEN_RPC,
    ids=[" ".join(pair) for pair in SCOPE_AND_FORBIDDEN_RPC],
)
def test_key_cannot_call_operations_above_its_scope(account: Account, scope: str, rpc: str) -> None:
    limited = account.with_key(account.new_key(scope))

    assert limited.fails("Forbidden", rpc, **request_of(rpc)).status == 403


BODIES = [b"", b"{", b"[]", b'{"nope": 1}', b'{"a": 1, "a": 2}', b"\xff"]
OPERATIONS_WITH_BODY = sorted({binding(rpc)[:2] for rpc in UNARY if binding(rpc)[2]})


@pytest.mark.one_front_per_case
@over_http
@pytest.mark.parametrize(
    ("method", "path"), OPERATIONS_WITH_BODY, ids=[" ".join(pair) for pair in OPERATIONS_WITH_BODY]
)
def test_call_without_a_key_reveals_nothing_about_an_invalid_body(
    account: Account, method: str, path: str
) -> None:
    unauthenticated = account.with_key(wrong_checksum(account.key))
    path = path.replace("{id}", MISSING_ID)

    responses = [error_of(send(unauthenticated, method, path, body)) for body in BODIES]

    assert responses[0][0] == 401
    assert responses == [responses[0]] * len(BODIES)


@over_http
@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_write_with_a_read_key_is_forbidden_for_any_body(account: Account, body: bytes) -> None:
    reader = account.with_key(account.new_key("read"))

    error = send(reader, "POST", "/api/custom-fields", body)

    assert (error.status, error.code) == (403, "Forbidden")


@over_http
@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_unverified_account_gets_email_not_verified_for_any_body(
    unverified_account: Account, body: bytes
) -> None:
    error = send(unverified_account, "POST", "/api/custom-fields", body)

    assert (error.status, error.code) == (403, "EmailNotVerified")


def test_unverified_account_gets_email_not_verified_before_validation_errors(
    unverified_account: Account,
) -> None:
    unverified_account.fails("EmailNotVerified", "CreateCustomField", label="x" * 81)


def test_read_key_of_an_unverified_account_gets_forbidden_first(
    unverified_account: Account,
) -> None:
    reader = unverified_account.with_key(unverified_account.new_key("read"))

    reader.fails("Forbidden", "CreateCustomField", label="Town")


def test_spoofed_identity_headers_are_ignored(account: Account, other_account: Account) -> None:
    other_account.ok("CreateTag", name="secret")
    spoofed = [
        (name, other_account.id)
        for name in (
            "X-Account-Id",
            "Account-Id",
            "X-Roster-Account",
            "X-User-Id",
            "X-Forwarded-User",
            "Remote-User",
            "Roster-Caller",
            "X-Key-Id",
        )
    ]
    claims = [("X-Scope", "admin"), ("X-Roster-Scope", "admin"), ("X-Email-Verified", "true")]
    reader = account.new_key("read")

    assert call_with(account, *spoofed, *claims)[0] in (401, 16)
    assert call_with(account, ("Authorization", f"Bearer {reader}"), *spoofed, *claims) == (200, 0)


@over_http
def test_gateway_metadata_cannot_be_sent_as_headers(account: Account) -> None:
    spoofed = {"Roster-Fault-Bin": "CAI", "Grpc-Encoding": "gzip", "Grpc-Metadata-Account": "x"}

    assert send(account, "GET", "/api/tags", headers=spoofed).status == 200


@pytest.mark.parametrize(
    "forged",
    [b"", b"\x08\x00", b"\x08\x63", b"\xff"],
    ids=["empty", "no reason", "unknown reason", "malformed"],
)
def test_forged_gateway_metadata_does_not_hang_a_call(grpc_account: Account, forged: bytes) -> None:
    front = grpc_account.front
    assert isinstance(front, GrpcFront)
    metadata = [("authorization", f"Bearer {grpc_account.key}"), ("roster-fault-bin", forged)]
    call = front.stub("ListTags").with_call

    try:
        code = call(tags_pb2.ListTagsRequest(), metadata=metadata, timeout=3)[1].code()
    except grpc.RpcError as error:
        code = error.code()

    assert code in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)


@over_http
@pytest.mark.parametrize(
    "headers",
    [
        {"X-Scope": "admin", "X-Roster-Scope": "admin", "X-Account-Scope": "admin"},
        {"X-HTTP-Method-Override": "GET", "X-Method-Override": "GET"},
    ],
    ids=["scope", "method"],
)
def test_spoofed_headers_do_not_grant_a_higher_scope(
    account: Account, headers: dict[str, str]
) -> None:
    reader = account.with_key(account.new_key("read"))

    error = send(reader, "POST", "/api/tags", {"name": "vip"}, headers=headers)

    assert (error.status, error.code) == (403, "Forbidden")
