"""Suppressions of addresses over every front."""

from __future__ import annotations

import json
import re

import pytest

from ..conftest import Account
from .helpers import (
    create_subscriber,
    create_subscriber_in,
    emails,
    stored,
    suppress,
    tag_names,
)

OPTED_OUT = ("UNSUBSCRIBED", "BOUNCED", "COMPLAINED")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

# A suppressed address, and another spelling of it.
SPELLINGS = {
    "the same": ("ada@example.com", "ada@example.com"),
    "other case": ("Ada@example.com", "aDA@EXAMPLE.com"),
    "blanks": ("ada@example.com", " ada@example.com\t"),
    "domain in IDNA": ("ada@bücher.example", "ada@xn--bcher-kva.example"),
    "domain in Unicode": ("ada@XN--BCHER-KVA.example", "ada@BÜCHER.example"),
    "composed": ("jose\u0301@example.com", "José@example.com"),
}
each_spelling = pytest.mark.parametrize(
    ("suppressed", "written"), SPELLINGS.values(), ids=SPELLINGS
)


def test_suppressions_are_listed_newest_first_and_by_reason(account: Account) -> None:
    for reason in ("MANUAL", "UNSUBSCRIBED", "MANUAL"):
        number = account.ok("ListSuppressions")["total"]
        account.ok("AddSuppressions", emails=[f"{number}@example.com"], reason=reason)
    oldest = account.ok("ListSuppressions")["suppressions"]
    newest = account.ok("ListSuppressions", order="desc")["suppressions"]
    assert [each["reason"] for each in oldest] == ["MANUAL", "UNSUBSCRIBED", "MANUAL"]
    assert newest == oldest[::-1]

    manual = account.call("ListSuppressions", reason="MANUAL", order="desc", limit=1)
    assert (manual.body["total"], manual.body["suppressions"]) == (2, newest[:1])
    among = {"reason": "MANUAL", "order": "desc", "limit": 1, "pageToken": manual.next}
    assert account.ok("ListSuppressions", **among)["suppressions"] == newest[2:]
    assert account.call("ListSuppressions", **{**among, "order": "asc"}).status == 400
    assert account.ok("ListSuppressions", reason="BOUNCED")["total"] == 0


def is_suppressed(account: Account, email: str = "ada@example.com") -> bool:
    return account.call("GetSuppression", id=email).status == 200


@pytest.mark.parametrize("reason", OPTED_OUT)
def test_deleting_an_opted_out_subscriber_creates_a_suppression(
    account: Account, reason: str
) -> None:
    suppress(account, "ada@example.com", reason)

    response = account.call("GetSuppression", id="ada@example.com")

    assert (response.status, set(response.body)) == (200, {"suppression"})
    left = response.body["suppression"]
    assert set(left) == {"emailHash", "reason", "createdAt"}
    assert re.fullmatch("[0-9a-f]{64}", left["emailHash"])
    assert left["reason"] == reason
    assert TIMESTAMP.fullmatch(left["createdAt"])
    assert account.ok("ListSuppressions") == {
        "suppressions": [left],
        "total": 1,
        "page": 1,
        "limit": 20,
    }


@pytest.mark.parametrize("status", ["UNCONFIRMED", "CONFIRMED"])
def test_deleting_a_subscriber_without_an_opt_out_creates_no_suppression(
    account: Account, status: str
) -> None:
    suppress(account, "ada@example.com", status)

    assert account.ok("ListSuppressions")["total"] == 0
    create_subscriber(account)


@pytest.mark.each_database
@each_spelling
def test_suppressed_address_cannot_be_created_again(
    account: Account, suppressed: str, written: str
) -> None:
    suppress(account, suppressed)

    error = account.fails(
        "SubscriberSuppressed", "CreateSubscriber", email=written, isConfirmed=True, tags=["new"]
    )

    assert (error.status, error.violations) == (409, [("email", "INVALID_VALUE")])
    assert emails(account) == []
    assert tag_names(account) == []


@pytest.mark.each_database
@each_spelling
def test_subscriber_cannot_change_to_a_suppressed_address(
    account: Account, suppressed: str, written: str
) -> None:
    suppress(account, suppressed)
    bob = create_subscriber_in(account, "CONFIRMED", "bob@example.com", tags=["vip"])

    error = account.fails(
        "SubscriberSuppressed", "UpdateSubscriber", id=bob["id"], email=written, firstName="B"
    )

    assert (error.status, error.violations) == (409, [("email", "INVALID_VALUE")])
    assert stored(account, bob) == bob


@pytest.mark.each_database
@each_spelling
def test_suppression_is_found_and_lifted_by_any_spelling(
    account: Account, suppressed: str, written: str
) -> None:
    suppress(account, suppressed)
    result = account.ok("GetSuppression", id=suppressed)

    assert account.ok("GetSuppression", id=written) == result
    lifted = account.call("DeleteSuppression", id=written)

    assert (lifted.status, lifted.body) == (204, None)
    assert not is_suppressed(account, suppressed)


@pytest.mark.each_database
@pytest.mark.parametrize("rpc", ["GetSuppression", "DeleteSuppression"])
@pytest.mark.parametrize(
    "unknown",
    ["bob@example.com", "ada@example.org", "ada+x@example.com", "unknown", "ada@", "%", "{hash}x"],
)
def test_suppression_of_another_address_is_not_found(
    account: Account, rpc: str, unknown: str
) -> None:
    suppress(account)
    create_subscriber_in(account, "UNSUBSCRIBED", "bob@example.com")
    digest = account.ok("GetSuppression", id="ada@example.com")["suppression"]["emailHash"]

    error = account.fails("SuppressionNotFound", rpc, id=unknown.format(hash=digest))

    assert error.status == 404
    assert is_suppressed(account)


@pytest.mark.each_database
def test_suppression_is_found_and_lifted_by_the_hash_that_lists_show(account: Account) -> None:
    suppress(account)
    (listed,) = account.ok("ListSuppressions")["suppressions"]
    by_address = account.call("GetSuppression", id="ada@example.com")

    by_hash = account.call("GetSuppression", id=listed["emailHash"])

    assert by_hash == by_address
    account.fails("SuppressionNotFound", "GetSuppression", id=listed["emailHash"].upper())
    account.ok("DeleteSuppression", id=listed["emailHash"], etag=by_hash.etag)
    assert not is_suppressed(account)
    account.fails("SuppressionNotFound", "DeleteSuppression", id=listed["emailHash"])
    create_subscriber(account)


def test_suppressions_of_two_accounts_have_nothing_in_common(
    account: Account, other_account: Account
) -> None:
    suppress(account)
    assert not is_suppressed(other_account)
    suppress(other_account)

    (ours,), (theirs,) = (
        each.ok("ListSuppressions")["suppressions"] for each in (account, other_account)
    )
    assert ours["emailHash"] != theirs["emailHash"]
    account.fails("SuppressionNotFound", "DeleteSuppression", id=theirs["emailHash"])
    assert is_suppressed(other_account)


def test_suppressions_never_contain_an_address(account: Account) -> None:
    suppress(account, "ada.lovelace@example.com")

    shown = [
        account.ok("GetSuppression", id="ada.lovelace@example.com"),
        account.ok("ListSuppressions"),
        account.call("CreateSubscriber", email="ada.lovelace@example.com").body,
    ]

    assert not re.search("lovelace|example", json.dumps(shown))


@pytest.mark.parametrize("reason", OPTED_OUT)
def test_changing_the_address_of_an_opted_out_subscriber_suppresses_the_old_one(
    account: Account, reason: str
) -> None:
    ada = create_subscriber_in(account, reason)

    after = account.ok("UpdateSubscriber", id=ada["id"], email="ada@example.org")["subscriber"]

    expected_status = "UNCONFIRMED" if reason == "BOUNCED" else reason
    assert after == {**ada, "email": "ada@example.org", "status": expected_status}
    left = account.ok("GetSuppression", id="ada@example.com")["suppression"]
    assert left["reason"] == reason
    account.fails("SubscriberSuppressed", "CreateSubscriber", email="ada@example.com")
    account.fails("SubscriberSuppressed", "UpdateSubscriber", id=ada["id"], email="ada@example.com")
    assert not is_suppressed(account, "ada@example.org")


@pytest.mark.parametrize(
    ("status", "email"),
    [
        ("UNCONFIRMED", "ada@example.org"),
        ("CONFIRMED", "ada@example.org"),
        ("BOUNCED", "ADA@Example.com"),
    ],
)
def test_other_address_changes_suppress_nothing(account: Account, status: str, email: str) -> None:
    ada = create_subscriber_in(account, status)

    account.ok("UpdateSubscriber", id=ada["id"], email=email)

    assert account.ok("ListSuppressions")["total"] == 0
