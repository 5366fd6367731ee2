"""Authentication and scopes over every front."""

from __future__ import annotations

import base64
from typing import Any, cast

import grpc
import pytest
from grpc_status import rpc_status

from roster.v1 import tags_pb2
from rosterd.server.features.accounts.rules import make_secret

from ..conftest import Account
from ..fronts import GrpcFront, HttpFront
from .helpers import error_of, over_http


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


@over_http
def test_unauthorized_response_names_the_authentication_scheme(account: Account) -> None:
    assert isinstance(account.front, HttpFront)

    status, headers, _ = account.front.exchange("GET", "/api/tags")

    assert (status, headers["www-authenticate"]) == (401, "Bearer")


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


@pytest.mark.parametrize(
    "forged",
    [b"", b"\x08\x00", b"\x08\x63", b"\xff"],
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
