"""Tags over every front."""

from __future__ import annotations

import pytest

from ..conftest import Account


@pytest.mark.parametrize("existing", ["vip", "VIP", " Vip "])
def test_create_tag_rejects_a_name_that_differs_only_in_case(
    account: Account, existing: str
) -> None:
    account.ok("CreateTag", name="vip")

    assert account.fails("TagAlreadyExists", "CreateTag", name=existing).status == 409


def test_list_tags_is_sorted_by_name_without_regard_to_case(account: Account) -> None:
    for name in ("b", "A", "c"):
        account.ok("CreateTag", name=name)

    body = account.ok("ListTags")

    assert [tag["name"] for tag in body["tags"]] == ["A", "b", "c"]
    assert (body["total"], body["page"], body["limit"]) == (3, 1, 20)


def test_update_tag_clears_the_description_but_never_the_name(account: Account) -> None:
    tag = account.ok("CreateTag", name="vip", description="pays")["tag"]

    assert account.ok("UpdateTag", id=tag["id"], description="")["tag"]["description"] == ""
    error = account.fails("ValidationError", "UpdateTag", id=tag["id"], name=" ")
    assert error.violations == [("name", "REQUIRED")]


def test_update_tag_rejects_the_name_of_another(account: Account) -> None:
    account.ok("CreateTag", name="vip")
    tag = account.ok("CreateTag", name="new")["tag"]

    account.fails("TagAlreadyExists", "UpdateTag", id=tag["id"], name="Vip")

    assert account.ok("GetTag", id=tag["id"])["tag"]["name"] == "new"


def test_renamed_tag_appears_immediately_on_every_subscriber(account: Account) -> None:
    for name in ("ada", "bob"):
        account.ok("CreateSubscriber", email=f"{name}@example.com", tags=["old", "z"])
    tag = account.ok("ListTags")["tags"][0]

    account.ok("UpdateTag", id=tag["id"], name="New")

    listed = account.ok("ListSubscribers")["subscribers"]
    assert [subscriber["tags"] for subscriber in listed] == [["New", "z"], ["New", "z"]]


def test_deleted_tag_is_removed_from_every_subscriber(account: Account) -> None:
    account.ok("CreateSubscriber", email="ada@example.com", tags=["old", "z"])
    tag = account.ok("ListTags")["tags"][0]

    assert account.call("DeleteTag", id=tag["id"]).status == 204

    assert account.ok("ListSubscribers")["subscribers"][0]["tags"] == ["z"]
    account.fails("TagNotFound", "GetTag", id=tag["id"])
    account.fails("TagNotFound", "DeleteTag", id=tag["id"])


def test_tag_of_many_subscribers_is_gone_for_every_reader_when_the_deletion_returns(
    account: Account,
) -> None:
    rows = [{"email": f"s{number}@example.com", "tags": ["old"]} for number in range(2_100)]
    for first in range(0, 2_100, 100):
        account.ok("BulkCreateSubscribers", subscribers=rows[first : first + 100])
    tag = account.ok("ListTags")["tags"][0]

    assert account.call("DeleteTag", id=tag["id"]).status == 204

    def tagged(filter_: str) -> int:
        return int(account.ok("ListSubscribers", filter=filter_).get("total", 0))

    assert tagged("tags:*") == tagged("tags:old") == 0
    assert account.ok("ListSubscribers", page=21)["subscribers"][-1]["tags"] == []
    assert account.ok("GetStatistics", include=["TAGS"])["tags"] == []
    again = account.ok("CreateTag", name="old")["tag"]
    assert again["id"] != tag["id"]
    assert [each["id"] for each in account.ok("ListTags")["tags"]] == [again["id"]]
    assert tagged("tags:old") == 0
    account.fails("TagNotFound", "DeleteTag", id=tag["id"])
