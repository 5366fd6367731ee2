"""Imports of the rows that match a filter or a segment."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import MISSING_ID, create_field, create_subscriber
from .streams import Row, send_rows, send_table
from .test_import import Import, by_address, each_form, list_subscribers, outcomes, rejections

FILTERED = ("FILTERED", None)


def kept(account: Account, rows: list[Row], text: str, **options: Any) -> list[str]:
    """Imports rows with a filter. Returns the addresses of the rows that were not filtered."""
    result = send_rows(account, rows, filter=text, **options)
    assert result.error is None, result.error
    return [each["email"] for each in result.records if each.get("reason") != "FILTERED"]


@each_form
def test_rows_that_do_not_match_are_skipped(account: Account, import_: Import) -> None:
    rows: list[Row] = [
        {"email": "ada@b.io", "status": "CONFIRMED"},
        {"email": "bob@b.io", "status": "BOUNCED"},
        {"email": "no", "status": "BOUNCED"},
        {"email": "eve@b.io", "isConfirmed": True},
    ]

    results = import_(account, rows, filter="status = CONFIRMED")

    assert outcomes(results) == ["CREATED", "SKIPPED", "FAILED", "CREATED"]
    assert rejections(results)[1:3] == [FILTERED, ("INVALID_EMAIL", "email")]
    assert "id" not in results[1]
    assert [row["email"] for row in list_subscribers(account)] == ["ada@b.io", "eve@b.io"]


def test_rows_that_a_search_does_not_find_are_skipped(account: Account) -> None:
    rows: list[Row] = [
        {"email": "ada@b.io"},
        {"email": "bob@b.io", "firstName": "Bob", "lastName": "Adams"},
        {"email": "eve@b.io", "lastName": "Ádám"},
        {"email": "zoë@bücher.io"},
    ]

    def found(q: str, text: str = "") -> list[str]:
        return kept(account, rows, text, q=q, dryRun=True)

    assert found("ADA") == ["ada@b.io", "bob@b.io"]
    assert found("ádám") == ["eve@b.io"]
    assert found("zoë@bü") == found("zoë@xn--b") == ["zoë@bücher.io"]
    assert found("ada", "name:*") == ["bob@b.io"]


def test_filtered_rows_are_counted_in_the_summary(account: Account) -> None:
    create_subscriber(account, "bob@b.io")
    rows = [{"email": email} for email in ("ada@b.io", "bob@b.io", "x@c.io", "y@c.io", "no")]

    result = send_rows(account, rows, filter='email.domain = "b.io"', onConflict="SKIP")

    assert result.summary is not None
    counts = [result.summary[name] for name in ("created", "updated", "skipped", "failed")]
    assert counts == [1, 0, 3, 1]
    assert result.summary["reasons"] == [
        {"reason": "FILTERED", "total": 2, "examples": ["3", "4"]},
        {"reason": "INVALID_EMAIL", "total": 1, "examples": ["5"]},
    ]


def test_a_filtered_row_does_not_update_a_subscriber(account: Account) -> None:
    create_subscriber(account, "ada@b.io", firstName="Ada")
    rows = [{"email": "ada@b.io", "firstName": "Eve", "status": "UNSUBSCRIBED"}]

    assert kept(account, rows, "NOT status = UNSUBSCRIBED", onConflict="UPDATE") == []

    ada = by_address(account, "ada@b.io")
    assert (ada["firstName"], ada["status"]) == ("Ada", "UNCONFIRMED")


@pytest.mark.parametrize("on_conflict", ["FAIL", "SKIP", "UPDATE"])
@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize("between", [0, 3_000])
def test_a_filtered_opt_out_counts_for_other_rows_of_its_address(
    account: Account, between: int, is_first: bool, on_conflict: str
) -> None:
    rows: list[Row] = [
        {"email": "ada@b.io", "isConfirmed": True, "firstName": "Ada"},
        *({"email": f"{number}@c.io"} for number in range(between)),
        {"email": "Ada@B.io", "status": "COMPLAINED", "firstName": "Eve"},
    ]
    if is_first:
        rows.reverse()

    options: dict[str, Any] = {"filter": "firstName = Ada", "onConflict": on_conflict}
    dry_run = send_rows(account, rows, **options, dryRun=True)
    result = send_rows(account, rows, **options)

    ada = by_address(account, "ada@b.io")
    assert (ada["firstName"], ada["status"]) == ("Ada", "COMPLAINED")
    counts = {"created": 1, "updated": 0 if is_first else 1}
    assert result.summary is not None
    assert {name: result.summary[name] for name in counts} == counts
    assert outcomes(dry_run.records) == outcomes(result.records)


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "last"])
def test_a_filtered_opt_out_counts_for_a_subscriber_that_another_row_updates(
    account: Account, is_first: bool
) -> None:
    create_subscriber(account, "ada@b.io", isConfirmed=True)
    rows: list[Row] = [
        {"email": "ada@b.io", "firstName": "Ada"},
        {"email": "ada@b.io", "status": "COMPLAINED"},
    ]
    if is_first:
        rows.reverse()

    result = send_rows(account, rows, filter="firstName = Ada", onConflict="UPDATE")

    assert by_address(account, "ada@b.io")["status"] == "COMPLAINED"
    assert result.summary is not None
    assert result.summary["statuses"] == {"COMPLAINED": 1}


@pytest.mark.parametrize("on_conflict", ["FAIL", "SKIP", "UPDATE"])
def test_a_resumed_import_reads_filtered_opt_outs_of_earlier_rows(
    account: Account, on_conflict: str
) -> None:
    create_subscriber(account, "eve@b.io", isConfirmed=True)
    rows = [
        {"email": "ada@b.io", "status": "UNSUBSCRIBED"},
        {"email": "bob@b.io"},
        {"email": "ada@b.io", "isConfirmed": True},
        {"email": "eve@b.io", "status": "UNSUBSCRIBED"},
    ]

    result = send_rows(
        account, rows, filter="NOT status = UNSUBSCRIBED", afterLine=2, onConflict=on_conflict
    )

    assert outcomes(result.records) == ["CREATED", "SKIPPED"]
    assert by_address(account, "ada@b.io")["status"] == "UNSUBSCRIBED"
    assert by_address(account, "eve@b.io")["status"] == "CONFIRMED"


def test_a_resumed_import_does_not_count_cells_of_earlier_rows_again(account: Account) -> None:
    text = "email,createdAt\nada@b.io,01/02/2024\neve@b.io,\n"

    result = send_table(account, text, filter="NOT status = BOUNCED", afterLine=2)

    assert outcomes(result.records) == ["CREATED"]
    assert result.summary is not None
    assert result.summary["unrecognizedCells"] == []


def test_a_row_is_compared_as_the_subscriber_that_it_would_create(account: Account) -> None:
    create_field(account, "Age", "NUMBER")
    old = {
        "email": "Ada@B.io",
        "firstName": "Ada",
        "tags": ["VIP"],
        "createdAt": "2020-01-01T00:00:00.000Z",
        "confirmedAt": "2020-01-02T00:00:00.000Z",
        "customFields": {"age": 36},
    }
    rows = [old, {"email": "bob@b.io"}]

    for text, matching in (
        ('email = "ada*"', ["Ada@B.io"]),
        ("tags:vip", ["Ada@B.io"]),
        ("tags:added", ["Ada@B.io", "bob@b.io"]),
        ("customFields.age > 35", ["Ada@B.io"]),
        ("NOT customFields.age:*", ["bob@b.io"]),
        ("createdAt < 2021-01-01", ["Ada@B.io"]),
        ("createdAt > 2021-01-01", ["bob@b.io"]),
        ("confirmedAt:*", ["Ada@B.io"]),
        ("updatedAt > 2000-01-01 OR updatedAt < 2100-01-01", []),
        ("firstName = Ada OR status = UNCONFIRMED", ["Ada@B.io", "bob@b.io"]),
    ):
        assert kept(account, rows, text, addTags=["added"], dryRun=True) == matching, text


def test_a_segment_and_a_filter_must_both_match(account: Account) -> None:
    text = 'email.domain = "b.io"'
    segment = account.ok("CreateSegment", name="B", filter=text)["segment"]["id"]
    rows = [{"email": email} for email in ("ada@b.io", "bob@b.io", "eve@c.io")]

    assert kept(account, rows, "", segmentId=segment, dryRun=True) == ["ada@b.io", "bob@b.io"]
    assert kept(account, rows, 'email = "bob*"', segmentId=segment) == ["bob@b.io"]


@pytest.mark.parametrize("text", ["status = ", "customFields.town = Rome"])
def test_an_invalid_filter_fails_the_import(account: Account, text: str) -> None:
    error = send_rows(account, [{"email": "a@b.io"}], filter=text).error

    assert error is not None
    assert (error.status, [field for field, _ in error.violations]) == (400, ["filter"])
    assert list_subscribers(account) == []


def test_an_unknown_segment_fails_the_import(account: Account) -> None:
    error = send_rows(account, [{"email": "a@b.io"}], segmentId=MISSING_ID).error

    assert error is not None
    assert (error.status, error.code) == (404, "SegmentNotFound")
