"""Filters and order of subscriber lists over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account, new_account
from ..fronts import Front
from ..processes import Service
from .helpers import create_subscriber, create_subscriber_in

# Address, names, status and tags, oldest first.
SUBSCRIBERS = [
    ("ada@example.com", "Ada", "Lovelace", "CONFIRMED", ["vip", "math"]),
    ("grace@example.org", "Grace", "Hopper", "CONFIRMED", ["navy"]),
    ("Alan@Example.com", "Alan", "Turing", "UNCONFIRMED", ["math"]),
    ("édith@example.com", "Édith", "Piaf", "UNSUBSCRIBED", ["VIP"]),
    ("adam@example.com", "", "Straße", "BOUNCED", []),
    ("lova@example.com", "Lova", "", "COMPLAINED", ["vip", "navy"]),
]


def fill(account: Account) -> list[dict[str, Any]]:
    """Creates the subscribers."""
    return [
        create_subscriber_in(account, status, email, firstName=first, lastName=last, tags=tags)
        for email, first, last, status, tags in SUBSCRIBERS
    ]


@pytest.fixture(scope="module")
def shared_account(front_and_service: tuple[Front, Service]) -> Account:
    """An account with the subscribers, which no test changes."""
    front, service = front_and_service
    account = new_account(service, front)
    fill(account)
    return account


def listed(account: Account, **filters: Any) -> list[str]:
    """Returns the local parts of the listed addresses, and checks the total."""
    body = account.ok("ListSubscribers", limit=100, **filters)
    assert body["total"] == len(body["subscribers"])
    return [row["email"].partition("@")[0] for row in body["subscribers"]]


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("filters", "result"),
    [
        ({}, "ada grace Alan édith adam lova"),
        ({"order": "desc"}, "lova adam édith Alan grace ada"),
        ({"order": "DESC"}, "lova adam édith Alan grace ada"),
        ({"orderBy": "createdAt desc"}, "lova adam édith Alan grace ada"),
        ({"orderBy": " createdat  DESC", "order": "Desc"}, "lova adam édith Alan grace ada"),
        ({"orderBy": "createdAt asc"}, "ada grace Alan édith adam lova"),
        ({"orderBy": "email"}, "ada adam Alan grace lova édith"),
        ({"orderBy": "email", "order": "desc"}, "édith lova grace Alan adam ada"),
        ({"orderBy": "lastname"}, "grace ada édith adam Alan lova"),
        ({"orderBy": "lastName desc"}, "Alan adam édith ada grace lova"),
        ({"orderBy": "statusChangedAt asc"}, "édith adam lova ada grace Alan"),
        ({"orderBy": "statusChangedAt desc"}, "lova adam édith Alan grace ada"),
        ({"orderBy": "lastName", "tag": "vip"}, "ada édith lova"),
        ({"orderBy": "lastName", "q": "ad"}, "ada adam"),
        ({"orderBy": "email desc", "filter": "tags:math OR tags:navy"}, "lova grace Alan ada"),
        ({"orderBy": "email", "filter": 'email="a*"'}, "ada adam Alan"),
        ({"orderBy": "statusChangedAt", "status": "CONFIRMED"}, "ada grace"),
        ({"status": "CONFIRMED"}, "ada grace"),
        ({"tag": "vip"}, "ada édith lova"),
        ({"tag": " VIP "}, "ada édith lova"),
        ({"tag": "vip", "order": "desc"}, "lova édith ada"),
        ({"tag": "vi"}, ""),
        ({"tag": "vip%"}, ""),
        ({"email": "ALAN@example.com"}, "Alan"),
        ({"email": " E\u0301dith@example.com "}, "édith"),
        ({"email": "unknown@example.com"}, ""),
        ({"q": "lo"}, "ada lova"),
        ({"status": "CONFIRMED", "tag": "vip"}, "ada"),
        ({"status": "BOUNCED", "tag": "vip"}, ""),
        ({"tag": "math", "q": "a"}, "ada Alan"),
        ({"tag": "math", "q": "a", "order": "desc"}, "Alan ada"),
        ({"tag": "navy", "email": "lova@example.com"}, "lova"),
        (
            {"status": "UNSUBSCRIBED", "tag": "vip", "email": "édith@example.com", "q": "pi"},
            "édith",
        ),
        ({"createdAfter": "2020-01-01T00:00:00Z", "q": "gr"}, "grace"),
        ({"createdAfter": "2999-01-01T00:00:00Z"}, ""),
        ({"createdBefore": "1969-12-31T23:59:59.999Z"}, ""),
        ({"createdBefore": "9999-12-31T23:59:59Z", "tag": "navy"}, "grace lova"),
        ({"createdAfter": "0001-01-01T00:00:00Z", "status": "BOUNCED"}, "adam"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else value or "unknown",
)
def test_list_has_the_subscribers_that_match_every_filter(
    shared_account: Account, filters: dict[str, Any], result: str
) -> None:
    assert listed(shared_account, **filters) == result.split()


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("q", "result"),
    [
        ("ada@", "ada"),
        ("ADA@EXAMPLE.COM", "ada"),
        ("example", ""),
        ("grace", "grace"),
        ("grace h", "grace"),
        ("Grace Hopper", "grace"),
        ("grace hopper x", ""),
        ("hopper grace", ""),
        ("hop", "grace"),
        ("opper", ""),
        ("love", "ada"),
        ("ad", "ada adam"),
        ("ÉDITH P", "édith"),
        ("ÉDITH@", "édith"),
        ("e\u0301d", "édith"),
        ("ed", ""),
        ("stras", "adam"),
        ("straße", "adam"),
        ("%", ""),
        ("_da", ""),
        ("*", ""),
        ("\U0010ffff", ""),
        ("x" * 254, ""),
    ],
)
def test_search_matches_prefixes_of_addresses_and_names(
    shared_account: Account, q: str, result: str
) -> None:
    assert listed(shared_account, q=q) == result.split()


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("q", "result"),
    [("a_", ["a_b"]), ("50%", ["50%"]), ("x*", ["x*y"]), ("%", []), ("_", ["z"]), ("100%", ["w"])],
)
def test_wildcard_characters_are_literal_in_a_search(
    account: Account, q: str, result: list[str]
) -> None:
    for local in ("a_b", "axb", "50%", "500", "x*y", "xxy"):
        create_subscriber(account, f"{local}@example.com")
    create_subscriber(account, "z@example.com", firstName="_under", lastName="score")
    create_subscriber(account, "w@example.com", firstName="so", lastName="100%")

    assert listed(account, q=q) == result


DOMAIN_PREFIXES = (
    "user@b",
    "user@bü",
    "USER@BÜCH",
    "user@bu\u0308",
    "user@ｂü",
    "user@bücher.",
    "user@bücher。ex",
    "user@bücher.example",
    "user@xn--",
    "user@XN--bcher-k",
    "user@xn--bcher-kva.ex",
)
NO_DOMAIN_PREFIXES = ("user@bu", "user@ü", "user@bücher.x", "user@%", "bü")


@pytest.mark.each_database
@pytest.mark.parametrize(
    "body",
    ["user@bücher.example", "User@BU\u0308CHER.example", "user@xn--bcher-kva.EXAMPLE"],
)
def test_search_matches_prefixes_of_an_international_domain_in_both_forms(
    account: Account, body: str
) -> None:
    create_subscriber(account, body)
    create_subscriber(account, "user@other.example")
    create_subscriber(account, "other@bücher.example")

    found = {q: listed(account, q=q) for q in (*DOMAIN_PREFIXES, *NO_DOMAIN_PREFIXES)}

    assert found == {
        **{q: [body.partition("@")[0]] for q in DOMAIN_PREFIXES},
        **{q: [] for q in NO_DOMAIN_PREFIXES},
    }


def test_search_matches_domain_labels_of_changed_and_imported_addresses(
    account: Account,
) -> None:
    created = create_subscriber(account, "user@example.com")
    account.ok("UpdateSubscriber", id=created["id"], email="one@straße.bücher.example")
    account.ok("BulkCreateSubscribers", subscribers=[{"email": "two@straße.bücher.example"}])

    for q in ("{}@stra", "{}@straß", "{}@straße.bü", "{}@straße.bücher.e", "{}@xn--strae-oqa.xn"):
        assert listed(account, q=q.format("one")) == ["one"]
        assert listed(account, q=q.format("two")) == ["two"]
    assert listed(account, q="one@strass") == []
    assert listed(account, q="user@") == []


@pytest.mark.each_database
@pytest.mark.parametrize("filters", [{}, {"tag": "vip"}, {"q": "a"}, {"filter": "NOT tags:navy"}])
@pytest.mark.parametrize("order_by", ["createdAt", "lastName"])
def test_total_is_counted_as_requested(
    shared_account: Account, filters: dict[str, Any], order_by: str
) -> None:
    request = {**filters, "orderBy": order_by, "limit": 1}
    exact = shared_account.ok("ListSubscribers", **request)

    without = shared_account.ok("ListSubscribers", **request, total="NONE")

    assert "total" not in without
    assert {**without, "total": exact["total"]} == exact
    for total in ("EXACT", "AT_MOST_10000"):
        assert shared_account.ok("ListSubscribers", **request, total=total) == exact


def test_filters_reflect_a_changed_status_and_tags(account: Account) -> None:
    ada = create_subscriber(account, tags=["vip"])
    tag = account.ok("ListTags")["tags"][0]

    account.ok("ChangeSubscriberStatus", id=ada["id"], status="CONFIRMED")
    account.ok("UpdateTag", id=tag["id"], name="gold")

    assert listed(account, status="CONFIRMED", tag="gold") == ["ada"]
    assert listed(account, status="UNCONFIRMED") == listed(account, tag="vip") == []
    account.ok("DeleteTag", id=tag["id"])
    assert listed(account, tag="gold") == []
    account.ok("DeleteSubscriber", id=ada["id"])
    assert listed(account, status="CONFIRMED") == []


def create_over_milliseconds(account: Account) -> list[dict[str, Any]]:
    """Creates subscribers until they have three different creation times."""
    created: list[dict[str, Any]] = []
    while len({row["createdAt"] for row in created}) < 3:
        created.append(create_subscriber(account, f"{len(created):04}@example.com"))
    return created


def test_created_after_and_before_are_exclusive(account: Account) -> None:
    created = create_over_milliseconds(account)
    timestamps = sorted({row["createdAt"] for row in created})

    for timestamp in timestamps:
        for filters, expected in [
            ({"createdAfter": timestamp}, [s for s in created if s["createdAt"] > timestamp]),
            ({"createdBefore": timestamp}, [s for s in created if s["createdAt"] < timestamp]),
        ]:
            body = account.ok("ListSubscribers", limit=100, **filters)
            assert body["subscribers"] == expected[:100]
            assert body["total"] == len(expected)
    between = {"createdAfter": timestamps[0], "createdBefore": timestamps[-1]}
    expected = [s for s in created if timestamps[0] < s["createdAt"] < timestamps[-1]]
    body = account.ok("ListSubscribers", limit=100, order="desc", **between)
    assert body["subscribers"] == expected[::-1][:100]
    assert account.ok(
        "ListSubscribers", createdAfter=timestamps[0], createdBefore=timestamps[0]
    ) == {
        "subscribers": [],
        "total": 0,
        "page": 1,
        "limit": 20,
    }


@pytest.mark.each_database
@pytest.mark.parametrize(
    ("parameter", "digits", "is_in"),
    [
        ("createdAfter", "", False),
        ("createdBefore", "", False),
        ("createdAfter", "000001", False),
        ("createdBefore", "000001", True),
    ],
)
def test_timestamps_are_compared_with_submillisecond_precision(
    account: Account, parameter: str, digits: str, is_in: bool
) -> None:
    ada = create_subscriber(account)
    timestamp = f"{ada['createdAt'].removesuffix('Z')}{digits}Z"

    assert listed(account, **{parameter: timestamp}) == (["ada"] if is_in else [])


def test_page_number_applies_to_the_filtered_list(account: Account) -> None:
    vip = [row for row in fill(account) if {"vip", "VIP"} & set(row["tags"])]

    pages = [account.ok("ListSubscribers", tag="vip", limit=2, page=n) for n in (1, 2, 3)]
    backwards = account.ok("ListSubscribers", q="a", order="desc", limit=1, page=2)

    assert [page["subscribers"] for page in pages] == [vip[:2], vip[2:], []]
    assert [(page["total"], page["page"], page["limit"]) for page in pages] == [
        (3, 1, 2),
        (3, 2, 2),
        (3, 3, 2),
    ]
    assert [row["email"] for row in backwards["subscribers"]] == ["Alan@Example.com"]
    assert (backwards["total"], backwards["page"]) == (3, 2)
