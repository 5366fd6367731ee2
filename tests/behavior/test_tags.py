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


def test_update_tag_rejects_the_name_of_another(account: Account) -> None:
    account.ok("CreateTag", name="vip")
    tag = account.ok("CreateTag", name="new")["tag"]

    account.fails("TagAlreadyExists", "UpdateTag", id=tag["id"], name="Vip")

    assert account.ok("GetTag", id=tag["id"])["tag"]["name"] == "new"


def test_deleted_tag_is_removed_from_every_subscriber(account: Account) -> None:
    account.ok("CreateSubscriber", email="ada@example.com", tags=["old", "z"])
    tag = account.ok("ListTags")["tags"][0]

    assert account.call("DeleteTag", id=tag["id"]).status == 204

    assert account.ok("ListSubscribers")["subscribers"][0]["tags"] == ["z"]
    account.fails("TagNotFound", "GetTag", id=tag["id"])
    account.fails("TagNotFound", "DeleteTag", id=tag["id"])
