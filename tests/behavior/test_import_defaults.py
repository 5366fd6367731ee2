"""Consent that an import states for all people of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_subscriber, create_subscriber_in, suppress
from .import_jobs import run, run_file, upload
from .streams import Row, send_rows, send_table
from .test_import import Import, as_rows, as_table, import_as_table
from .test_import_statuses import STATUSES, full

pytestmark = pytest.mark.each_database
SOURCE = "Paper form"
STATED = {"isConfirmed": True, "consentSource": SOURCE}


def in_job(account: Account, rows: Sequence[Row], **options: Any) -> list[Row]:
    """Imports rows as a job of NDJSON, without results of the rows."""
    run_file(account, "".join(json.dumps(row) + "\n" for row in rows), **options)
    return []


def table_in_job(account: Account, rows: Sequence[Row], **options: Any) -> list[Row]:
    run_file(account, as_table(rows), **options)
    return []


each_way = pytest.mark.parametrize(
    "import_",
    [as_rows, import_as_table, in_job, table_in_job],
    ids=["rows", "table", "job", "table in a job"],
)


def statuses(account: Account) -> dict[str, str]:
    rows = account.ok("ListSubscribers", limit=100)["subscribers"]
    return {row["email"].partition("@")[0]: row["status"] for row in rows}


@each_way
def test_people_whose_rows_state_nothing_get_the_consent_of_the_import(
    account: Account, import_: Import
) -> None:
    rows: list[Row] = [
        {"email": "nothing@b.io"},
        {"email": "status@b.io", "status": "UNCONFIRMED"},
        {"email": "flag@b.io", "isConfirmed": False},
        {"email": "optout@b.io", "status": "UNSUBSCRIBED", "consentSource": "Shop"},
        {"email": "date@b.io", "unsubscribedAt": "2024-01-01T00:00:00Z"},
        {
            "email": "again@b.io",
            "unsubscribedAt": "2024-01-01T00:00:00Z",
            "confirmedAt": "2025-01-01T00:00:00Z",
        },
        {"email": "flagged@b.io", "isConfirmed": True, "consentSource": "Shop"},
    ]

    import_(account, rows, **STATED)

    assert statuses(account) == {
        "nothing": "CONFIRMED",
        "status": "UNCONFIRMED",
        "flag": "UNCONFIRMED",
        "optout": "UNSUBSCRIBED",
        "date": "UNSUBSCRIBED",
        "again": "UNCONFIRMED",
        "flagged": "CONFIRMED",
    }
    sources = {row["email"]: full(account, row["email"])["consent"]["source"] for row in rows}
    expected = {row["email"]: row.get("consentSource", SOURCE) for row in rows}
    assert sources == expected


@each_way
def test_people_are_unconfirmed_without_the_option(account: Account, import_: Import) -> None:
    import_(account, [{"email": "a@b.io"}], consentSource=SOURCE)

    assert statuses(account) == {"a": "UNCONFIRMED"}
    assert full(account, "a@b.io")["consent"]["source"] == SOURCE


@each_way
@pytest.mark.parametrize("on_conflict", ["FAIL", "SKIP", "UPDATE"])
def test_existing_and_suppressed_people_keep_their_consent(
    account: Account, import_: Import, on_conflict: str
) -> None:
    for status in STATUSES:
        create_subscriber_in(account, status, f"{status.lower()}@b.io")
    before = statuses(account)
    consent = {name: full(account, f"{name}@b.io").get("consent") for name in before}
    suppress(account, "blocked@b.io")
    create_subscriber_in(account, "UNSUBSCRIBED", "deleted@b.io")
    account.ok("DeleteSubscriber", id="deleted@b.io")
    rows = [{"email": f"{name}@b.io", "firstName": "Ada"} for name in before]

    import_(
        account,
        [*rows, {"email": "blocked@b.io"}, {"email": "deleted@b.io"}],
        onConflict=on_conflict,
        **STATED,
    )

    assert statuses(account) == before
    assert {name: full(account, f"{name}@b.io").get("consent") for name in before} == consent
    updates = on_conflict == "UPDATE"
    assert full(account, "unconfirmed@b.io")["firstName"] == ("Ada" if updates else "")


def test_opt_out_in_a_later_row_of_the_address_holds(account: Account) -> None:
    rows = [{"email": "a@b.io"}, {"email": "A@b.io", "status": "UNSUBSCRIBED"}, {"email": "a@b.io"}]

    as_rows(account, rows, onConflict="UPDATE", **STATED)

    assert statuses(account) == {"a": "UNSUBSCRIBED"}


def test_columns_of_opt_outs_and_of_services_take_precedence(account: Account) -> None:
    tables: list[tuple[str, dict[str, Any]]] = [
        (
            "email,no mail\nout@b.io,yes\nno@b.io,no\nempty@b.io,\n",
            {"columnMap": ["no mail=optedOut"]},
        ),
        ("email,box\nchecked@b.io,yes\nnever@b.io,\n", {"columnMap": ["box=optedIn"]}),
        (
            "Email,Unsubscribed from all email,Create Date\nhub@b.io,,2024-01-01\n",
            {"preset": "HUBSPOT"},
        ),
        ("Email,Create Date\nplain@b.io,2024-01-01\n", {"preset": "HUBSPOT"}),
    ]
    for table, options in tables:
        streamed = send_table(account, table, **STATED, **options)
        assert streamed.error is None, streamed.error

    assert statuses(account) == {
        "out": "UNSUBSCRIBED",
        "no": "CONFIRMED",
        "empty": "CONFIRMED",
        "checked": "CONFIRMED",
        "never": "UNCONFIRMED",
        "hub": "UNCONFIRMED",
        "plain": "CONFIRMED",
    }


def test_dry_runs_inspections_and_filters_count_the_stated_status(account: Account) -> None:
    create_subscriber(account, "old@b.io")
    table = "email\nold@b.io\nnew@b.io\n"
    options = {**STATED, "onConflict": "UPDATE"}

    streamed = send_table(account, table, dryRun=True, **options)
    job = upload(account, table.encode(), options=options)
    dry = run(account, job, dryRun=True)

    assert streamed.summary is not None
    assert streamed.summary["statuses"] == dry["summary"]["statuses"] == {"CONFIRMED": 1}
    assert streamed.summary["statusesKept"] == dry["summary"]["statusesKept"] == 0
    assert job["statuses"] == [{"status": "CONFIRMED", "rows": 2}]
    assert {name: job["options"][name] for name in STATED} == STATED
    assert statuses(account) == {"old": "UNCONFIRMED"}
    kept = send_rows(account, [{"email": "c@b.io"}], filter="status = CONFIRMED", **STATED)
    assert kept.error is None
    assert statuses(account)["c"] == "CONFIRMED"


@pytest.mark.parametrize("source", ["x" * 201, "a\x00b"])
def test_origin_of_the_consent_has_the_bounds_of_a_row(account: Account, source: str) -> None:
    streamed = send_rows(account, [{"email": "a@b.io"}], consentSource=source)

    assert streamed.error is not None
    assert [field for field, _ in streamed.error.violations] == ["consentSource"]
    options = {"consentSource": source}
    refused = account.fails("ValidationError", "CreateImport", name="x", size=1, options=options)
    assert [field for field, _ in refused.violations] == ["options.consentSource"]
    assert statuses(account) == {}
