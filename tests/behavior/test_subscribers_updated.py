"""Lists and exports by the time of the last change, over every front."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_subscriber
from .streams import export
from .test_subscribers_page_tokens import addresses, page, walk

pytestmark = pytest.mark.each_database


def updated_at(account: Account, id_: str) -> str:
    return str(account.ok("GetSubscriber", id=id_, view="FULL")["subscriber"]["updatedAt"])


def create_apart(account: Account, count: int) -> list[dict[str, Any]]:
    """Creates subscribers, each in a millisecond of its own."""
    rows = []
    for number in range(count):
        rows.append(create_subscriber(account, f"p{number}@b.io"))
        time.sleep(0.002)
    return rows


def test_filters_by_time_of_the_last_change(account: Account) -> None:
    rows = create_apart(account, 4)
    times = [updated_at(account, row["id"]) for row in rows]
    account.ok("UpdateSubscriber", id=rows[0]["id"], firstName="Eve")

    for filters, expected in (
        ({"updatedAfter": times[2]}, [0, 3]),
        ({"updatedBefore": times[2]}, [1]),
        ({"updatedAfter": times[1], "updatedBefore": times[3]}, [2]),
        ({"updatedAfter": times[1], "q": "p0"}, [0]),
        ({"filter": f'updatedAt >= "{times[2]}" AND updatedAt < "{times[3]}"'}, [2]),
    ):
        listed = account.ok("ListSubscribers", **filters)
        assert [row["email"] for row in listed["subscribers"]] == [f"p{n}@b.io" for n in expected]
        assert listed["total"] == len(expected)
        if "q" not in filters:
            assert [row["email"] for row in export(account, **filters)] == [
                f"p{n}@b.io" for n in expected
            ]


CHANGES: dict[str, Callable[[Account, str], Any]] = {
    "fields": lambda a, id_: a.ok("UpdateSubscriber", id=id_, firstName="Eve"),
    "tags": lambda a, id_: a.ok("AddSubscriberTags", id=id_, tags=["vip"]),
    "tags removed": lambda a, id_: a.ok("RemoveSubscriberTags", id=id_, tags=["x"]),
    "status": lambda a, id_: a.ok("ChangeSubscriberStatus", id=id_, status="BOUNCED"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_change_moves_a_subscriber_to_the_end(
    account: Account, change: Callable[[Account, str], Any]
) -> None:
    rows = [create_subscriber(account, f"p{n}@b.io", tags=["x"]) for n in range(3)]

    change(account, rows[0]["id"])

    assert addresses(page(account, orderBy="updatedAt")) == ["p1@b.io", "p2@b.io", "p0@b.io"]
    newest = addresses(page(account, orderBy="updatedAt", order="desc"))
    assert newest == ["p0@b.io", "p2@b.io", "p1@b.io"]
    first = page(account, orderBy="updatedAt", order="desc", limit=1)
    rest = page(account, orderBy="updatedAt desc", pageToken=first.next)
    assert addresses(first) + addresses(rest) == newest
    assert addresses(page(account, orderBy="createdAt")) == [f"p{n}@b.io" for n in range(3)]


@pytest.mark.parametrize(
    "filters", [{}, {"tag": "vip"}, {"status": "UNCONFIRMED"}, {"q": "p"}], ids=str
)
def test_page_tokens_traverse_the_list_in_order_of_changes(
    account: Account, filters: dict[str, Any]
) -> None:
    rows = [{"email": f"p{n:02}@b.io", "tags": ["vip"]} for n in range(23)]
    account.ok("BulkCreateSubscribers", subscribers=rows)
    changed = [7, 3, 20, 3]
    for number in changed:
        tags = ["vip", f"t{number}-{time.time_ns()}"]
        account.ok("UpdateSubscriber", id=f"p{number:02}@b.io", tags=tags)
    order = [n for n in range(23) if n not in changed] + [7, 20, 3]

    for direction, limit in (("asc", 4), ("desc", 1), ("asc", 23), ("desc", 10)):
        pages = walk(account, **filters, orderBy="updatedAt", order=direction, limit=limit)

        expected = [f"p{n:02}@b.io" for n in (order if direction == "asc" else order[::-1])]
        assert [email for each in pages for email in addresses(each)] == expected
        assert {each.body["total"] for each in pages} == {23}
    numbered = page(account, **filters, orderBy="updatedAt", limit=5, page=4)
    assert addresses(numbered) == [f"p{n:02}@b.io" for n in order[15:20]]


def test_subscriber_that_changes_during_paging_is_returned_again(account: Account) -> None:
    for number in range(6):
        create_subscriber(account, f"p{number}@b.io")
    first = page(account, orderBy="updatedAt", limit=2)
    account.ok("UpdateSubscriber", id="p0@b.io", firstName="Eve")
    account.ok("UpdateSubscriber", id="p3@b.io", firstName="Eve")

    rest = page(account, orderBy="updatedAt", limit=100, pageToken=first.next)

    assert addresses(rest) == [f"p{n}@b.io" for n in (2, 4, 5, 0, 3)]
