"""Adding and removing tags of a subscriber over every front."""

from __future__ import annotations

from ..conftest import Account
from .helpers import create_subscriber, stored, tag_names


def numbered(*numbers: int) -> list[str]:
    return [f"tag {number:03}" for number in numbers]


def test_add_tags_keeps_existing_tags(account: Account) -> None:
    ada = create_subscriber(account, firstName="Ada", tags=["vip", "old"])
    bob = create_subscriber(account, "bob@example.com", tags=["vip"])

    response = account.call("AddSubscriberTags", id=ada["id"], tags=["new", "vip"])

    assert response.status == 200
    assert response.body == {"subscriber": {**ada, "tags": ["new", "old", "vip"]}}
    assert stored(account, ada) == response.body["subscriber"]
    assert stored(account, bob) == bob


def test_adding_existing_tags_changes_nothing(account: Account) -> None:
    ada = create_subscriber(account, tags=["vip", "x"])

    assert account.ok("AddSubscriberTags", id=ada["id"], tags=["VIP"])["subscriber"] == ada

    assert stored(account, ada) == ada
    assert tag_names(account) == ["vip", "x"]


def test_subscriber_has_at_most_100_old_and_new_tags(account: Account) -> None:
    ada = create_subscriber(account, tags=numbered(*range(60)))

    full = account.ok("AddSubscriberTags", id=ada["id"], tags=numbered(*range(30, 100)))
    error = account.fails(
        "ValidationError", "AddSubscriberTags", id=ada["id"], tags=[*numbered(*range(99)), "more"]
    )

    assert full["subscriber"]["tags"] == numbered(*range(100))
    assert (error.status, error.violations) == (400, [("tags", "TOO_MANY")])
    assert stored(account, ada) == full["subscriber"]
    assert tag_names(account) == numbered(*range(100))
    account.ok("AddSubscriberTags", id=ada["id"], tags=numbered(*range(100)))


def test_remove_tags_keeps_other_tags_and_the_tag_resources(account: Account) -> None:
    ada = create_subscriber(account, firstName="Ada", tags=["vip", "old", "x"])
    bob = create_subscriber(account, "bob@example.com", tags=["vip", "x"])

    response = account.call("RemoveSubscriberTags", id=ada["id"], tags=[" VIP ", "X"])

    assert response.status == 200
    assert response.body == {"subscriber": {**ada, "tags": ["old"]}}
    assert stored(account, ada) == response.body["subscriber"]
    assert stored(account, bob) == bob
    assert tag_names(account) == ["old", "vip", "x"]
