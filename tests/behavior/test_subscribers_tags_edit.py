"""Adding and removing tags of a subscriber over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import MISSING_ID, create_subscriber, over_http, send, stored, tag_names

EDITS = ("AddSubscriberTags", "RemoveSubscriberTags")


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


def test_add_tags_creates_unknown_tags(account: Account) -> None:
    ada = create_subscriber(account)

    account.ok("AddSubscriberTags", id=ada["id"], tags=[" vip ", "new"])

    listed = account.ok("ListTags")["tags"]
    assert [(tag["name"], tag["description"]) for tag in listed] == [("new", ""), ("vip", "")]


def test_added_tags_are_returned_sorted_in_their_stored_spelling(account: Account) -> None:
    account.ok("CreateTag", name="ViP", description="pays")
    account.ok("CreateTag", name="École")
    ada = create_subscriber(account, tags=["b", "D"])

    after = account.ok(
        "AddSubscriberTags", id=ada["id"], tags=["vip", "A", "B", "c", "C", "E\u0301COLE"]
    )["subscriber"]

    assert after["tags"] == ["A", "b", "c", "D", "ViP", "École"]
    assert stored(account, ada) == after
    assert tag_names(account) == ["A", "b", "c", "D", "ViP", "École"]


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


def test_tags_over_the_limit_are_all_rejected(account: Account) -> None:
    ada = create_subscriber(account, tags=numbered(*range(60)))

    error = account.fails(
        "ValidationError", "AddSubscriberTags", id=ada["id"], tags=numbered(*range(60, 101))
    )

    assert error.violations == [("tags", "TOO_MANY")]
    assert stored(account, ada) == ada
    assert tag_names(account) == numbered(*range(60))


def test_remove_tags_keeps_other_tags_and_the_tag_resources(account: Account) -> None:
    ada = create_subscriber(account, firstName="Ada", tags=["vip", "old", "x"])
    bob = create_subscriber(account, "bob@example.com", tags=["vip", "x"])

    response = account.call("RemoveSubscriberTags", id=ada["id"], tags=[" VIP ", "X"])

    assert response.status == 200
    assert response.body == {"subscriber": {**ada, "tags": ["old"]}}
    assert stored(account, ada) == response.body["subscriber"]
    assert stored(account, bob) == bob
    assert tag_names(account) == ["old", "vip", "x"]


@pytest.mark.parametrize("tags", [["gone"], ["nowhere"], ["gone", "nowhere", "vip"]])
def test_removing_absent_tags_is_not_an_error(account: Account, tags: list[str]) -> None:
    account.ok("CreateTag", name="gone")
    ada = create_subscriber(account, tags=["old", "vip"])

    after = account.ok("RemoveSubscriberTags", id=ada["id"], tags=tags)["subscriber"]

    assert after["tags"] == (["old"] if "vip" in tags else ["old", "vip"])
    assert stored(account, ada) == after
    assert tag_names(account) == ["gone", "old", "vip"]


def test_removing_every_tag_leaves_none(account: Account) -> None:
    ada = create_subscriber(account, tags=["É", "vip"])

    after = account.ok("RemoveSubscriberTags", id=ada["id"], tags=["vip", "e\u0301"])

    assert after["subscriber"] == {**ada, "tags": []}


@pytest.mark.one_front_per_case
@pytest.mark.parametrize("rpc", EDITS)
@pytest.mark.parametrize(
    ("body", "violation"),
    [
        ({}, ("tags", "TOO_FEW")),
        ({"tags": None}, ("tags", "TOO_FEW")),
        ({"tags": []}, ("tags", "TOO_FEW")),
        ({"tags": ["fine", " \u00a0"]}, ("tags[1]", "REQUIRED")),
        ({"tags": [""]}, ("tags[0]", "REQUIRED")),
        ({"tags": ["x" * 101]}, ("tags[0]", "TOO_LONG")),
        ({"tags": ["a\0b"]}, ("tags[0]", "INVALID_CHARACTER")),
        ({"tags": numbered(*range(101))}, ("tags", "TOO_MANY")),
    ],
    ids=["absent", "null", "no tags", "blank", "empty", "101 characters", "NUL", "101 tags"],
)
@pytest.mark.parametrize("of", ["one that is there", MISSING_ID])
def test_tag_edit_validates_before_the_lookup(
    account: Account, rpc: str, body: dict[str, Any], violation: tuple[str, str], of: str
) -> None:
    ada = create_subscriber(account, tags=["vip"])

    error = account.fails(
        "ValidationError", rpc, id=ada["id"] if of == "one that is there" else of, **body
    )

    assert (error.status, error.violations) == (400, [violation])
    assert stored(account, ada) == ada
    assert tag_names(account) == ["vip"]


@over_http
@pytest.mark.parametrize("tags", ["vip", {"0": "vip"}, [1], [None], [["vip"]]], ids=repr)
@pytest.mark.parametrize("path", ["tags", "tags/remove"])
def test_tag_edit_requires_an_array_of_strings(account: Account, path: str, tags: Any) -> None:
    ada = create_subscriber(account, tags=["vip"])

    error = send(account, "POST", f"/api/subscribers/{ada['id']}/{path}", {"tags": tags})

    assert (error.status, error.code) == (400, "ValidationError")
    assert [violation.partition("[")[0] for violation, _ in error.violations] == ["tags"]
    assert stored(account, ada) == ada
