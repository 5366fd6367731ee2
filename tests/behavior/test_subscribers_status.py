"""Status changes over every front."""

from __future__ import annotations

import re

import pytest

from ..cases import each
from ..conftest import Account
from .helpers import (
    STATUSES,
    confirm_token,
    create_subscriber,
    create_subscriber_in,
    over_http,
    send,
    stored,
)
from .test_operations import run

# Rows are the old status and columns the new one, both in the order of STATUSES.
TABLE = {
    "UNCONFIRMED": "w w w w w",
    "CONFIRMED": "- w w w w",
    "UNSUBSCRIBED": "w w w - w",
    "BOUNCED": "w w w w w",
    "COMPLAINED": "a a a a w",
}
PAIRS = [
    (before, after, by)
    for before, line in TABLE.items()
    for after, by in zip(STATUSES, line.split(), strict=True)
]


@pytest.mark.parametrize("scope", ["write", "admin"])
@each(("before", "after", "by"), PAIRS)
def test_status_transitions_follow_the_table(
    account: Account, before: str, after: str, by: str, scope: str
) -> None:
    ada = create_subscriber_in(account, before, f"{before}.{after}@b.io", tags=["vip"])
    mover = account.with_key(account.new_key(scope))

    response = mover.call("ChangeSubscriberStatus", id=ada["id"], status=after)

    if by == "w" or by == scope[0]:
        assert (response.status, response.body) == (200, {"subscriber": {**ada, "status": after}})
        assert stored(account, ada) == response.body["subscriber"]
    else:
        assert (response.status, response.code) == (409, "InvalidStatusTransition")
        assert response.violations == [("status", "INVALID_VALUE")]
        message = response.body["error"]["details"][0]["message"]
        assert re.findall("[A-Z]+", message) == [before, after]
        assert stored(account, ada) == ada


@pytest.mark.parametrize("after", ["UNCONFIRMED", "CONFIRMED"])
def test_opt_out_after_a_bounce_survives_a_reset_of_the_bounce(
    account: Account, after: str
) -> None:
    ada = create_subscriber_in(account, "BOUNCED")
    account.ok("ChangeSubscriberStatus", id=ada["id"], status="UNSUBSCRIBED")

    account.fails("InvalidStatusTransition", "ChangeSubscriberStatus", id=ada["id"], status=after)
    run(account, filter="status = UNSUBSCRIBED", action={"changeStatus": after})

    assert stored(account, ada)["status"] == "UNSUBSCRIBED"
    token = confirm_token(account, ada["id"])
    assert account.ok("FollowLink", token=token)["link"]["status"] == "CONFIRMED"


def test_status_change_appears_in_lists_and_changes_no_other_subscriber(account: Account) -> None:
    ada, bob = create_subscriber(account), create_subscriber(account, "bob@example.com")

    moved = account.ok("ChangeSubscriberStatus", id=ada["id"], status="BOUNCED")["subscriber"]

    assert account.ok("ListSubscribers")["subscribers"] == [moved, bob]
    assert account.ok("ListSubscribers", status="BOUNCED")["subscribers"] == [moved]


@over_http
def test_status_in_any_other_body_is_ignored(account: Account) -> None:
    ada = create_subscriber_in(account, "UNSUBSCRIBED")
    claim = {"status": "CONFIRMED"}

    updated = send(account, "PUT", f"/api/subscribers/{ada['id']}", claim)
    created = send(account, "POST", "/api/subscribers", {"email": "b@example.com", **claim})
    rows = {"subscribers": [{"email": "c@example.com", **claim}]}
    bulk = send(account, "POST", "/api/subscribers/bulk", rows)

    assert (updated.status, created.status, bulk.body) == (200, 201, {"failed": []})
    listed = account.ok("ListSubscribers")["subscribers"]
    assert [row["status"] for row in listed] == ["UNSUBSCRIBED", "UNCONFIRMED", "UNCONFIRMED"]
