"""The view FULL of subscribers, which adds times and consent, over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from ..fronts import GrpcFront
from .helpers import create_field, create_subscriber, create_subscriber_in
from .streams import export, export_table

BASIC = ["id", "email", "firstName", "lastName", "status", "tags", "createdAt"]
COLUMNS = [
    "updatedAt",
    "statusChangedAt",
    "confirmedAt",
    "unsubscribedAt",
    "consentSource",
    "consentIp",
    "consentAt",
]


def get(account: Account, id_: str, **fields: Any) -> dict[str, Any]:
    subscriber: dict[str, Any] = account.ok("GetSubscriber", id=id_, **fields)["subscriber"]
    return subscriber


@pytest.mark.parametrize("view", [{}, {"view": "BASIC"}], ids=["default", "basic"])
def test_basic_view_has_the_documented_fields_only(account: Account, view: dict[str, str]) -> None:
    row = create_subscriber_in(account, "UNSUBSCRIBED")

    assert sorted(get(account, row["id"], **view)) == sorted(BASIC)
    (listed,) = account.ok("ListSubscribers", **view)["subscribers"]
    (exported,) = export(account, **view)
    assert sorted(listed) == sorted(exported) == sorted(BASIC)
    assert export_table(account, **view)[0] == BASIC


def test_full_view_has_the_times_of_changes(account: Account) -> None:
    row = create_subscriber(account, isConfirmed=True)
    account.ok("AddSubscriberTags", id=row["id"], tags=["vip"])
    tagged = get(account, row["id"], view="FULL")
    account.ok("ChangeSubscriberStatus", id=row["id"], status="UNSUBSCRIBED")

    full = get(account, row["id"], view="FULL")

    assert sorted(tagged) == sorted([*BASIC, "updatedAt", "confirmedAt"])
    assert tagged["confirmedAt"] == row["createdAt"] <= tagged["updatedAt"] <= full["updatedAt"]
    assert full == {
        **tagged,
        "status": "UNSUBSCRIBED",
        "updatedAt": full["updatedAt"],
        "statusChangedAt": full["statusChangedAt"],
        "unsubscribedAt": full["statusChangedAt"],
    }
    assert account.ok("ListSubscribers", view="FULL")["subscribers"] == [full]
    assert export(account, view="FULL") == [full]


def test_a_confirmation_ends_with_an_unconfirmed_status(account: Account) -> None:
    row = create_subscriber(account, isConfirmed=True)

    account.ok("ChangeSubscriberStatus", id=row["id"], status="UNSUBSCRIBED")
    account.ok("ChangeSubscriberStatus", id=row["id"], status="UNCONFIRMED")

    full = get(account, row["id"], view="FULL")
    assert full["unsubscribedAt"]
    assert "confirmedAt" not in full


def test_full_view_of_a_table_adds_columns_before_the_custom_fields(account: Account) -> None:
    create_field(account, "City")
    create_subscriber(account, customFields={"city": "Paris"})
    (full,) = account.ok("ListSubscribers", view="FULL")["subscribers"]

    header, line = export_table(account, view="FULL")

    assert header == [*BASIC, *COLUMNS, "customFields.city"]
    assert dict(zip(header, line, strict=True)) == {
        **dict.fromkeys(COLUMNS, ""),
        **{name: full[name] for name in BASIC if name != "tags"},
        "tags": "",
        "updatedAt": full["updatedAt"],
        "customFields.city": "Paris",
    }


READS = {
    "GetSubscriber": {"id": "ada@example.com"},
    "ListSubscribers": {},
}
# What protobuf returns for a field that was cleared.
EMPTY = ("", [], "STATUS_UNSPECIFIED")
each_read = pytest.mark.parametrize("rpc", READS)


def read(account: Account, rpc: str, **request: Any) -> dict[str, Any]:
    """Creates a subscriber and returns the fields that were read."""
    create_subscriber(account, "ada@example.com", firstName="Ada", tags=["vip"])
    body = account.ok(rpc, **READS[rpc], **request)
    subscriber: dict[str, Any]
    subscriber = body["subscriber"] if "subscriber" in body else body["subscribers"][0]
    if isinstance(account.front, GrpcFront):
        return {key: value for key, value in subscriber.items() if value not in EMPTY}
    return subscriber


@each_read
def test_only_the_fields_of_the_mask_are_returned(account: Account, rpc: str) -> None:
    assert read(account, rpc, readMask="email,firstName,tags") == {
        "email": "ada@example.com",
        "firstName": "Ada",
        "tags": ["vip"],
    }


@each_read
@pytest.mark.parametrize("mask", ["", "*"])
def test_a_mask_without_names_returns_all_fields(account: Account, rpc: str, mask: str) -> None:
    expected = {"id", "email", "firstName", "status", "tags", "createdAt"}

    assert expected <= read(account, rpc, readMask=mask).keys()


@each_read
@pytest.mark.parametrize(
    ("mask", "unknown"),
    [
        ("name", "name"),
        ("email,consent.ip", "consent.ip"),
        ("unsubscribeUrl,email", "unsubscribeUrl"),
    ],
)
def test_an_unknown_field_in_a_mask_is_rejected(
    account: Account, rpc: str, mask: str, unknown: str
) -> None:
    error = account.fails("ValidationError", rpc, **READS[rpc], readMask=mask)

    assert error.violations == [("readMask", "INVALID_VALUE")]
    message = error.body["error"]["details"][0]["message"]
    assert message == f"{unknown} is not a field of a subscriber"
