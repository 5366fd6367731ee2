"""Imports of subscribers with a status, times and consent from another service."""

from __future__ import annotations

import pytest

from ..cases import each
from ..conftest import Account
from .helpers import create_subscriber, create_subscriber_in, suppress
from .streams import Row, send_rows
from .test_import import Import, by_address, each_form, outcomes, rejections

STATUSES = ["UNCONFIRMED", "CONFIRMED", "UNSUBSCRIBED", "BOUNCED", "COMPLAINED"]
OPT_OUTS = STATUSES[2:]
STRICTNESS = {"UNCONFIRMED": 0, "CONFIRMED": 0, "BOUNCED": 1, "UNSUBSCRIBED": 2, "COMPLAINED": 3}
PAST: Row = {
    "createdAt": "2024-05-01T08:00:00.123Z",
    "statusChangedAt": "2025-11-03T10:00:00.000Z",
    "confirmedAt": "2024-05-01T08:05:00.000Z",
    "unsubscribedAt": "2025-11-03T10:00:00.000Z",
    "consentSource": "Form on the home page",
    "consentIp": "192.0.2.7",
    "consentAt": "2024-05-01T08:01:00.000Z",
}


def full(account: Account, email: str) -> Row:
    row: Row = account.ok("GetSubscriber", id=email, view="FULL")["subscriber"]
    return row


@each_form
@pytest.mark.parametrize("status", STATUSES)
def test_new_subscriber_gets_the_status_of_its_row(
    account: Account, import_: Import, status: str
) -> None:
    results = import_(account, [{"email": "a@b.io", "status": status, "isConfirmed": True}])

    assert outcomes(results) == ["CREATED"]
    assert by_address(account, "a@b.io")["status"] == status


@each_form
def test_times_and_consent_of_a_row_are_stored(account: Account, import_: Import) -> None:
    import_(account, [{"email": "a@b.io", "status": "UNSUBSCRIBED", **PAST}, {"email": "b@b.io"}])

    stored = full(account, "a@b.io")
    consent = {"source": PAST["consentSource"], "ip": PAST["consentIp"], "at": PAST["consentAt"]}
    assert stored["consent"] == consent
    assert {name: stored[name] for name in PAST if not name.startswith("consent")} == {
        name: value for name, value in PAST.items() if not name.startswith("consent")
    }
    listed = account.ok("ListSubscribers")["subscribers"]
    assert [row["email"] for row in listed] == ["a@b.io", "b@b.io"]
    assert account.ok("ListSubscribers", createdBefore="2025-01-01T00:00:00Z")["total"] == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("createdAt", "2999-01-01T00:00:00Z"),
        ("consentSource", "x" * 201),
        ("consentIp", "192.0.2.256"),
    ],
)
@each_form
def test_invalid_past_fails_only_its_row(
    account: Account, import_: Import, name: str, value: str
) -> None:
    results = import_(account, [{"email": "a@b.io", name: value}, {"email": "b@b.io"}])

    assert rejections(results) == [("INVALID_FIELD", name), (None, None)]


@pytest.mark.each_database
@each_form
@each("before", STATUSES)
@each("status", STATUSES)
def test_existing_subscriber_takes_only_a_stricter_status(
    account: Account, import_: Import, before: str, status: str
) -> None:
    email = create_subscriber_in(account, before, f"{before}.{status}@b.io")["email"]

    (result,) = import_(account, [{"email": email, "status": status}], onConflict="UPDATE")

    takes = STRICTNESS[status] > STRICTNESS[before]
    assert by_address(account, email)["status"] == (status if takes else before)
    assert result["outcome"] == "UPDATED"
    assert result.get("statusKept", False) == (not takes and status != before)


@pytest.mark.each_database
@each("before", STATUSES)
@each("row", [{}, *({"status": status} for status in STATUSES)])
def test_summary_counts_people_who_are_or_stay_opted_out(
    account: Account, before: str, row: Row
) -> None:
    name = f"{before}.{row.get('status', 'none')}"
    email = create_subscriber_in(account, before, f"{name}@b.io")["email"]
    new = f"{name}.new@b.io"
    created = [
        {"email": new, **each} for each in ({"status": "CONFIRMED"}, {"status": "BOUNCED"}, {})
    ]
    rows = [{"email": email, **row}, *created]

    summary = send_rows(account, rows, onConflict="UPDATE").summary or {}

    assert summary["stayedOptedOut"] == (before in OPT_OUTS)
    assert summary["optedOut"] == (before == "CONFIRMED" and row.get("status") in OPT_OUTS)


@each_form
@pytest.mark.parametrize("conflict", ["FAIL", "SKIP"])
def test_status_of_a_row_that_is_not_an_update_is_ignored(
    account: Account, import_: Import, conflict: str
) -> None:
    email = create_subscriber(account, isConfirmed=True)["email"]

    (result,) = import_(account, [{"email": email, "status": "BOUNCED"}], onConflict=conflict)

    assert by_address(account, email)["status"] == "CONFIRMED"
    assert "statusKept" not in result


OPT_OUT_TIME = "2023-02-03T04:05:06.007Z"
# The status and times of a row, and the times that an existing subscriber has afterwards. None is
# the time of the import.
STRICTER: dict[str, tuple[Row, str | None, str | None]] = {
    "both times": (
        {"status": "UNSUBSCRIBED", **PAST, "unsubscribedAt": OPT_OUT_TIME},
        PAST["statusChangedAt"],
        OPT_OUT_TIME,
    ),
    "time of the opt-out": (
        {"status": "UNSUBSCRIBED", "unsubscribedAt": OPT_OUT_TIME},
        OPT_OUT_TIME,
        OPT_OUT_TIME,
    ),
    "time of the change": (
        {"status": "UNSUBSCRIBED", "statusChangedAt": "1970-01-01T00:00:00Z"},
        "1970-01-01T00:00:00.000Z",
        "1970-01-01T00:00:00.000Z",
    ),
    "bounce": (
        {"status": "BOUNCED", **PAST, "unsubscribedAt": None},
        PAST["statusChangedAt"],
        "",
    ),
    "no time": ({"status": "UNSUBSCRIBED"}, None, None),
}


@each_form
@pytest.mark.parametrize(("row", "changed_at", "unsubscribed_at"), STRICTER.values(), ids=STRICTER)
def test_stricter_status_takes_the_times_of_the_row(
    account: Account,
    import_: Import,
    row: Row,
    changed_at: str | None,
    unsubscribed_at: str | None,
) -> None:
    email = create_subscriber(account, isConfirmed=True)["email"]
    before = full(account, email)

    import_(account, [{"email": email, **row}], onConflict="UPDATE")

    after = full(account, email)
    assert after["statusChangedAt"] == (changed_at or after["updatedAt"])
    assert after.get("unsubscribedAt", "") == (
        after["updatedAt"] if unsubscribed_at is None else unsubscribed_at
    )
    for name in ("createdAt", "confirmedAt", "consent"):
        assert after.get(name) == before.get(name)


@each_form
def test_opt_out_of_a_suppressed_bounce_is_stored(account: Account, import_: Import) -> None:
    account.ok("AddSuppressions", emails=["a@b.io"], reason="BOUNCED")

    for status, reason in (("UNSUBSCRIBED", "UNSUBSCRIBED"), ("BOUNCED", "UNSUBSCRIBED")):
        results = import_(account, [{"email": "a@b.io", "status": status}])
        assert outcomes(results) == ["SKIPPED"]
        suppression = account.ok("GetSuppression", id="a@b.io")["suppression"]
        assert suppression["reason"] == reason


@each_form
def test_opt_out_of_a_suppressed_address_is_skipped(account: Account, import_: Import) -> None:
    suppress(account, "a@b.io")
    rows = [{"email": "a@b.io", "status": status} for status in [*OPT_OUTS, "CONFIRMED"]]

    results = import_(account, [*rows, {"email": "a@b.io"}])

    assert outcomes(results) == ["SKIPPED"] * 3 + ["FAILED"] * 2
    assert all("id" not in result for result in results)
    assert rejections(results)[3:] == [("SUPPRESSED", "email")] * 2


def test_summary_counts_outcomes_reasons_and_statuses(account: Account) -> None:
    ada = create_subscriber_in(account, "UNSUBSCRIBED")["email"]
    bob = create_subscriber(account, email="bob@b.io", isConfirmed=True)["email"]
    rows = [
        {"email": ada, "status": "CONFIRMED"},
        {"email": bob, "status": "BOUNCED"},
        {"email": "c@b.io", "status": "CONFIRMED"},
        {"email": "d@b.io"},
        {"email": "no"},
        {"email": ""},
        {"email": "nope"},
    ]

    summary = send_rows(account, rows, onConflict="UPDATE").summary

    assert summary == {
        "created": 2,
        "updated": 2,
        "skipped": 0,
        "failed": 3,
        "reasons": [
            {"reason": "INVALID_EMAIL", "total": 2, "examples": ["5", "7"]},
            {"reason": "MISSING_EMAIL", "total": 1, "examples": ["6"]},
        ],
        "statuses": {"UNCONFIRMED": 1, "CONFIRMED": 1, "BOUNCED": 1},
        "statusesKept": 1,
        "stayedOptedOut": 1,
        "optedOut": 1,
        "ignoredColumns": [],
        "createdFields": [],
        "unrecognizedCells": [],
        "dryRun": False,
        "rowsWithDroppedCells": 0,
    }


@each_form
def test_added_tags_apply_to_created_and_updated_subscribers(
    account: Account, import_: Import
) -> None:
    create_subscriber(account, email="ada@b.io", tags=["old"])
    rows = [{"email": "ada@b.io"}, {"email": "bob@b.io", "tags": ["vip"]}]

    import_(account, rows, onConflict="UPDATE", addTags=["vip", "from Kit"])

    assert by_address(account, "ada@b.io")["tags"] == ["from Kit", "old", "vip"]
    assert by_address(account, "bob@b.io")["tags"] == ["from Kit", "vip"]
