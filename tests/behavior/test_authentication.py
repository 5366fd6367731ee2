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


def test_errors_tell_what_to_send_but_not_whether_a_key_exists(account: Account) -> None:
    key, other = account.key, account.new_key("admin")
    basic = base64.b64encode(f"{key}:".encode()).decode()
    send = "Send an API key as 'Authorization: Bearer rk_...', an HTTP header or gRPC metadata."
    scheme = f"The authorization scheme must be Bearer. {send}"
    malformed = (
        "This is not a complete API key. A key is rk_ and 46 letters and digits; copy it again."
    )
    unusable = "This API key does not exist, was revoked or has expired."
    different = "The call has two different API keys. Send one."
    wrong: dict[str, tuple[str, list[tuple[str, str]]]] = {
        "no key": (send, []),
        "empty": (send, [("Authorization", "")]),
        "scheme alone": (send, [("Authorization", "Bearer")]),
        "no scheme": (scheme, [("Authorization", key)]),
        "another scheme": (scheme, [("Authorization", f"Basic {basic}")]),
        "malformed": (malformed, [("Authorization", "Bearer secret")]),
        "too short": (malformed, [("Authorization", f"Bearer {key[:-1]}")]),
        "too long": (malformed, [("Authorization", f"Bearer {key}0")]),
        "twice in one": (malformed, [("Authorization", f"Bearer {key} {key}")]),
        "wrong checksum": (malformed, [("X-API-Key", wrong_checksum(key))]),
        "unknown": (unusable, [("Authorization", f"Bearer {make_secret()}")]),
        "revoked": (unusable, [("Authorization", f"Bearer {revoked(account)}")]),
        "expired": (unusable, [("X-API-Key", account.new_key("admin", expires_at=1))]),
        "two different": (different, [("Authorization", f"Bearer {key}"), ("X-API-Key", other)]),
        "one valid": (different, [("Authorization", "Bearer secret"), ("X-API-Key", key)]),
    }
    if isinstance(account.front, HttpFront):
        # The placeholder in the documentation. Clients of gRPC send only ASCII.
        in_latin_1 = "rk_…".encode().decode("latin-1")
        wrong["placeholder"] = (malformed, [("Authorization", f"Bearer {in_latin_1}")])

    responses = {name: call_with(account, *headers) for name, (_, headers) in wrong.items()}

    assert {status for status, _ in responses.values()} <= {401, 16}
    others = set()
    for name, (message, _) in wrong.items():
        start, found, end = repr(responses[name]).replace('"', "'").partition(message)
        assert found, (name, responses[name])
        others.add((start, end))
    # Everything but the message is the same.
    assert len(others) == 1


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
