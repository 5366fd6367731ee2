"""Changes of the data type of a custom field, over every front and on both databases."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field, create_subscriber
from .import_jobs import settled, upload

pytestmark = pytest.mark.each_database

# A value of each type that converts to another one, with filters that are valid with both and match
# it, and filters of the new type that do not match.
CASES: list[tuple[str, Any, str, Any, list[str], list[str]]] = [
    ("TEXT", "42", "NUMBER", 42, ['= "42"', "> 41.5", "<= 42", ":*"], ["= 4", "> 42"]),
    ("TEXT", "4.50", "NUMBER", 4.5, ["= 4.5", "< 5"], ["= 4.51"]),
    ("TEXT", "-1.5e-3", "NUMBER", -0.0015, ["= -0.0015", "< 0"], ["> 0"]),
    ("TEXT", "true", "BOOLEAN", True, ["= true"], ["= false"]),
    ("TEXT", "false", "BOOLEAN", False, ["= false"], ["= true"]),
    (
        *("TEXT", "2026-01-31", "DATE", "2026-01-31"),
        *(['= "2026-01-31"', '> "2026-01-30T23:59:59Z"'], ["> 2026-01-31"]),
    ),
    ("NUMBER", 42, "TEXT", "42", ['= "42"', '= "4*"', ':"2"', '< "5"'], ['= "42.0"', '> "5"']),
    ("NUMBER", 0.1, "TEXT", "0.1", ['= "0.1"'], ['= "0.10"']),
    ("NUMBER", 1e300, "TEXT", "1e+300", [':"E+300"'], ['= "1"']),
    ("BOOLEAN", True, "TEXT", "true", ['= "true"', ':"RU"'], ['= "1"']),
    ("DATE", "2026-01-31", "TEXT", "2026-01-31", ['= "2026-01-31"', '= "2026*"'], ['= "2027*"']),
]


def field_of(account: Account, data_type: str, label: str = "F") -> str:
    return str(
        account.ok("CreateCustomField", label=label, dataType=data_type)["customField"]["id"]
    )


def change(account: Account, field_id: str, data_type: str) -> dict[str, Any]:
    updated: dict[str, Any] = account.ok("UpdateCustomField", id=field_id, dataType=data_type)
    assert updated["customField"]["dataType"] == data_type
    return updated


def value_of(account: Account, email: str) -> Any:
    return account.ok("GetSubscriber", id=email)["subscriber"]["customFields"]["f"]


def matches(account: Account, condition: str) -> list[str]:
    return listed(account, f"customFields.f {condition}")


def listed(account: Account, text: str) -> list[str]:
    found = account.ok("ListSubscribers", filter=text)["subscribers"]
    return [subscriber["email"] for subscriber in found]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} {case[1]} to {case[2]}")
def test_values_have_the_new_type_in_responses_and_filters_and_return(
    account: Account, case: tuple[str, Any, str, Any, list[str], list[str]]
) -> None:
    before, value, after, expected, matching, others = case
    field_id = field_of(account, before)
    create_subscriber(account, "ada@example.com", customFields={"f": value})
    create_subscriber(account, "bob@example.com")

    change(account, field_id, after)

    found = value_of(account, "ada@example.com")
    assert found == expected
    assert isinstance(found, bool) is isinstance(expected, bool)
    for condition in matching:
        assert matches(account, condition) == ["ada@example.com"], condition
        assert listed(account, f"NOT customFields.f {condition}") == ["bob@example.com"]
    for condition in others:
        assert matches(account, condition) == [], condition
    suggested = account.ok("SuggestCustomFieldValues", id=field_id)["values"]
    assert suggested == [{"value": expected, "total": 1}]
    rendered = account.ok(
        "RenderMergeTags", subject="{{customFields.f}}", subscriberId="ada@example.com"
    )
    change(account, field_id, before)
    assert value_of(account, "ada@example.com") == value
    if isinstance(value, str) and isinstance(expected, str):
        assert rendered["subject"] == value


@pytest.mark.parametrize(
    ("data_type", "texts"),
    [
        ("NUMBER", ["042", "+5", ".5", "5.", "1,000", " 1", "1 ", "NaN", "9007199254740993", "٣"]),
        ("NUMBER", ["1e400", "0" * 70, "1" + "0" * 63, "", "true", "1/2", "0x10", "1_000"]),
        ("BOOLEAN", ["True", "1", "yes", "TRUE", ""]),
        ("DATE", ["31.01.2026", "2026-02-30", "2026-1-1", "20260131", ""]),
    ],
)
def test_change_that_is_not_exact_is_rejected_with_examples(
    account: Account, data_type: str, texts: list[str]
) -> None:
    field_id = field_of(account, "TEXT")
    valid = {"NUMBER": "42", "BOOLEAN": "true", "DATE": "2026-01-31"}[data_type]
    for number, value in enumerate([valid, *texts]):
        create_subscriber(account, f"p{number}@example.com", customFields={"f": value})
    before = account.ok("GetCustomField", id=field_id)

    error = account.fails(
        "ValuesNotConvertible", "UpdateCustomField", id=field_id, dataType=data_type
    )

    assert error.status == 409
    details, message = error.body["error"]["details"], error.body["error"]["message"]
    shortened = [text if len(text) <= 60 else f"{text[:59]}…" for text in texts[:5]]
    assert message.startswith(f"This custom field has {len(texts)} values that do not convert")
    assert [(detail["field"], detail["message"]) for detail in details] == [
        ("dataType", f"does not convert {json.dumps(text, ensure_ascii=False)}")
        for text in shortened
    ]
    assert account.ok("GetCustomField", id=field_id) == before
    assert listed(account, f'customFields.f = "{valid}"') == ["p0@example.com"]


def test_running_import_converts_the_values_of_later_rows(account: Account) -> None:
    fields = [create_field(account, name) for name in ("Seats", "Paid")]
    lines = [f"p{number}@example.com,7,false" for number in range(8_000)]
    job = upload(account, "\n".join(["email,Seats,Paid", *lines]).encode())
    account.ok("StartImport", id=job["id"])
    while not account.ok("GetImport", id=job["id"])["import"]["processed"]:
        time.sleep(0.01)

    for field, data_type in zip(fields, ("NUMBER", "BOOLEAN"), strict=True):
        account.ok("UpdateCustomField", id=field["id"], dataType=data_type)
    summary = settled(account, job)["summary"]

    assert (summary["created"], summary["reasons"]) == (len(lines), [])
    last = account.ok("ListSubscribers", limit=1, order="desc")["subscribers"][0]
    assert last["customFields"] == {"seats": 7, "paid": False}


@pytest.mark.parametrize(
    "types", [("NUMBER", "BOOLEAN"), ("BOOLEAN", "NUMBER"), ("DATE", "NUMBER")]
)
def test_other_types_convert_only_without_values(account: Account, types: tuple[str, str]) -> None:
    before, after = types
    field_id = field_of(account, before)
    value = {"NUMBER": 1, "BOOLEAN": True, "DATE": "2026-01-31"}[before]
    created = create_subscriber(account, "ada@example.com", customFields={"f": value})

    account.fails("ValuesNotConvertible", "UpdateCustomField", id=field_id, dataType=after)

    account.ok("UpdateSubscriber", id=created["id"], customFields={"f": None})
    change(account, field_id, after)


def test_values_stored_before_and_after_a_change_are_one_set(account: Account) -> None:
    field_id = field_of(account, "TEXT")
    field_of(account, "NUMBER", "G")
    create_subscriber(account, "a@example.com", customFields={"f": "10", "g": 10})
    create_subscriber(account, "b@example.com", customFields={"f": "9", "g": 10})
    change(account, field_id, "NUMBER")
    create_subscriber(account, "c@example.com", customFields={"f": 100, "g": 10})
    account.fails(
        "ValidationError", "CreateSubscriber", email="d@example.com", customFields={"f": "5"}
    )

    assert matches(account, ">= 10") == ["a@example.com", "c@example.com"]
    assert listed(account, "customFields.f = customFields.g") == ["a@example.com"]
    assert listed(account, "customFields.g > customFields.f") == ["b@example.com"]
    # An equal value is no change.
    before = account.ok("GetSubscriber", id="b@example.com", view="FULL")
    account.ok("UpdateSubscriber", id="b@example.com", customFields={"f": 9})
    assert account.ok("GetSubscriber", id="b@example.com", view="FULL") == before

    change(account, field_id, "TEXT")

    assert [value_of(account, f"{name}@example.com") for name in "abc"] == ["10", "9", "100"]
    assert matches(account, '= "1*"') == ["a@example.com", "c@example.com"]
    assert matches(account, '< "9"') == ["a@example.com", "c@example.com"]
    account.fails("ValidationError", "ListSubscribers", filter="customFields.f = customFields.g")
    values = account.ok("SuggestCustomFieldValues", id=field_id, prefix="1")["values"]
    assert values == [{"value": "10", "total": 1}, {"value": "100", "total": 1}]
    change(account, field_id, "NUMBER")
    assert matches(account, "> 9") == ["a@example.com", "c@example.com"]


def test_segment_follows_or_keeps_the_type(account: Account) -> None:
    field_id = field_of(account, "TEXT")
    create_subscriber(account, "ada@example.com", customFields={"f": "42"})
    exact = account.ok("CreateSegment", name="Exact", filter='customFields.f = "42"')["segment"]
    prefix = account.ok("CreateSegment", name="Prefix", filter='customFields.f = "4*"')["segment"]

    error = account.fails("UsedBySegments", "UpdateCustomField", id=field_id, dataType="NUMBER")

    assert error.violations == [("dataType", "IN_USE")]
    message = error.body["error"]["details"][0]["message"]
    assert message == f"is used by the segment Prefix ({prefix['id']})"
    assert "not valid with the type NUMBER" in error.body["error"]["message"]
    assert value_of(account, "ada@example.com") == "42"
    account.ok("UpdateSegment", id=prefix["id"], filter="status = CONFIRMED")
    change(account, field_id, "NUMBER")
    account.ok("UpdateSegment", id=prefix["id"], filter="customFields.f >= 4")
    found = account.ok("ListSubscribers", segmentId=exact["id"])["subscribers"]
    assert [subscriber["email"] for subscriber in found] == ["ada@example.com"]
    of_person = account.ok("ListSubscriberSegments", id="ada@example.com")["segments"]
    assert [segment["name"] for segment in of_person] == ["Exact", "Prefix"]
