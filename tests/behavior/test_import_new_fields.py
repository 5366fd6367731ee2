"""Imports as jobs: columns that become custom fields of a type."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field
from .import_jobs import failures, run, run_file, settled, upload

pytestmark = pytest.mark.each_database

FILE = b"email,Points,Since\nada@example.com,36.0,31.12.2024\nbob@example.com,many,\n"
POINTS = {"column": "Points", "label": "Loyalty points", "dataType": "NUMBER"}
SINCE = {"column": "#3", "label": "Since", "dataType": "DATE"}
OPTIONS: dict[str, Any] = {"newFields": [POINTS, SINCE], "dateFormat": "DMY"}
KEYS = [("loyalty_points", "NUMBER"), ("since", "DATE")]


def fields(account: Account) -> list[tuple[str, str]]:
    return [(f["key"], f["dataType"]) for f in account.ok("ListCustomFields")["customFields"]]


def test_only_the_started_import_creates_its_new_fields(account: Account) -> None:
    job = upload(account, FILE, options=OPTIONS)

    assert job["problems"] == []
    targets = ["email", "customFields.loyalty_points", "customFields.since"]
    assert [column["target"] for column in job["columns"]] == targets
    first, second = job["sample"]
    assert first["customFields"] == {"loyalty_points": "36", "since": "2024-12-31"}
    wrong = {"field": "customFields.loyalty_points", "reason": "INVALID_CUSTOM_FIELD"}
    assert wrong.items() <= second.items()
    checked = run(account, job, dryRun=True)["summary"]
    assert (checked["created"], checked["failed"]) == (1, 1)
    assert checked["createdFields"] == ["loyalty_points", "since"]
    assert fields(account) == []
    job = run(account, job)
    assert job["summary"] == {**checked, "dryRun": False}
    assert fields(account) == KEYS
    values = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]["customFields"]
    assert values == {"loyalty_points": 36, "since": "2024-12-31"}
    failed = failures(account, job)[0]
    assert (failed["line"], failed["field"]) == (3, "customFields.loyalty_points")

    # The fields stay after an undo, and another import with the options sets them.
    settled_undo(account, job)
    again = run_file(account, FILE, **OPTIONS)
    assert (again["summary"]["created"], again["summary"]["createdFields"]) == (1, [])
    assert fields(account) == KEYS


def settled_undo(account: Account, job: dict[str, Any]) -> None:
    undo = account.ok("UndoImport", id=job["id"])["operation"]
    while undo["state"] in ("PENDING", "RUNNING"):
        undo = account.ok("GetOperation", id=undo["id"])["operation"]
    assert (undo["state"], undo["changed"]) == ("SUCCEEDED", 1)


def test_new_field_for_a_column_leaves_the_others_of_a_provider_ignored(account: Account) -> None:
    content = (
        b"Email Address,MEMBER_RATING,LEID,Fan,Note,Remark\n"
        b"a@b.io,2,7,9,unsubscribed,\nc@b.io,2,7,9,,unsubscribed\n"
    )
    new = [
        {"column": "Fan", "label": "Fan", "dataType": "NUMBER"},
        {"column": "Note", "label": "Note"},
    ]

    job = run_file(account, content, newFields=new)

    assert job["preset"] == "MAILCHIMP"
    assert job["summary"]["createdFields"] == ["fan", "note"]
    assert job["summary"]["ignoredColumns"] == ["MEMBER_RATING", "LEID", "Remark"]
    # An opt-out counts in an ignored column, and in one that becomes a field.
    assert job["summary"]["statuses"] == {"UNSUBSCRIBED": 2}


@pytest.mark.parametrize(
    ("new", "violation"),
    [
        ({"label": "A"}, ("options.newFields[0].column", "REQUIRED")),
        ({"column": "A"}, ("options.newFields[0].label", "REQUIRED")),
        ({"column": "A", "label": "A" * 81}, ("options.newFields[0].label", "TOO_LONG")),
        ({"column": "A", "label": "\U0001f600"}, ("options.newFields[0].label", "INVALID_FORMAT")),
        ({"column": "A", "label": "Email"}, ("options.newFields[0].label", "RESERVED")),
    ],
)
def test_new_field_that_no_file_can_have_is_rejected(
    account: Account, new: dict[str, str], violation: tuple[str, str]
) -> None:
    rejected = account.call("CreateImport", name="a.csv", size=9, options={"newFields": [new]})

    assert rejected.violations == [violation]


def test_more_than_100_new_fields_are_rejected(account: Account) -> None:
    options = {"newFields": [{"column": "A", "label": "A"}] * 101}

    rejected = account.call("CreateImport", name="a.csv", size=9, options=options)

    assert rejected.violations == [("options.newFields", "TOO_MANY")]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"newFields": [{"column": "Town", "label": "A"}]}, "newFields[0].column INVALID_VALUE"),
        ({"newFields": [POINTS, POINTS]}, "newFields[1].column DUPLICATE_FIELD"),
        (
            {"newFields": [POINTS], "columnMap": ["#2=tags"]},
            "newFields[0].column DUPLICATE_FIELD",
        ),
        (
            {"newFields": [POINTS], "ignoreColumns": ["Points"]},
            "newFields[0].column DUPLICATE_FIELD",
        ),
        ({"newFields": [{"column": "Opt-out", "label": "A"}]}, "Opt-out CONSENT_COLUMN"),
    ],
)
def test_new_field_that_does_not_fit_the_file_is_a_problem(
    account: Account, options: dict[str, Any], problem: str
) -> None:
    content = FILE if problem.startswith("newFields") else b"email,Opt-out\nada@example.com,yes\n"
    options = {"unknownColumns": "IGNORE", **options}

    job = upload(account, content, options=options)

    assert [f"{each['field']} {each['code']}" for each in job["problems"]] == [problem]
    assert account.call("StartImport", id=job["id"]).status == 400


def test_new_fields_beyond_the_limit_are_a_problem(account: Account) -> None:
    for number in range(99):
        create_field(account, f"Field {number}")

    job = upload(account, FILE, options=OPTIONS)

    assert [each["code"] for each in job["problems"]] == ["TOO_MANY"]
    account.ok("UpdateImport", id=job["id"], options={**OPTIONS, "newFields": [POINTS]})
    job = settled(account, job)
    assert [each["field"] for each in job["problems"]] == ["Since"]


def test_new_field_with_the_label_of_an_existing_one_sets_it(account: Account) -> None:
    create_field(account, "LOYALTY points", "TEXT")

    job = run_file(account, FILE, **OPTIONS)

    assert (job["summary"]["createdFields"], job["summary"]["created"]) == (["since"], 2)
    values = account.ok("GetSubscriber", id="ada@example.com")["subscriber"]["customFields"]
    assert values["loyalty_points"] == "36.0"
