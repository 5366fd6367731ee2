"""Subscribers for the tests of the console."""

from __future__ import annotations

from typing import Any

from ..conftest import Account

TAGS = ("vip", "early", "churned")


def add_people(account: Account, count: int) -> None:
    """Creates p0000@example.com and so on, of whom every third is not confirmed."""
    for start in range(0, count, 100):
        rows: list[dict[str, Any]] = [
            {
                "email": f"p{number:04}@example.com",
                "firstName": f"First{number}",
                "lastName": f"Last{number % 7}",
                "isConfirmed": number % 3 != 0,
                "tags": [TAGS[number % 3]],
            }
            for number in range(start, min(start + 100, count))
        ]
        assert account.ok("BulkCreateSubscribers", subscribers=rows)["failed"] == []


def add_person(account: Account, **fields: Any) -> dict[str, Any]:
    """Creates a person and returns the subscriber."""
    created = account.ok("CreateSubscriber", **{"email": "ada@example.com", **fields})
    subscriber: dict[str, Any] = created["subscriber"]
    return subscriber
