"""Updates that create a missing subscriber, over every front."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..conftest import Account
from .helpers import call_concurrently, statuses

ADA = {"id": "ada@example.com", "firstName": "Ada", "tags": ["vip"], "isConfirmed": True}


def upsert(account: Account, **request: Any) -> Any:
    return account.call("UpdateSubscriber", allowMissing=True, **request)


def test_upsert_creates_a_missing_subscriber(account: Account) -> None:
    response = upsert(account, **ADA)

    created = response.body["subscriber"]
    assert response.status == 201
    assert (created["email"], created["firstName"], created["tags"], created["status"]) == (
        "ada@example.com",
        "Ada",
        ["vip"],
        "CONFIRMED",
    )
    assert account.ok("GetSubscriber", id=created["id"])["subscriber"] == created


def test_upsert_updates_an_existing_subscriber(account: Account) -> None:
    created = account.ok("CreateSubscriber", email="Ada@Example.com", lastName="Lovelace")

    response = upsert(account, **ADA)

    changed = {"firstName": "Ada", "tags": ["vip"]}
    assert response.status == 200
    assert response.body == {"subscriber": {**created["subscriber"], **changed}}


def test_upsert_does_not_confirm_an_existing_subscriber(account: Account) -> None:
    account.ok("CreateSubscriber", email="ada@example.com")
    account.ok("ChangeSubscriberStatus", id="ada@example.com", status="UNSUBSCRIBED")

    response = upsert(account, **ADA)

    assert (response.status, response.body["subscriber"]["status"]) == (200, "UNSUBSCRIBED")


def test_upsert_rejects_another_address_for_a_missing_subscriber(account: Account) -> None:
    error = account.fails(
        "ValidationError",
        "UpdateSubscriber",
        allowMissing=True,
        id="ada@example.com",
        email="eve@example.com",
    )

    assert error.violations == [("email", "INVALID_VALUE")]
    assert account.ok("ListSubscribers")["total"] == 0


def test_parallel_upserts_of_one_address_create_one_subscriber(account: Account) -> None:
    responses = call_concurrently(
        *[
            partial(upsert, account, id="ada@example.com", firstName=f"Ada {number}")
            for number in range(50)
        ]
    )

    assert statuses(responses) == [200] * 49 + [201]
    assert len({response.body["subscriber"]["id"] for response in responses}) == 1
    assert account.ok("ListSubscribers")["total"] == 1
