"""Statistics over every front."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from ..cases import each
from ..conftest import Account
from .helpers import create_subscriber
from .streams import import_rows

pytestmark = pytest.mark.each_database

NOTHING = {
    "created": 0,
    "imported": 0,
    "confirmed": 0,
    "unsubscribed": 0,
    "bounced": 0,
    "complained": 0,
    "deleted": 0,
    "netGrowth": 0,
}


def today() -> str:
    return datetime.now(UTC).date().isoformat()


def change_list(account: Account) -> None:
    """Creates four subscribers, of which one unsubscribes and one is deleted. Imports two more."""
    for name, confirmed in (("ada", True), ("bob", False), ("eve", True), ("zoe", True)):
        create_subscriber(account, f"{name}@example.com", isConfirmed=confirmed, tags=["vip"])
    account.ok("ChangeSubscriberStatus", id="bob@example.com", status="CONFIRMED")
    account.ok("ChangeSubscriberStatus", id="eve@example.com", status="UNSUBSCRIBED")
    account.call("DeleteSubscriber", id="zoe@example.com")
    account.ok("AddSubscriberTags", id="ada@example.com", tags=["early"])
    rows = [{"email": f"{name}@example.com"} for name in ("ada", "kim", "lee")]
    for is_dry_run in (True, False):
        import_rows(account, rows, onConflict="UPDATE", dryRun=is_dry_run)


def test_totals_follow_every_change(account: Account) -> None:
    change_list(account)
    text = "tags:vip AND status = CONFIRMED"
    segment = account.ok("CreateSegment", name="VIPs", filter=text)["segment"]["id"]

    body = account.ok("GetStatistics", include=["TAGS"], segmentIds=[segment])

    assert (body["total"], body["netGrowth"]) == (5, 2)
    assert body["byStatus"] == {
        "unconfirmed": 2,
        "confirmed": 2,
        "unsubscribed": 1,
        "bounced": 0,
        "complained": 0,
    }
    assert [(tag["name"], tag["total"]) for tag in body["tags"]] == [("vip", 3), ("early", 1)]
    assert body["segments"] == [{"id": segment, "total": 2}]
    assert account.ok("GetStatistics")["tags"] == []


@pytest.mark.parametrize(
    ("selection", "by_status", "by_tag"),
    [
        ({"filter": "tags:vip"}, {"confirmed": 2, "unsubscribed": 1}, {"vip": 3, "early": 1}),
        ({"filter": 'email="*"'}, {"confirmed": 2, "unconfirmed": 2, "unsubscribed": 1}, None),
        ({"q": "a"}, {"confirmed": 1}, {"vip": 1, "early": 1}),
        ({"q": "e", "filter": "NOT tags:early"}, {"unsubscribed": 1}, {"vip": 1}),
        ({"segment": "NOT tags:vip"}, {"unconfirmed": 2}, {}),
        ({"segment": "NOT tags:vip", "filter": 'email="k*"', "q": "kim"}, {"unconfirmed": 1}, {}),
        ({"filter": "tags:none"}, {}, {}),
        ({"filter": 'firstName="none"'}, {}, {}),
    ],
    ids=str,
)
def test_matches_are_counted_by_status_and_tag(
    account: Account, selection: dict[str, str], by_status: dict[str, int], by_tag: Any
) -> None:
    change_list(account)
    request = {**selection}
    if "segment" in request:
        created = account.ok("CreateSegment", name="Segment", filter=request.pop("segment"))
        request["segmentId"] = created["segment"]["id"]

    body = account.ok("GetStatistics", **request)
    with_tags = account.ok("GetStatistics", **request, by="TAG")

    found = {status: total for status, total in body["byStatus"].items() if total}
    assert (found, body["total"]) == (by_status, sum(by_status.values()))
    assert (body["tags"], body["segments"], "netGrowth" in body) == ([], [], False)
    tags = {tag["name"]: tag["total"] for tag in with_tags["tags"]}
    assert tags == ({"vip": 3, "early": 1} if by_tag is None else by_tag)
    assert {**with_tags, "tags": []} == body
    listed = account.ok("ListSubscribers", **request)
    assert listed["total"] == body["total"]


def test_tags_of_all_subscribers_are_counted_on_request(account: Account) -> None:
    change_list(account)

    by_tag = account.ok("GetStatistics", by="TAG")

    assert by_tag == account.ok("GetStatistics", include=["TAGS"])
    assert [tag["name"] for tag in by_tag["tags"]] == ["vip", "early"]
    assert {**by_tag, "tags": []} == account.ok("GetStatistics", by="STATUS")


def test_each_day_has_its_changes(account: Account) -> None:
    change_list(account)

    days = account.ok("GetDailyStatistics")["days"]

    yesterday, last = days[-2:]
    assert len(days) == 30
    assert yesterday == {**NOTHING, "date": yesterday["date"]}
    assert last == {
        **NOTHING,
        "date": today(),
        "created": 4,
        "imported": 2,
        "confirmed": 1,
        "unsubscribed": 1,
        "deleted": 1,
        "netGrowth": 2,
    }


def test_a_period_has_every_day(account: Account) -> None:
    period: dict[str, Any] = {"from": "2024-02-28", "to": "2024-03-01"}

    days = account.ok("GetDailyStatistics", **period)["days"]

    assert [day["date"] for day in days] == ["2024-02-28", "2024-02-29", "2024-03-01"]
    first = datetime.now(UTC).date() - timedelta(days=2)
    assert len(account.ok("GetDailyStatistics", **{"from": first.isoformat()})["days"]) == 3


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Asia/Kathmandu", "Etc/GMT+12"])
def test_days_of_a_time_zone_have_its_changes(account: Account, zone: str) -> None:
    change_list(account)

    body = account.ok("GetDailyStatistics", timeZone=zone)

    in_utc = account.ok("GetDailyStatistics")["days"][-1]
    days = [datetime.now(ZoneInfo(zone)).date() - timedelta(days=29 - n) for n in range(30)]
    assert [day["date"] for day in body["days"]] == [day.isoformat() for day in days]
    assert body["days"][-1] == {**in_utc, "date": days[-1].isoformat()}
    assert all(day == {**NOTHING, "date": day["date"]} for day in body["days"][:-1])
    assert body["exactFrom"] == days[0].isoformat()


@each(
    ("period", "field", "code"),
    {
        "no date": ({"from": "monday"}, "from", "INVALID_FORMAT"),
        "no day": ({"to": "2026-02-30"}, "to", "INVALID_FORMAT"),
        "a time": ({"to": "2026-02-28T00:00"}, "to", "INVALID_FORMAT"),
        "a week": ({"to": "2026-W01-1"}, "to", "INVALID_FORMAT"),
        "reversed": ({"from": "2026-03-01", "to": "2026-02-28"}, "from", "OUT_OF_RANGE"),
        "no zone": ({"timeZone": "Europe/Atlantis"}, "timeZone", "INVALID_VALUE"),
        "a folder": ({"timeZone": "Europe"}, "timeZone", "INVALID_VALUE"),
        "another file": ({"timeZone": "../../etc/passwd"}, "timeZone", "INVALID_VALUE"),
        "the machine's": ({"timeZone": "localtime"}, "timeZone", "INVALID_VALUE"),
        "leap seconds": ({"timeZone": "right/Europe/Berlin"}, "timeZone", "INVALID_VALUE"),
        "many days": ({"from": "2024-01-01", "to": "2025-01-01"}, "from", "OUT_OF_RANGE"),
    },
)
def test_an_invalid_period_is_rejected(
    account: Account, period: dict[str, str], field: str, code: str
) -> None:
    error = account.fails("ValidationError", "GetDailyStatistics", **period)

    assert error.violations == [(field, code)]
