"""Reading single subscribers and pages over every front."""

from __future__ import annotations

from typing import Any

from ..cases import each
from ..conftest import Account
from .helpers import MISSING_ID, create_field, create_subscriber

ADA, BOB, EVE = "ada@example.com", "bob@example.com", "eve@example.com"


def batch_get(account: Account, **request: Any) -> dict[str, Any]:
    response: dict[str, Any] = account.ok("BatchGetSubscribers", **request)
    return response


def test_subscribers_are_returned_in_the_order_of_the_request(account: Account) -> None:
    create_field(account, "City")
    ada = create_subscriber(account, ADA, tags=["vip"], customFields={"city": "Paris"})
    bob, eve = create_subscriber(account, BOB), create_subscriber(account, EVE)

    by_id = batch_get(account, ids=[eve["id"], ada["id"]])
    by_email = batch_get(account, emails=[BOB, " ADA@example.com "])
    by_both = batch_get(account, ids=[bob["id"]], emails=[ADA])

    assert by_id == {"subscribers": [eve, ada], "notFound": []}
    assert by_email == {"subscribers": [bob, ada], "notFound": []}
    assert by_both == {"subscribers": [bob, ada], "notFound": []}


def test_missing_subscribers_are_reported_and_repeated_ones_returned_once(
    account: Account,
) -> None:
    ada = create_subscriber(account, ADA)

    found = batch_get(account, ids=[MISSING_ID, ada["id"], ada["id"], ADA], emails=[ADA, "x", EVE])

    assert found == {"subscribers": [ada], "notFound": [MISSING_ID, ADA, "x", EVE]}


def test_subscribers_of_another_account_are_not_found(
    account: Account, other_account: Account
) -> None:
    theirs = create_subscriber(other_account, ADA)

    found = batch_get(account, ids=[theirs["id"]], emails=[ADA])

    assert found == {"subscribers": [], "notFound": [theirs["id"], ADA]}


@each(
    ("request_", "violation"),
    [
        ({}, ("ids", "REQUIRED")),
        ({"ids": [], "emails": []}, ("ids", "REQUIRED")),
        ({"ids": ["x"] * 101}, ("ids", "TOO_MANY")),
        ({"ids": ["x"] * 60, "emails": ["x"] * 41}, ("emails", "TOO_MANY")),
        ({"emails": ["a\x00@b.io"]}, ("emails[0]", "INVALID_CHARACTER")),
    ],
)
def test_invalid_batch_is_rejected(
    account: Account, request_: dict[str, Any], violation: tuple[str, str]
) -> None:
    response = account.fails("ValidationError", "BatchGetSubscribers", **request_)

    assert response.violations == [violation]
