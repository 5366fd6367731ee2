"""Creating many subscribers in one request over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field, emails, failures, over_http, send
from .invalid_rows import INVALID_VALUES

VALID = {"email": "good@example.com"}


def test_bulk_create_stores_every_row_in_order(
    account: Account,
) -> None:
    response = account.call(
        "BulkCreateSubscribers",
        subscribers=[
            {"email": "b@example.com", "firstName": "B", "lastName": "Bee", "tags": ["y", "X"]},
            {"email": "a@example.com", "isConfirmed": True, "tags": ["x"]},
        ],
    )

    assert (response.status, response.body) == (200, {"failed": []})
    first, second = account.ok("ListSubscribers")["subscribers"]
    assert (first["email"], first["firstName"], first["lastName"]) == ("b@example.com", "B", "Bee")
    assert (first["status"], first["tags"]) == ("UNCONFIRMED", ["X", "y"])
    assert (second["email"], second["firstName"]) == ("a@example.com", "")
    assert (second["status"], second["tags"]) == ("CONFIRMED", ["X"])


@over_http
@pytest.mark.parametrize(("row", "email"), [(row, email) for row, _, email in INVALID_VALUES])
def test_bulk_row_with_an_invalid_value_fails_alone(account: Account, row: str, email: str) -> None:
    body = f'{{"subscribers": [{{"email": "good@example.com"}}, {row}, 7], "returnResults": true}}'

    response = send(account, "POST", "/api/subscribers/bulk", body.encode())

    assert response.status == 200
    assert response.body["failed"] == [
        {"index": 1, "email": email, "reason": "INVALID_FIELD"},
        {"index": 2, "email": "", "reason": "INVALID_ROW"},
    ]
    assert [result["outcome"] for result in response.body["results"]] == [
        "CREATED",
        "FAILED",
        "FAILED",
    ]
    assert emails(account) == ["good@example.com"]


# Rows with the address of VALID that are rejected at different stages, by reason.
REJECTED: dict[str, dict[str, Any]] = {
    "INVALID_TAG": {"tags": [""]},
    "INVALID_FIELD": {"firstName": "x" * 101},
    "UNKNOWN_CUSTOM_FIELD": {"customFields": {"nope": 1}},
    "INVALID_CUSTOM_FIELD": {"customFields": {"age": "old"}},
}


@pytest.mark.each_database
@pytest.mark.parametrize("reason", REJECTED)
def test_rejected_row_claims_no_address(account: Account, reason: str) -> None:
    create_field(account, "Age", "NUMBER")
    rejected = {"email": " Good@Example.com", **REJECTED[reason]}

    body = account.ok(
        "BulkCreateSubscribers",
        subscribers=[rejected, {**VALID, "firstName": "Good"}, rejected, VALID],
    )

    assert failures(body) == [(0, reason), (2, reason), (3, "DUPLICATE_IN_REQUEST")]
    (created,) = account.ok("ListSubscribers")["subscribers"]
    assert (created["email"], created["firstName"]) == (VALID["email"], "Good")


@over_http
@pytest.mark.parametrize(
    ("body", "violations"),
    [
        ({}, [("subscribers", "TOO_FEW")]),
        ({"subscribers": "x"}, [("subscribers", "INVALID_TYPE")]),
        ({"subscribers": [VALID], "mode": "x"}, [("mode", "UNKNOWN_FIELD")]),
        ([VALID], [("", "INVALID_TYPE")]),
        (b"", [("", "INVALID_JSON")]),
        (b'{"subscribers": [', [("", "INVALID_JSON")]),
        (b'{"subscribers": [{"email": "\xff"}]}', [("", "INVALID_JSON")]),
        (rb'{"subscribers": [{}], "onConflict": "\ud83d"}', [("", "INVALID_JSON")]),
        (b'{"subscribers": [], "subscribers": [{}]}', [("subscribers", "DUPLICATE_FIELD")]),
        (
            b'{"subscribers": [{"a": 1, "a": 1}, %s]}' % (b"[" * 31 + b"]" * 31),
            [("", "INVALID_JSON")],
        ),
    ],
)
def test_bulk_create_fails_entirely_only_for_an_invalid_request(
    account: Account, body: Any, violations: list[tuple[str, str]]
) -> None:
    error = send(account, "POST", "/api/subscribers/bulk", body)

    assert (error.status, error.code) == (400, "ValidationError")
    assert error.violations == violations
    assert emails(account) == []


THREE_ROWS = [
    {"email": "there@example.com", "firstName": "Ada", "tags": ["new"], "isConfirmed": True},
    {"email": "new@example.com", "firstName": "Bob"},
    {"email": "NEW@example.com", "lastName": "Lee"},
    {"email": "unknown"},
]


@pytest.mark.parametrize(
    ("on_conflict", "outcomes", "reasons"),
    [
        (
            "FAIL",
            ["FAILED", "CREATED", "FAILED", "FAILED"],
            ["ALREADY_EXISTS", None, "DUPLICATE_IN_REQUEST", "INVALID_EMAIL"],
        ),
        ("SKIP", ["SKIPPED", "CREATED", "SKIPPED", "FAILED"], [None, None, None, "INVALID_EMAIL"]),
        (
            "UPDATE",
            ["UPDATED", "CREATED", "UPDATED", "FAILED"],
            [None, None, None, "INVALID_EMAIL"],
        ),
    ],
)
def test_bulk_returns_the_result_of_each_row(
    account: Account, on_conflict: str, outcomes: list[str], reasons: list[str | None]
) -> None:
    there = account.ok("CreateSubscriber", email="there@example.com", tags=["old"])["subscriber"]

    body = account.ok(
        "BulkCreateSubscribers",
        subscribers=THREE_ROWS,
        onConflict=on_conflict,
        returnResults=True,
    )

    results = body["results"]
    assert [result["index"] for result in results] == [0, 1, 2, 3]
    assert [result["outcome"] for result in results] == outcomes
    assert [result.get("reason") for result in results] == reasons
    assert failures(body) == [
        (index, reason) for index, reason in enumerate(reasons) if reason is not None
    ]
    new = account.ok("GetSubscriber", id="new@example.com")["subscriber"]
    ids = [there["id"], new["id"], new["id"], None]
    expected = [
        id_ if outcome != "FAILED" else None for id_, outcome in zip(ids, outcomes, strict=True)
    ]
    assert [result.get("id") for result in results] == expected


def test_bulk_with_update_changes_existing_subscribers_but_not_their_status(
    account: Account,
) -> None:
    account.ok("CreateSubscriber", email="there@example.com", lastName="Lee", tags=["old"])

    assert account.ok("BulkCreateSubscribers", subscribers=THREE_ROWS[:3], onConflict="UPDATE") == {
        "failed": []
    }

    there, new = account.ok("ListSubscribers")["subscribers"]
    assert (there["firstName"], there["lastName"], there["tags"]) == ("Ada", "Lee", ["new", "old"])
    assert there["status"] == "UNCONFIRMED"
    assert (new["firstName"], new["lastName"]) == ("Bob", "Lee")
