"""Custom field values of subscribers over every front."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from google.protobuf.field_mask_pb2 import FieldMask

from roster.v1 import subscribers_pb2 as pb

from ..conftest import Account
from ..fronts import GrpcFront, HttpFront
from .helpers import (
    create_field,
    create_subscriber,
    over_http,
    stored,
    tag_names,
)

TYPES = {"town": "TEXT", "age": "NUMBER", "member": "BOOLEAN", "born": "DATE"}
VALUES = {"town": "Paris", "age": 36, "member": True, "born": "1815-12-10"}

VALID: list[tuple[str, Any]] = [
    ("town", ""),
    ("town", " \n kept\t"),
    ("town", "🎈" * 1_000),
    ("age", 0),
    ("age", 0.1),
    ("age", -0.0),
    ("age", 1e300),
    ("age", 2**53),
    ("member", True),
    ("born", "1815-12-10"),
    ("born", "2026-01-31T10:20:30Z"),
    ("born", "2026-01-31T10:20:30.123+02:00"),
]
INVALID: list[tuple[str, Any, str]] = [
    ("town", 5, "INVALID_TYPE"),
    ("town", ["Paris"], "INVALID_TYPE"),
    ("town", "x" * 1_001, "TOO_LONG"),
    ("age", "36", "INVALID_TYPE"),
    ("age", False, "INVALID_TYPE"),
    ("member", 1, "INVALID_TYPE"),
    ("member", "true", "INVALID_TYPE"),
    ("born", 18151210, "INVALID_TYPE"),
    ("born", "10.12.1815", "INVALID_FORMAT"),
    ("born", "2026-02-29", "INVALID_FORMAT"),
    ("born", "2026-01-31T25:00:00Z", "INVALID_FORMAT"),
    ("nope", "x", "UNKNOWN_FIELD"),
    ("nope", None, "UNKNOWN_FIELD"),
]


def case_id(case: tuple[Any, ...]) -> str:
    return re.sub(r"\W+", " ", f"{case[0]} {json.dumps(case[1])[:30]}")


@pytest.fixture
def fields(account: Account) -> dict[str, dict[str, Any]]:
    """A custom field of each data type, by key."""
    return create_fields(account)


def create_fields(account: Account) -> dict[str, dict[str, Any]]:
    return {key: create_field(account, key, data_type) for key, data_type in TYPES.items()}


def are_equal(one: Any, other: Any) -> bool:
    """Returns whether two values are equal, including the sign of zero. 5 equals 5.0."""
    both_numbers = {type(one), type(other)} <= {int, float}
    return repr(float(one)) == repr(float(other)) if both_numbers else repr(one) == repr(other)


@pytest.mark.each_database
@pytest.mark.usefixtures("fields")
@pytest.mark.parametrize(("key", "value"), VALID, ids=map(case_id, VALID))
def test_value_is_returned_as_it_was_sent(account: Account, key: str, value: Any) -> None:
    created = create_subscriber(account, customFields={key: value})

    assert are_equal(created["customFields"].pop(key), value)
    assert created["customFields"] == {}
    assert are_equal(stored(account, created)["customFields"][key], value)


@over_http
@pytest.mark.usefixtures("fields")
@pytest.mark.parametrize("number", ["5", "-0.0", "0.1", "1e+300", "9007199254740992"])
def test_number_is_returned_in_the_same_notation(account: Account, number: str) -> None:
    assert isinstance(account.front, HttpFront)
    body = f'{{"email":"ada@example.com","customFields":{{"age":{number}}}}}'.encode()

    created = account.front.exchange("POST", "/api/subscribers", account.key, body=body)[2]
    listed = account.front.exchange("GET", "/api/subscribers", account.key)[2]

    for text in (created, listed):
        assert re.findall(rb'"customFields":\{"age":([^}]+)\}', text) == [number.encode()]


@pytest.mark.usefixtures("fields")
@pytest.mark.parametrize(("key", "value", "code"), INVALID, ids=map(case_id, INVALID))
def test_invalid_value_is_reported_and_changes_nothing(
    account: Account, key: str, value: Any, code: str
) -> None:
    ada = create_subscriber(account, customFields=VALUES)
    sent = {"born": "2026-01-31", key: value}

    created = account.fails(
        "ValidationError",
        "CreateSubscriber",
        email="b@example.com",
        tags=["new"],
        customFields=sent,
    )
    updated = account.fails(
        "ValidationError", "UpdateSubscriber", id=ada["id"], firstName="A.", customFields=sent
    )

    assert created.violations == updated.violations == [(f"customFields.{key}", code)]
    assert account.ok("ListSubscribers")["subscribers"] == [ada]
    assert tag_names(account) == []


@pytest.mark.usefixtures("fields")
@pytest.mark.parametrize(
    "body",
    [{}, {"customFields": {}}, {"customFields": None}, {"customFields": {"town": None}}],
)
def test_subscriber_without_values_has_no_custom_fields_key(
    account: Account, body: dict[str, Any]
) -> None:
    created = create_subscriber(account, **body)
    bulk = account.ok("BulkCreateSubscribers", subscribers=[{"email": "bob@example.com", **body}])

    assert "customFields" not in created
    assert bulk == {"failed": []}
    assert [s for s in account.ok("ListSubscribers")["subscribers"] if "customFields" in s] == []


@pytest.mark.each_database
@pytest.mark.usefixtures("fields")
@pytest.mark.parametrize(
    ("body", "after"),
    [
        ({"customFields": {"town": "Rome"}}, {**VALUES, "town": "Rome"}),
        ({"customFields": {"age": 37, "member": False}}, {**VALUES, "age": 37, "member": False}),
        (
            {"customFields": {"town": None, "age": 1}},
            {"age": 1, "member": True, "born": "1815-12-10"},
        ),
        ({"customFields": VALUES}, VALUES),
        ({"customFields": {}}, VALUES),
        ({"customFields": None}, VALUES),
        ({"firstName": "A.", "tags": ["x"]}, VALUES),
        ({"email": "ada@example.org"}, VALUES),
    ],
)
def test_update_merges_values_into_the_stored_ones(
    account: Account, body: dict[str, Any], after: dict[str, Any]
) -> None:
    ada = create_subscriber(account, tags=["vip"], customFields=VALUES)
    bob = create_subscriber(account, "bob@example.com", customFields=VALUES)

    response = account.ok("UpdateSubscriber", id=ada["id"], **body)["subscriber"]

    rest = {key: value for key, value in body.items() if key != "customFields"}
    assert response == {**ada, **rest, "customFields": after}
    assert stored(account, ada) == response
    assert stored(account, bob) == bob


@pytest.mark.parametrize("mask", [["*"], ["custom_fields"]], ids=["everything", "values"])
def test_update_mask_does_not_remove_values_absent_from_the_request(
    grpc_account: Account, mask: list[str]
) -> None:
    create_fields(grpc_account)
    ada = create_subscriber(grpc_account, customFields=VALUES)
    front = grpc_account.front
    assert isinstance(front, GrpcFront)
    request = pb.UpdateSubscriberRequest(
        id=ada["id"], email="ada@example.com", update_mask=FieldMask(paths=mask)
    )
    request.custom_fields["town"] = "Rome"
    request.custom_fields["age"] = None
    metadata = [("authorization", f"Bearer {grpc_account.key}")]

    front.stub("UpdateSubscriber")(request, metadata=metadata, timeout=20)

    left = {"town": "Rome", "member": True, "born": "1815-12-10"}
    assert stored(grpc_account, ada) == {**ada, "customFields": left}


def test_deleting_a_field_deletes_its_values(
    account: Account, fields: dict[str, dict[str, Any]]
) -> None:
    ada = create_subscriber(account, customFields={"town": "Paris", "age": 36})
    bob = create_subscriber(account, "bob@example.com", customFields={"town": "Rome"})

    account.ok("DeleteCustomField", id=fields["town"]["id"])

    assert stored(account, ada) == {**ada, "customFields": {"age": 36}}
    assert "customFields" not in stored(account, bob)
    error = account.fails(
        "ValidationError", "UpdateSubscriber", id=ada["id"], customFields={"town": "Rome"}
    )
    assert error.violations == [("customFields.town", "UNKNOWN_FIELD")]
