"""The view FULL of subscribers, which adds times and consent, over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field, create_subscriber, create_subscriber_in, over_http
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


@over_http
def test_full_view_can_be_sent_back_in_an_update(account: Account) -> None:
    row = create_subscriber_in(account, "UNSUBSCRIBED")
    full = get(account, row["id"], view="FULL")
    sent = {name: value for name, value in full.items() if name != "id"}

    account.ok("UpdateSubscriber", **{"id": row["id"], **sent, "firstName": "Eve"})

    after = get(account, row["id"], view="FULL")
    assert after == {**full, "firstName": "Eve", "updatedAt": after["updatedAt"]}


@over_http
def test_unknown_view_is_rejected(account: Account) -> None:
    row = create_subscriber(account)

    account.fails("ValidationError", "GetSubscriber", id=row["id"], view="OTHER")
