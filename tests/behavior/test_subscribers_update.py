"""Updates of subscribers over every front."""

from __future__ import annotations

from typing import Any

import grpc
import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from roster.v1 import subscribers_pb2 as pb

from ..conftest import Account
from ..fronts import GrpcFront, error_response
from .helpers import MISSING_ID, over_http, send, tag_names


@pytest.fixture
def ada(account: Account) -> dict[str, Any]:
    """A confirmed subscriber with names and tags."""
    return create_ada(account)


def create_ada(account: Account) -> dict[str, Any]:
    created = account.ok(
        "CreateSubscriber",
        email="ada@example.com",
        firstName="Ada",
        lastName="Lovelace",
        isConfirmed=True,
        tags=["vip", "x"],
    )
    subscriber: dict[str, Any] = created["subscriber"]
    return subscriber


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ({}, {}),
        ({"firstName": "A."}, {"firstName": "A."}),
        ({"lastName": "King"}, {"lastName": "King"}),
        ({"firstName": ""}, {"firstName": ""}),
        ({"firstName": None, "lastName": None}, {"firstName": "", "lastName": ""}),
        ({"tags": None}, {"tags": []}),
        ({"email": None, "customFields": None}, {}),
        ({"tags": ["new", "VIP"]}, {"tags": ["new", "vip"]}),
        ({"tags": []}, {"tags": []}),
        ({"email": " ADA@example.com"}, {"email": "ADA@example.com"}),
        ({"email": "ada@example.com"}, {}),
        ({"email": "ada@example.org"}, {"email": "ada@example.org", "status": "UNCONFIRMED"}),
    ],
)
def test_update_subscriber_changes_only_the_given_keys(
    account: Account, ada: dict[str, Any], body: dict[str, Any], changed: dict[str, Any]
) -> None:
    response = account.call("UpdateSubscriber", id=ada["id"], **body)

    assert (response.status, response.body) == (200, {"subscriber": {**ada, **changed}})
    assert account.ok("GetSubscriber", id=ada["id"]) == response.body


@pytest.mark.parametrize("existing", ["bob@example.com", " BOB@Example.com"])
def test_update_subscriber_rejects_the_address_of_another(
    account: Account, ada: dict[str, Any], existing: str
) -> None:
    account.ok("CreateSubscriber", email="bob@example.com")

    error = account.fails(
        "SubscriberAlreadyExists", "UpdateSubscriber", id=ada["id"], email=existing, firstName="B"
    )

    assert error.status == 409
    assert account.ok("GetSubscriber", id=ada["id"])["subscriber"] == ada


@over_http
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_put_and_patch_are_partial_updates(
    account: Account, ada: dict[str, Any], method: str
) -> None:
    response = send(account, method, f"/api/subscribers/{ada['id']}", {"lastName": "King"})

    assert (response.status, response.body) == (200, {"subscriber": {**ada, "lastName": "King"}})


def update(account: Account, **request: Any) -> Any:
    """Sends an update over gRPC with this mask."""
    front = account.front
    assert isinstance(front, GrpcFront)
    metadata = [("authorization", f"Bearer {account.key}")]
    message = pb.UpdateSubscriberRequest(**request)
    return front.stub("UpdateSubscriber")(message, metadata=metadata, timeout=20).subscriber


def test_update_ignores_fields_outside_its_mask(grpc_account: Account) -> None:
    ada = create_ada(grpc_account)

    update(
        grpc_account,
        id=ada["id"],
        email="x@example.com",
        first_name="A.",
        tags=["new"],
        update_mask=FieldMask(paths=["first_name", "last_name"]),
    )

    after = grpc_account.ok("GetSubscriber", id=ada["id"])["subscriber"]
    assert after == {**ada, "firstName": "A.", "lastName": ""}
    assert tag_names(grpc_account) == ["vip", "x"]


def test_update_with_a_wildcard_mask_replaces_every_field(grpc_account: Account) -> None:
    ada = create_ada(grpc_account)

    update(
        grpc_account,
        id=ada["id"],
        email="ada@example.com",
        first_name="A.",
        update_mask=FieldMask(paths=["*"]),
    )

    after = grpc_account.ok("GetSubscriber", id=ada["id"])["subscriber"]
    assert after == {**ada, "firstName": "A.", "lastName": "", "tags": []}


@pytest.mark.parametrize("of", ["one that is there", MISSING_ID, "no id"])
@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("nickname", ""),
        ("status", ""),
        ("firstName", "; did you mean first_name?"),
        ("customFields", "; did you mean custom_fields?"),
        ("", ""),
    ],
)
def test_update_rejects_an_unknown_mask_path(
    grpc_account: Account, path: str, hint: str, of: str
) -> None:
    ada = create_ada(grpc_account)
    target = ada["id"] if of == "one that is there" else of

    with pytest.raises(grpc.RpcError) as error:
        update(
            grpc_account,
            id=target,
            first_name="A.",
            update_mask=FieldMask(paths=["first_name", path]),
        )

    response = error_response(error.value)
    assert (response.code, response.violations) == (
        "ValidationError",
        [("updateMask", "INVALID_VALUE")],
    )
    (detail,) = response.body["error"]["details"]
    assert detail["message"] == f"{path} cannot be updated{hint}"
    assert grpc_account.ok("GetSubscriber", id=ada["id"])["subscriber"] == ada
