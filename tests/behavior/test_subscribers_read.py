"""Reading single subscribers and pages over every front."""

from __future__ import annotations

import pytest

from ..conftest import Account
from .helpers import MISSING_ID, over_http, send


def fill(account: Account, count: int) -> list[str]:
    """Creates subscribers and returns their addresses in order of creation."""
    body = [f"{count - number:03}@example.com" for number in range(count)]
    for start in range(0, count, 100):
        rows = [{"email": email, "tags": ["a", "b"]} for email in body[start : start + 100]]
        assert account.ok("BulkCreateSubscribers", subscribers=rows) == {"failed": []}
    return body


def test_get_subscriber_by_id_returns_all_fields(account: Account) -> None:
    created = account.ok("CreateSubscriber", email="ada@example.com", firstName="Ada", tags=["vip"])

    response = account.call("GetSubscriber", id=created["subscriber"]["id"])

    assert (response.status, response.body) == (200, created)


@pytest.mark.each_database_per_case
@pytest.mark.parametrize(
    ("stored", "requested"),
    [
        ("ada@example.com", "ada@example.com"),
        ("Ada@Example.com", "aDA@eXAMPLE.COM"),
        ("ada+news@example.com", "ada+news@example.com"),
        ("a/b?c#d%40@example.com", "a/b?c#d%40@example.com"),
        ("josé@bücher.example", "JOSE\u0301@xn--bcher-kva.example"),
        ("ada@example.com", " ada@example.com "),
    ],
    ids=["plain", "other case", "plus", "reserved URL characters", "international", "blanks"],
)
def test_get_subscriber_by_email_in_any_spelling(
    account: Account, stored: str, requested: str
) -> None:
    created = account.ok("CreateSubscriber", email=stored, tags=["vip"])

    assert account.ok("GetSubscriber", id=requested) == created


@over_http
def test_at_sign_in_the_path_can_be_unencoded(account: Account) -> None:
    created = account.ok("CreateSubscriber", email="ada+news@example.com")

    assert send(account, "GET", "/api/subscribers/ada+news@example.com").body == created


@pytest.mark.each_database_per_case
@pytest.mark.parametrize(
    "unknown", [MISSING_ID, "bob@example.com", "ada", "ada@", "da@example.com", "%@example.com"]
)
def test_unknown_subscriber_is_not_found(account: Account, unknown: str) -> None:
    account.ok("CreateSubscriber", email="ada@example.com")

    assert account.fails("SubscriberNotFound", "GetSubscriber", id=unknown).status == 404


def test_list_subscribers_of_a_new_account_is_empty(account: Account) -> None:
    response = account.call("ListSubscribers")

    assert response.status == 200
    assert response.body == {"subscribers": [], "total": 0, "page": 1, "limit": 20}


def test_list_and_get_return_the_same_subscriber(account: Account) -> None:
    created = [
        account.ok("CreateSubscriber", email="b@example.com", tags=["x", "y"])["subscriber"],
        account.ok("CreateSubscriber", email="a@example.com", lastName="A")["subscriber"],
    ]

    assert account.ok("ListSubscribers")["subscribers"] == created


def test_pages_have_every_subscriber_once_oldest_first(account: Account) -> None:
    body = fill(account, 45)

    pages = [account.ok("ListSubscribers", page=number) for number in (1, 2, 3)]

    assert [len(page["subscribers"]) for page in pages] == [20, 20, 5]
    assert [s["email"] for page in pages for s in page["subscribers"]] == body
    assert [(page["total"], page["page"], page["limit"]) for page in pages] == [
        (45, 1, 20),
        (45, 2, 20),
        (45, 3, 20),
    ]


def test_limit_counts_subscribers_regardless_of_tags(account: Account) -> None:
    expected = fill(account, 3)

    body = account.ok("ListSubscribers", limit=2)

    assert [subscriber["email"] for subscriber in body["subscribers"]] == expected[:2]
    assert [subscriber["tags"] for subscriber in body["subscribers"]] == [["a", "b"], ["a", "b"]]


@pytest.mark.parametrize(
    ("limit", "used"), [(1, 1), (99, 99), (100, 100), (101, 100), (2**31 - 1, 100)]
)
def test_limit_over_100_is_reduced_to_100_and_echoed(
    account: Account, limit: int, used: int
) -> None:
    fill(account, 101)

    body = account.ok("ListSubscribers", limit=limit)

    assert (len(body["subscribers"]), body["limit"], body["total"]) == (used, used, 101)


def test_page_past_the_end_is_empty(account: Account) -> None:
    fill(account, 3)

    body = account.ok("ListSubscribers", page=2, limit=3)

    assert body == {"subscribers": [], "total": 3, "page": 2, "limit": 3}


def test_new_subscribers_do_not_change_earlier_pages(account: Account) -> None:
    fill(account, 3)
    before = account.ok("ListSubscribers", limit=2)["subscribers"]

    account.ok("CreateSubscriber", email="000@example.com")

    assert account.ok("ListSubscribers", limit=2)["subscribers"] == before


@over_http
def test_list_subscribers_rejects_an_unknown_query_parameter(account: Account) -> None:
    error = send(account, "GET", "/api/subscribers?limit=5&size=5")

    assert (error.status, error.code) == (400, "ValidationError")
    assert error.violations == [("size", "UNKNOWN_FIELD")]
