"""Creating one subscriber over every front."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ..conftest import Account
from .helpers import emails, over_http, send, tag_names

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_create_subscriber_returns_exactly_the_documented_keys(account: Account) -> None:
    response = account.call(
        "CreateSubscriber", email="ada@example.com", firstName="Ada", lastName="L", tags=["vip"]
    )

    assert response.status == 201
    assert set(response.body) == {"subscriber"}
    subscriber = response.body["subscriber"]
    assert re.fullmatch("[0-9A-HJKMNP-TV-Z]{26}", subscriber.pop("id"))
    assert TIMESTAMP.fullmatch(subscriber.pop("createdAt"))
    assert subscriber == {
        "email": "ada@example.com",
        "firstName": "Ada",
        "lastName": "L",
        "status": "UNCONFIRMED",
        "tags": ["vip"],
    }


def test_created_subscriber_can_be_read(account: Account) -> None:
    created = account.ok("CreateSubscriber", email="ada@example.com", firstName="Ada", tags=["vip"])

    assert account.ok("GetSubscriber", id=created["subscriber"]["id"]) == created


def test_create_subscriber_with_an_email_only_leaves_the_rest_empty(account: Account) -> None:
    created = account.ok("CreateSubscriber", email="ada@example.com")["subscriber"]

    assert (created["firstName"], created["lastName"], created["tags"]) == ("", "", [])


@pytest.mark.parametrize(
    ("body", "status"),
    [({"isConfirmed": True}, "CONFIRMED"), ({"isConfirmed": False}, "UNCONFIRMED")],
    ids=["confirmed", "not confirmed"],
)
def test_subscriber_is_confirmed_only_if_requested(
    account: Account, body: dict[str, Any], status: str
) -> None:
    created = account.ok("CreateSubscriber", email="ada@example.com", **body)["subscriber"]

    assert created["status"] == status


@over_http
@pytest.mark.parametrize("word", [True, 1, "true", "TRUE", "1", "yes", "Yes"], ids=repr)
def test_is_confirmed_is_true_in_many_spellings(account: Account, word: Any) -> None:
    created = account.ok("CreateSubscriber", email="ada@example.com", isConfirmed=word)

    assert created["subscriber"]["status"] == "CONFIRMED"


@over_http
@pytest.mark.parametrize("word", [None, False, 0, "false", "False", "0", "no", "NO"], ids=repr)
def test_is_confirmed_is_false_in_many_spellings(account: Account, word: Any) -> None:
    created = account.ok("CreateSubscriber", email="ada@example.com", isConfirmed=word)

    assert created["subscriber"]["status"] == "UNCONFIRMED"


@pytest.mark.one_front_per_case
@over_http
@pytest.mark.parametrize("word", ["maybe", "", " yes", "on", 2, -1, 0.5, [], {}], ids=repr)
def test_is_confirmed_rejects_other_values(account: Account, word: Any) -> None:
    error = account.fails(
        "ValidationError", "CreateSubscriber", email="ada@example.com", isConfirmed=word
    )

    assert error.violations == [("isConfirmed", "INVALID_TYPE")]
    assert emails(account) == []


@pytest.mark.parametrize(
    "body",
    [{}, {"email": None}, {"email": ""}, {"email": " \t\u00a0"}],
    ids=["absent", "null", "empty", "blank"],
)
def test_create_subscriber_requires_an_email(account: Account, body: dict[str, Any]) -> None:
    error = account.fails("ValidationError", "CreateSubscriber", **body)

    assert error.violations == [("email", "REQUIRED")]


@pytest.mark.each_database_per_case
@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (" \tAda@Example.COM\u00a0 ", "Ada@Example.COM"),
        ("a+b.c@x.example", "a+b.c@x.example"),
        ("ada@site.test", "ada@site.test"),
        ("ada@printer.local", "ada@printer.local"),
        ("ada@nowhere.invalid", "ada@nowhere.invalid"),
        ("o'hara!#$%&*/=?^_`{|}~-@example.com", "o'hara!#$%&*/=?^_`{|}~-@example.com"),
        ("josé@bücher.example", "josé@bücher.example"),
        ("ada@xn--bcher-kva.example", "ada@xn--bcher-kva.example"),
        (f"{'l' * 64}@example.com", f"{'l' * 64}@example.com"),
        (
            f"{'l' * 64}@{'d' * 61}.{'d' * 61}.{'d' * 61}.com",
            f"{'l' * 64}@{'d' * 61}.{'d' * 61}.{'d' * 61}.com",
        ),
    ],
    ids=[
        "surrounding spaces",
        "plus and dot",
        "test",
        "local",
        "invalid",
        "unusual but valid",
        "international",
        "A-label",
        "longest local part",
        "254 characters",
    ],
)
def test_email_is_stored_as_sent_without_surrounding_whitespace(
    account: Account, sent: str, stored: str
) -> None:
    assert account.ok("CreateSubscriber", email=sent)["subscriber"]["email"] == stored


@pytest.mark.parametrize("other", ["ada+news@example.com", "a.da@example.com"])
def test_plus_tags_and_dots_make_different_addresses(account: Account, other: str) -> None:
    account.ok("CreateSubscriber", email="ada@example.com")

    account.ok("CreateSubscriber", email=other)


def test_create_subscriber_rejects_an_existing_email_and_keeps_the_first(account: Account) -> None:
    first = account.ok("CreateSubscriber", email="ada@example.com", firstName="Ada")["subscriber"]

    error = account.fails(
        "SubscriberAlreadyExists", "CreateSubscriber", email="ada@example.com", tags=["new"]
    )

    assert (error.status, error.violations) == (409, [("email", "TAKEN")])
    assert account.ok("ListSubscribers")["subscribers"] == [first]
    assert tag_names(account) == []


def test_names_are_stored_verbatim(account: Account) -> None:
    created = account.ok(
        "CreateSubscriber", email="ada@example.com", firstName=" Ada ", lastName="e\u0301" * 50
    )["subscriber"]

    assert (created["firstName"], created["lastName"]) == (" Ada ", "e\u0301" * 50)


def test_names_have_at_most_100_characters(account: Account) -> None:
    account.ok("CreateSubscriber", email="a@example.com", firstName="é" * 100, lastName="🎈" * 100)
    error = account.fails(
        "ValidationError",
        "CreateSubscriber",
        email="b@example.com",
        firstName="a" * 101,
        lastName="b" * 101,
    )

    assert error.violations == [("firstName", "TOO_LONG"), ("lastName", "TOO_LONG")]


def test_unknown_tag_names_create_tags_with_an_empty_description(account: Account) -> None:
    account.ok("CreateSubscriber", email="ada@example.com", tags=[" vip ", "new"])

    listed = account.ok("ListTags")["tags"]
    assert [(tag["name"], tag["description"]) for tag in listed] == [("new", ""), ("vip", "")]


def test_tags_are_returned_in_their_stored_spelling(account: Account) -> None:
    account.ok("CreateTag", name="ViP", description="pays")

    created = account.ok("CreateSubscriber", email="ada@example.com", tags=["vip"])["subscriber"]

    assert created["tags"] == ["ViP"]
    assert account.ok("ListTags")["tags"][0]["description"] == "pays"


def test_tags_are_sorted_by_name_without_regard_to_case(account: Account) -> None:
    created = account.ok("CreateSubscriber", email="ada@example.com", tags=["b", "C", "A", "d"])

    assert created["subscriber"]["tags"] == ["A", "b", "C", "d"]


def test_subscriber_can_have_100_tags(account: Account) -> None:
    names = [f"tag {number:03}" for number in range(100)]

    created = account.ok("CreateSubscriber", email="ada@example.com", tags=names)["subscriber"]

    assert created["tags"] == names


@over_http
def test_create_subscriber_rejects_an_unknown_key(account: Account) -> None:
    error = send(account, "POST", "/api/subscribers", {"email": "ada@example.com", "nickname": "x"})

    assert (error.status, error.code) == (400, "ValidationError")
    assert error.violations == [("nickname", "UNKNOWN_FIELD")]
    assert emails(account) == []
