"""Deleting a subscriber over every front."""

from __future__ import annotations

from ..conftest import Account
from .helpers import tag_names


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


def test_delete_subscriber_keeps_the_tags_of_the_account(account: Account) -> None:
    ada = account.ok("CreateSubscriber", email="ada@example.com", tags=["vip"])["subscriber"]

    account.ok("DeleteSubscriber", id=ada["id"])

    assert tag_names(account) == ["vip"]


def test_address_of_a_deleted_subscriber_can_be_created_again(account: Account) -> None:
    old = account.ok("CreateSubscriber", email="ada@example.com", firstName="Ada", tags=["vip"])
    account.ok("DeleteSubscriber", id=old["subscriber"]["id"])

    new = account.ok("CreateSubscriber", email="ada@example.com")["subscriber"]

    assert new["id"] > old["subscriber"]["id"]
    assert (new["firstName"], new["tags"]) == ("", [])
