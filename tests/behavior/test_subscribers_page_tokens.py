"""Page tokens over every front. HTTP sends them as Link headers."""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from ..conftest import Account
from ..fronts import HttpFront, Response
from .helpers import create_subscriber, over_http


def fill(account: Account, count: int) -> list[str]:
    """Creates subscribers and returns their addresses, oldest first. The order is not alphabetical.

    All have one tag. Every third has a second tag. One in four has no last name.
    """
    body = [f"{count - number:03}@example.com" for number in range(count)]
    rows = [
        {
            "email": email,
            "tags": ["vip", "x"] if number % 3 == 0 else ["x"],
            "lastName": ("Œuvre", "", "ångström", "Zuse")[number % 4],
        }
        for number, email in enumerate(body)
    ]
    assert account.ok("BulkCreateSubscribers", subscribers=rows) == {"failed": []}
    return body


def page(account: Account, **filters: Any) -> Response:
    response = account.call("ListSubscribers", **filters)
    assert response.status == 200, response
    return response


def addresses(response: Response) -> list[str]:
    return [subscriber["email"] for subscriber in response.body["subscribers"]]


def walk(account: Account, **filters: Any) -> list[Response]:
    """Returns all pages by following page tokens."""
    pages = [page(account, **filters)]
    while pages[-1].next:
        pages.append(page(account, **filters, pageToken=pages[-1].next))
    return pages


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("filters", "every"),
    [
        ({}, 1),
        ({"tag": "vip"}, 3),
        ({"q": "0", "status": "UNCONFIRMED"}, 1),
        ({"filter": "createdAt > daysAgo(30) AND tags:vip"}, 3),
    ],
)
def test_page_tokens_traverse_the_whole_list(
    account: Account, filters: dict[str, Any], every: int
) -> None:
    matching = fill(account, 23)[::every]

    for order, limit in (("asc", 4), ("desc", 1), ("asc", 10), ("desc", 23), ("asc", 100)):
        pages = walk(account, **filters, order=order, limit=limit)

        expected = matching if order == "asc" else matching[::-1]
        assert [email for response in pages for email in addresses(response)] == expected
        count = -(-len(expected) // limit)
        assert [(p.body["total"], p.body["page"], p.body["limit"]) for p in pages] == [
            (len(expected), number, limit) for number in range(1, count + 1)
        ]


@pytest.mark.each_database
@pytest.mark.parametrize("order_by", ["createdAt", "email", "lastName", "statusChangedAt"])
@pytest.mark.parametrize("filters", [{}, {"filter": "NOT tags:none AND NOT status=BOUNCED"}])
@pytest.mark.parametrize("order", ["asc", "desc"])
def test_paging_skips_and_repeats_no_subscriber_during_concurrent_changes(
    account: Account, filters: dict[str, Any], order_by: str, order: str
) -> None:
    created = fill(account, 23)
    for email in created[3:15:2]:
        account.ok("ChangeSubscriberStatus", id=email, status="CONFIRMED")
    request = {**filters, "orderBy": order_by, "order": order}
    listed = page(account, **request, limit=100)
    ahead, ids = addresses(listed), {row["email"]: row["id"] for row in listed.body["subscribers"]}
    assert sorted(ahead) == sorted(created)
    seen: list[str] = []
    response = page(account, **request, limit=4)
    seen += addresses(response)
    gone: list[str] = []
    while response.next:
        # Deletes the last subscriber of the page, an earlier and a later one, and creates one.
        for email in (seen[-1], seen[len(seen) // 2 - 1], next_unseen(ahead, seen, gone)):
            if email in ids:
                account.call("DeleteSubscriber", id=ids[email])
                gone.append(email)
        create_subscriber(account, f"new-{len(gone)}@example.com")
        response = page(account, **request, limit=4, pageToken=response.next)
        seen += addresses(response)

    assert len(seen) == len(set(seen))
    old = [email for email in seen if email in ids]
    assert [email for email in ahead if email in old] == old
    assert set(ahead) - set(gone) <= set(old)
    # New subscribers have no last name and no changed status, and follow the others.
    is_last = order == "asc" or order_by in ("lastName", "statusChangedAt")
    assert any(email.startswith("new") for email in seen) == is_last


def next_unseen(ahead: list[str], seen: list[str], gone: list[str]) -> str:
    """Returns the second subscriber that is not listed yet, or an empty string."""
    coming = [email for email in ahead if email not in seen and email not in gone]
    return coming[1] if len(coming) > 1 else ""


@pytest.mark.each_database
def test_continued_list_does_not_count_its_matches_again(account: Account) -> None:
    fill(account, 9)
    request = {"filter": "NOT lastName=Zuse", "limit": 2}
    first = page(account, **request)
    create_subscriber(account, "new@example.com")

    second = page(account, **request, pageToken=first.next)
    third = page(account, **request, pageToken=second.next)

    assert [each.body["total"] for each in (first, second, third)] == [7, 7, 7]
    assert page(account, **request).body["total"] == 8
    # This total is stored.
    first = page(account, limit=2)
    create_subscriber(account, "newer@example.com")
    assert page(account, limit=2, pageToken=first.next).body["total"] == 11


# Tokens that a release issued must be valid for the same list in every later one.
ISSUED_DIGESTS: list[tuple[str, dict[str, Any]]] = [
    ("591b4ea20687", {}),
    ("12d9ba3b45fd", {"status": "UNSUBSCRIBED"}),
    ("1ae585538532", {"email": "Ada@example.com"}),
    ("ce0d558bdc78", {"q": "0", "status": "UNCONFIRMED"}),
    (
        "6cf9af92909c",
        {
            "tag": "vip",
            "q": "0",
            "createdAfter": "2020-01-01T00:00:00Z",
            "createdBefore": "2100-01-01T00:00:00Z",
            "updatedAfter": "2020-01-01T00:00:00Z",
            "updatedBefore": "2100-01-01T00:00:00Z",
            "order": "desc",
        },
    ),
]


@pytest.mark.parametrize(("digest", "filters"), ISSUED_DIGESTS)
def test_page_token_issued_by_an_earlier_release_continues_its_list(
    account: Account, digest: str, filters: dict[str, Any]
) -> None:
    fill(account, 10)
    expected = page(account, **filters, limit=4)
    ids = [subscriber["id"] for subscriber in expected.body["subscribers"]]

    text = f"{digest}.{ids[1] if ids else '0' * 26}.2"
    token = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    continued = page(account, **filters, limit=2, pageToken=token)

    assert [subscriber["id"] for subscriber in continued.body["subscribers"]] == ids[2:]


def test_page_token_of_another_account_reveals_nothing(
    account: Account, other_account: Account
) -> None:
    fill(other_account, 10)
    token = page(other_account, limit=2).next
    create_subscriber(account, "own@example.com")

    response = account.call("ListSubscribers", pageToken=token)

    assert response.status in (200, 400)
    if response.status == 200:
        assert addresses(response) in ([], ["own@example.com"])
        assert response.body["total"] == 1


@over_http
def test_link_header_has_the_next_page_and_the_other_parameters(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    expected = fill(account, 7)
    filters = "limit=3&tag=%58&q=%30&createdAfter=2020-01-01T00%3A00%3A00%2B01:00"
    target, seen, keys = f"/api/subscribers?{filters}&page=1", [], []

    while target:
        status, headers, text = account.front.exchange("GET", target, account.key)
        body = json.loads(text)
        assert status == 200, body
        seen += [subscriber["email"] for subscriber in body["subscribers"]]
        keys.append(list(body))
        links = re.findall(r'^<([^<>"]+)>; rel="next"$', headers.get("link", ""))
        assert bool(links) == ("link" in headers)
        target = links[0] if links else ""
        for path, query in [urlsplit(link)[2:4] for link in links]:
            parameters = parse_qsl(query)
            assert path == "/api/subscribers"
            assert [pair for pair in parameters if pair[0] != "pageToken"] == parse_qsl(filters)

    assert seen == expected
    assert keys == [["subscribers", "total", "page", "limit"]] * 3
