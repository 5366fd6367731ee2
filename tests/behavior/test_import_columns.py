"""Imports of tables with mapped, unknown and created columns."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field
from .streams import Row, send_table, written_table
from .test_import import by_address, list_subscribers, outcomes


def names(account: Account) -> list[tuple[str, str]]:
    return [(row["firstName"], row["lastName"]) for row in list_subscribers(account)]


def import_mapped(account: Account, text: str, *column_map: str, **options: Any) -> Row:
    """Imports a table, expects every row to be created, and returns the summary."""
    streamed = send_table(account, text, columnMap=list(column_map), **options)
    assert streamed.error is None, streamed.error
    assert set(outcomes(streamed.records)) == {"CREATED"}
    assert streamed.summary is not None
    return streamed.summary


def violations(account: Account, text: str, **options: Any) -> list[tuple[str, str]]:
    error = send_table(account, text, **options).error
    assert error is not None
    assert error.status == 400
    return error.violations


def test_columns_are_mapped_to_fields(account: Account) -> None:
    create_field(account, "Town")
    table = [
        ["E-mail contact", "Joined", "City", "A=B", "group", "Group 2", "Notes"],
        ["a@b.io", "2024-05-01", "Rome", "Ada", "x", "y;z", "?"],
    ]
    column_map = (
        *("E-mail contact=email", "joined=createdAt+consentAt", "City=customFields.town"),
        *("A=B=firstName", "group=tags", "Group 2=tags", "Notes="),
    )

    summary = import_mapped(account, written_table(table), *column_map)

    row = account.ok("GetSubscriber", id="a@b.io", view="FULL")["subscriber"]
    assert (row["firstName"], row["tags"]) == ("Ada", ["x", "y", "z"])
    assert row["createdAt"] == row["consent"]["at"] == "2024-05-01T00:00:00.000Z"
    assert row["customFields"] == {"town": "Rome"}
    assert summary["ignoredColumns"] == []


@pytest.mark.parametrize(
    ("target", "cell", "expected"),
    [
        ("firstName+lastName", "Ada King Lovelace", ("Ada King", "Lovelace")),
        ("first+last", "Ada Lovelace", ("Ada", "Lovelace")),
        ("name", "Ada", ("Ada", "")),
        ("lastName+firstName", "Lovelace, Ada King", ("Ada King", "Lovelace")),
        ("last+first", "Lovelace Ada King", ("Ada King", "Lovelace")),
    ],
)
def test_full_name_is_split(
    account: Account, target: str, cell: str, expected: tuple[str, str]
) -> None:
    text = written_table([["email", "Who"], ["a@b.io", cell]])

    import_mapped(account, text, f"Who={target}")

    assert names(account) == [expected]


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("email", "INVALID_FORMAT"),
        ("=email", "INVALID_FORMAT"),
        ("Town=customFields.town", "INVALID_VALUE"),
        ("Notes=colour", "INVALID_VALUE"),
        ("Notes=id", "INVALID_VALUE"),
        ("Notes=tags+colour", "INVALID_VALUE"),
    ],
)
def test_invalid_map_is_rejected(account: Account, entry: str, code: str) -> None:
    text = "email,Notes\n"

    assert violations(account, text, columnMap=["Notes=tags", entry]) == [("columnMap[1]", code)]


def test_unknown_columns_can_become_custom_fields(account: Account) -> None:
    create_field(account, "Town")
    text = "email,Town,Favourite colour,customFields.shoe_size,\na@b.io,Rome,red,44,x\n"

    summary = import_mapped(account, text, unknownColumns="CREATE_FIELDS")

    values = {"town": "Rome", "favourite_colour": "red", "shoe_size": "44"}
    assert by_address(account, "a@b.io")["customFields"] == values
    assert summary["createdFields"] == ["favourite_colour", "shoe_size"]
    fields = account.ok("ListCustomFields")["customFields"]
    assert [(field["label"], field["dataType"]) for field in fields[1:]] == [
        ("Favourite colour", "TEXT"),
        ("shoe_size", "TEXT"),
    ]


def test_columns_without_a_name_of_their_own_are_unknown_columns(account: Account) -> None:
    text = "email,,Phone,phone,\na@b.io,x,1,2,\n"

    error = send_table(account, text).error

    assert error is not None
    assert error.violations == [(name, "UNKNOWN_FIELD") for name in ("#2", "Phone", "phone", "#5")]
    assert "#2, Phone (#3), phone (#4), #5" in error.body["error"]["message"]
    summary = import_mapped(account, text, unknownColumns="IGNORE")
    assert summary["ignoredColumns"] == ["#2", "Phone", "phone", "#5"]


def test_columns_are_mapped_by_position(account: Account) -> None:
    text = "email,,email,#4,Tags,tags\na@b.io,Ada,b@b.io,Lee,x,y\n"

    assert violations(account, text, unknownColumns="IGNORE") == [
        *[("email", "DUPLICATE_FIELD")] * 2,
        *[("Tags", "DUPLICATE_FIELD"), ("tags", "DUPLICATE_FIELD")],
    ]
    column_map = ("#1=", "#2=firstName", "#4=lastName", "#5=tags", "#6=tags")
    import_mapped(account, text, *column_map)

    row = by_address(account, "b@b.io")
    assert (row["firstName"], row["lastName"], row["tags"]) == ("Ada", "Lee", ["x", "y"])


QUESTION = "What would you most like to read about in the newsletter over the coming year"


def test_columns_of_one_name_or_key_become_distinct_fields(account: Account) -> None:
    create_field(account, "Shoe size")
    header = [
        *("email", "Phone", "phone", "Shoe size!", "", "Shoe size", "Shoe-size"),
        *(f"{QUESTION}: [{option}]" for option in ("Databases", "Email")),
        *(f"{QUESTION}? Answer\n{number}" for number in (1, 2)),
    ]
    cells = ["@b.io", *(str(number) for number in range(1, len(header)))]

    def table(name: str) -> str:
        return written_table([header, [name + cells[0], *cells[1:]]])

    summary = import_mapped(account, table("a"), unknownColumns="CREATE_FIELDS")
    again = import_mapped(account, table("b"), unknownColumns="CREATE_FIELDS")

    values = by_address(account, "a@b.io")["customFields"]
    assert sorted(values.values(), key=int) == [*cells[1:4], *cells[5:]]
    assert values == by_address(account, "b@b.io")["customFields"]
    expected = {"phone": "1", "phone_2": "2", "shoe_size_2": "3", "shoe_size": "5"}
    assert {key: values[key] for key in expected} == expected
    assert (len(summary["createdFields"]), again["createdFields"]) == (8, [])
    assert summary["ignoredColumns"] == again["ignoredColumns"] == ["#5"]
    labels = [field["label"] for field in account.ok("ListCustomFields", limit=100)["customFields"]]
    assert labels[1:4] == ["Phone", "phone 2", "Shoe size!"]
    assert all(len(label) <= 80 for label in labels)
    assert labels[5].startswith(QUESTION[:30])
    assert labels[5].endswith("[Databases]")


def test_custom_fields_are_created_within_the_limit(account: Account) -> None:
    text = ",".join(["email", *(f"field {number}" for number in range(101))])

    error = send_table(account, text, unknownColumns="CREATE_FIELDS").error

    assert error is not None
    assert (error.status, error.code) == (409, "CustomFieldLimitReached")
    assert account.ok("ListCustomFields")["total"] == 0
