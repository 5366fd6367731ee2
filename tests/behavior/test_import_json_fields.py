"""Imports of JSON rows with custom fields that the account does not have."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..conftest import Account
from .helpers import create_field
from .streams import Row, StreamResult, import_rows, send_rows
from .test_import import by_address, outcomes, rejections

CREATE = "CREATE_FIELDS"


def fields(account: Account) -> dict[str, str]:
    """Returns the data types of the custom fields by key."""
    found = account.ok("ListCustomFields", limit=100)["customFields"]
    return {field["key"]: field["dataType"] for field in found}


def imported(account: Account, rows: list[Row], **options: Any) -> Row:
    streamed = send_rows(account, rows, unknownColumns=CREATE, **options)
    assert streamed.error is None, streamed.error
    assert set(outcomes(streamed.records)) == {"CREATED"}
    assert streamed.summary is not None
    return streamed.summary


def test_unknown_fields_are_created_with_the_type_of_the_first_value(account: Account) -> None:
    create_field(account, "Favorite color")
    values: list[Row] = [
        {"nothing": None, "age": None, "Favorite color": "red"},
        {"age": 5, "vip": True, "Shoe size": "44", "born": "2001-02-03"},
        {"age": 6.5, "vip": None, "shoe_size": "45", "favorite_color": "blue"},
    ]
    rows = [{"email": f"{n}@b.io", "customFields": value} for n, value in enumerate(values)]

    summary = imported(account, rows)

    assert summary["createdFields"] == ["age", "born", "vip", "shoe_size"]
    assert fields(account) == {
        "favorite_color": "TEXT",
        "age": "NUMBER",
        "vip": "BOOLEAN",
        "shoe_size": "TEXT",
        "born": "TEXT",
    }
    assert [by_address(account, f"{n}@b.io")["customFields"] for n in range(3)] == [
        {"favorite_color": "red"},
        {"age": 5, "vip": True, "shoe_size": "44", "born": "2001-02-03"},
        {"age": 6.5, "shoe_size": "45", "favorite_color": "blue"},
    ]


def test_unknown_fields_are_ignored_and_reported(account: Account) -> None:
    create_field(account, "Town")
    rows = [
        {"email": "a@b.io", "customFields": {"town": "Rome", "x": 1}},
        {"email": "b@b.io", "customFields": {"y": None, "x": [1]}},
    ]

    streamed = send_rows(account, rows, unknownColumns="IGNORE")

    assert outcomes(streamed.records) == ["CREATED", "CREATED"]
    assert by_address(account, "a@b.io")["customFields"] == {"town": "Rome"}
    assert streamed.summary is not None
    assert streamed.summary["ignoredColumns"] == ["x", "y"]
    assert list(fields(account)) == ["town"]


def test_rows_with_values_of_no_field_fail_alone(account: Account) -> None:
    rows = [
        {"email": "a@b.io", "customFields": {"list": [1]}},
        {"email": "b@b.io", "customFields": {"!": "x"}},
        {"email": "c@b.io", "customFields": {"age": 1}},
        {"email": "d@b.io", "customFields": {"age": "old"}},
        {"email": "invalid", "customFields": {"town": "Rome"}},
    ]

    streamed = send_rows(account, rows, unknownColumns=CREATE)

    assert rejections(streamed.records) == [
        ("UNKNOWN_CUSTOM_FIELD", "customFields.list"),
        ("UNKNOWN_CUSTOM_FIELD", "customFields.!"),
        (None, None),
        ("INVALID_CUSTOM_FIELD", "customFields.age"),
        ("INVALID_EMAIL", "email"),
    ]
    assert fields(account) == {"age": "NUMBER"}


def test_dry_run_reports_the_fields_of_all_transactions_and_creates_none(account: Account) -> None:
    rows = [
        {"email": f"{n % 1_900}@b.io", "customFields": {"first" if n < 2_000 else "second": n}}
        for n in range(3_000)
    ]

    def run(**options: Any) -> StreamResult:
        return send_rows(account, rows, unknownColumns=CREATE, onConflict="SKIP", **options)

    dry_run = run(dryRun=True)

    assert fields(account) == {}
    streamed = run()
    assert dry_run.summary is not None
    assert {**dry_run.summary, "dryRun": False} == streamed.summary
    assert dry_run.summary["createdFields"] == ["first", "second"]


def test_concurrent_imports_create_each_field_once(account: Account) -> None:
    def run(number: int) -> list[Row]:
        values = {f"field {n}": n for n in range(number, number + 20)}
        rows = [{"email": f"{number}-{n}@b.io", "customFields": values} for n in range(5)]
        return import_rows(account, rows, unknownColumns=CREATE)

    with ThreadPoolExecutor(8) as threads:
        results = list(threads.map(run, range(8)))

    assert {outcome for records in results for outcome in outcomes(records)} == {"CREATED"}
    assert sorted(fields(account)) == sorted(f"field_{n}" for n in range(27))
