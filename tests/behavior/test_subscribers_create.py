"""Creating and deleting one subscriber over every front."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ..cases import each
from ..conftest import Account
from .helpers import emails, over_http, tag_names

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@over_http
@pytest.mark.parametrize("word", [True, 1, "TRUE", "1", "Yes"], ids=repr)
def test_is_confirmed_is_true_in_many_spellings(account: Account, word: Any) -> None:
    created = account.ok("CreateSubscriber", email="ada@example.com", isConfirmed=word)

    assert created["subscriber"]["status"] == "CONFIRMED"


def test_tags_are_returned_in_their_stored_spelling(account: Account) -> None:
    account.ok("CreateTag", name="ViP", description="pays")

    created = account.ok("CreateSubscriber", email="ada@example.com", tags=["vip"])["subscriber"]

    assert created["tags"] == ["ViP"]
    assert account.ok("ListTags")["tags"][0]["description"] == "pays"


@each(
    "text",
    [
        *("ada@example.com\r\nBcc: eve@example.com", "ada@example.com,eve@example.com"),
        *("Ada <ada@example.com>", "a\u202eda@example.com", "ada@localhost"),
        f"{'l' * 64}@{'d' * 61}.{'d' * 61}.{'d' * 62}.com",
    ],
)
def test_invalid_address_is_rejected_everywhere(account: Account, text: str) -> None:
    bob = account.ok("UpdateSubscriber", id="bob@example.com", allowMissing=True)["subscriber"]

    created = account.fails("ValidationError", "CreateSubscriber", email=text)
    updated = account.fails("ValidationError", "UpdateSubscriber", id=bob["id"], email=text)
    bulk = account.ok("BulkCreateSubscribers", subscribers=[{"email": text}])

    code = "INVALID_CHARACTER" if "\r" in text else "INVALID_FORMAT"
    assert created.violations == updated.violations == [("email", code)]
    assert bulk["failed"] == [{"index": 0, "email": text, "reason": "INVALID_EMAIL"}]
    account.fails("SubscriberNotFound", "GetSubscriber", id=text)
    assert emails(account) == ["bob@example.com"]


@pytest.mark.each_database
@each(
    ("first", "second"),
    [
        ("User@EXAMPLE.com", "user@example.com"),
        ("jos\u00e9@example.com", "JOSE\u0301@example.com"),
        ("ada@bücher.example", "ada@XN--BCHER-KVA.example"),
        ("ada@ｅｘａｍｐｌｅ.com", "ada@example\uff0ecom"),
    ],
)
def test_two_spellings_of_one_address_are_one_subscriber(
    account: Account, first: str, second: str
) -> None:
    created = account.ok("CreateSubscriber", email=first)

    error = account.fails("SubscriberAlreadyExists", "CreateSubscriber", email=second, tags=["new"])

    assert (error.status, error.violations) == (409, [("email", "TAKEN")])
    body = account.ok("BulkCreateSubscribers", subscribers=[{"email": second}])
    assert [failed["reason"] for failed in body["failed"]] == ["ALREADY_EXISTS"]
    assert account.ok("GetSubscriber", id=second) == created
    assert tag_names(account) == []
    account.ok("DeleteSubscriber", id=second)
    assert emails(account) == []


@pytest.mark.parametrize("tags", [["ViP", "vip", "VIP "], ["É", "e\u0301"]])
def test_tags_that_differ_only_in_case_are_merged(account: Account, tags: list[str]) -> None:
    created = account.ok("CreateSubscriber", email="a@example.com", tags=tags)["subscriber"]
    rows = [{"email": "b@example.com", "tags": tags}]
    assert account.ok("BulkCreateSubscribers", subscribers=rows) == {"failed": []}
    account.ok("UpdateSubscriber", id=created["id"], tags=list(reversed(tags)))

    listed = account.ok("ListSubscribers")["subscribers"]
    assert [subscriber["tags"] for subscriber in listed] == [tags[:1], tags[:1]]
    assert tag_names(account) == tags[:1]


def test_delete_subscriber_returns_no_content_and_deletes_it(account: Account) -> None:
    ada = account.ok("CreateSubscriber", email="ada@example.com", tags=["vip"])["subscriber"]
    account.ok("CreateSubscriber", email="bob@example.com", tags=["vip"])

    response = account.call("DeleteSubscriber", id=ada["id"])

    assert (response.status, response.body) == (204, None)
    account.fails("SubscriberNotFound", "GetSubscriber", id=ada["id"])
    account.fails("SubscriberNotFound", "GetSubscriber", id="ada@example.com")
    left = account.ok("ListSubscribers")
    assert [subscriber["email"] for subscriber in left["subscribers"]] == ["bob@example.com"]
    assert (left["subscribers"][0]["tags"], left["total"]) == (["vip"], 1)
