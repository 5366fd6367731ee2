"""Imports of subscribers from tables: columns, cells and invalid headers."""

from __future__ import annotations

import pytest

from ..conftest import Account
from .helpers import create_field, emails, over_http
from .streams import (
    IMPORT,
    IMPORT_SUPPRESSIONS,
    Rpc,
    import_table,
    send_body,
    send_lines,
    send_table,
    written_table,
)
from .test_import import line_outcomes, list_subscribers, outcomes, post_import, rejections


@pytest.mark.parametrize(
    ("header", "cells"),
    [
        ("email,firstName,lastName,tags,isConfirmed,size_of_shoes", "a@b.io,Ada,King,vip,yes,44"),
        ("Size of Shoes,IS CONFIRMED,TAGS,last_name,First Name,E-Mail", "44,1,vip,King,Ada,a@b.io"),
        (
            "id,updatedAt,status,customFields.size_of_shoes,is_confirmed,tags,name,email address",
            "1,never,confirmed,44,no,vip,Ada King,a@b.io",
        ),
        (
            "\ufeff\ufeffemail,first\u00adName,\u200blastName,tags\u200e,isConfirmed,size of shoes",
            "a@b.io,Ada,King,vip,yes,44",
        ),
        (
            "ï»¿Email,First name:,last_name*,[tags],ｓｔａｔｕｓ,size of shoes",
            "a@b.io,Ada,King,vip,confirmed,44",
        ),
        ("tags,isconfirmed,email,CustomFields.Size Of Shoes", "vip,1,Ada King <a@b.io>,44"),
    ],
)
def test_columns_are_matched_by_name(account: Account, header: str, cells: str) -> None:
    create_field(account, "Size of shoes", "NUMBER")

    results = import_table(account, f"{header}\n{cells}\n")

    assert line_outcomes(results) == [(2, "CREATED")]
    assert results[0]["email"] == "a@b.io"
    (created,) = list_subscribers(account)
    assert (created["email"], created["firstName"], created["lastName"]) == (
        "a@b.io",
        "Ada",
        "King",
    )
    assert (created["status"], created["tags"]) == ("CONFIRMED", ["vip"])
    assert created["customFields"] == {"size_of_shoes": 44}


@over_http
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "byte-order mark"])
def test_csv_dialects_of_common_programs_are_imported(
    account: Account, delimiter: str, line_break: str, mark: str
) -> None:
    lines = [["email", "name", "tags"], ["ada@b.io", "Ada King", "vip|press"], ["bob@b.io", "", ""]]
    text = mark + line_break.join(delimiter.join(line) for line in lines)

    results = post_import(account, text.encode(), "text/csv")

    assert line_outcomes(results) == [(2, "CREATED"), (3, "CREATED")]
    ada, _ = list_subscribers(account)
    assert (ada["firstName"], ada["lastName"], ada["tags"]) == ("Ada", "King", ["press", "vip"])


@over_http
@pytest.mark.parametrize(
    ("encoding", "content_type", "query"),
    [
        ("utf-16", "text/csv", ""),
        ("cp1252", "text/csv", "?charset=windows-1252"),
        ("latin-1", "text/csv; charset=ISO-8859-1", ""),
        ("latin-1", "text/csv; charset=utf-8", "?charset=latin1"),
    ],
)
def test_other_encodings_are_imported(
    account: Account, encoding: str, content_type: str, query: str
) -> None:
    post_import(account, "sep=;\nemail;name\na@b.io;Zoë\n".encode(encoding), content_type, query)

    assert [row["firstName"] for row in list_subscribers(account)] == ["Zoë"]


@over_http
@pytest.mark.parametrize(
    ("charset", "message"),
    [
        (
            "",
            "must be encoded in UTF-8; set another encoding, such as charset=windows-1252"
            " (line 3, byte 10)",
        ),
        ("utf-16-le", "must be encoded in utf-16-le (line 1, byte 37)"),
    ],
)
def test_text_in_another_encoding_is_reported_with_its_position(
    account: Account, charset: str, message: str
) -> None:
    body = b"email,name\na@b.io,Ada\nb@b.io,Zo\xeb Lee\n"

    error = send_body(account, "text/csv", body, {"charset": charset}).error

    assert error is not None
    assert [detail["message"] for detail in error.body["error"]["details"]] == [message]


@pytest.mark.parametrize(("rpc", "reason"), [(IMPORT, "INVALID_ROW"), (IMPORT_SUPPRESSIONS, None)])
def test_malformed_row_fails_alone_and_suppresses_its_address(
    account: Account, rpc: Rpc, reason: str | None
) -> None:
    text = 'email,reason\na@b.io,\nb@b.io,"B" x\nc@b.io,"open\nd@b.io,\n'
    lines = [
        {"number": 1, "cells": ["email", "reason"]},
        {"number": 2, "cells": ["a@b.io", ""]},
        {"number": 3, "cells": ["b@b.io", '"B" x'], "malformed": True},
        {"number": 4, "cells": ["c@b.io", '"open'], "malformed": True},
        {"number": 5, "cells": ["d@b.io", ""]},
    ]
    options = {"ignoreColumns": ["reason"]} if rpc is IMPORT else {}

    streamed = send_lines(account, text, lines, rpc, **options)

    assert [(row["line"], row["email"], row.get("reason")) for row in streamed.records] == [
        (2, "a@b.io", None),
        (3, "b@b.io", reason),
        (4, "c@b.io", reason),
        (5, "d@b.io", None),
    ]


def test_corrected_rows_of_a_file_of_failed_rows_are_imported(account: Account) -> None:
    create_field(account, "Reason")
    table = [
        ["email", "firstName", "lastName", "reason", "line", "reason", "field"],
        ["a@b.io", "A", "B", "why", "2", "X", "y"],
        # Corrected, without the added columns.
        ["b@b.io", "A", "B", "how"],
        # Not corrected: the last cells are those of the added columns.
        ["c@b.io", "4", "INVALID_ROW", ""],
    ]

    results = import_table(account, written_table(table))

    assert outcomes(results) == ["CREATED", "CREATED", "FAILED"]
    values = [row["customFields"] for row in list_subscribers(account)]
    assert values == [{"reason": "why"}, {"reason": "how"}]


def test_empty_cells_are_ignored(account: Account) -> None:
    for data_type in ("TEXT", "NUMBER", "BOOLEAN", "DATE"):
        create_field(account, f"A {data_type}", data_type)
    header = "email,firstName,lastName,isConfirmed,tags,a_text,a_number,a_boolean,a_date"

    results = import_table(account, f"{header}\nada@b.io,,,,,,,,\nbob@b.io, , , , , , , , \n")

    assert outcomes(results) == ["CREATED"] * 2
    for created in list_subscribers(account):
        assert (created["firstName"], created["lastName"], created["tags"]) == ("", "", [])
        assert created["status"] == "UNCONFIRMED"
        assert "customFields" not in created


def test_full_name_next_to_a_first_name_loses_no_text(account: Account) -> None:
    results = import_table(
        account,
        "email,name,firstName,lastName\n"
        "a@b.io,Ann Lee,Bob,\nb@b.io,Ann Lee,Ann,\nc@b.io,Ann Lee,,Lee\n"
        "d@b.io,Ann Lee,,\ne@b.io,Ann Lee,Ann,Lee\nf@b.io,Ann Marie Lee,Ann,Lee\n",
    )

    assert rejections(results) == [(None, None)] * 5 + [("INVALID_FIELD", "name")]
    assert [
        (created["firstName"], created["lastName"]) for created in list_subscribers(account)
    ] == [
        ("Bob", "Ann Lee"),
        *[("Ann", "Lee")] * 4,
    ]


@pytest.mark.parametrize(
    ("header", "violations"),
    [
        ("email,color", [("color", "UNKNOWN_FIELD")]),
        ("email,customFields.color", [("customFields.color", "UNKNOWN_FIELD")]),
        ("firstName,lastName", [("email", "REQUIRED")]),
        ("email,tags,Tags", [("tags", "DUPLICATE_FIELD"), ("Tags", "DUPLICATE_FIELD")]),
        (
            "email,size,Size of shoes",
            [("size", "DUPLICATE_FIELD"), ("Size of shoes", "DUPLICATE_FIELD")],
        ),
        ("ada@b.io", [("ada@b.io", "UNKNOWN_FIELD"), ("email", "REQUIRED")]),
        ("email" + "," * 2_000, [("", "TOO_MANY")]),
        (f"email,{'x' * (256 << 10)}", [("", "TOO_LONG")]),
    ],
    ids=["unknown", "unknown key", "missing", "twice", "label", "address", "many", "long"],
)
def test_invalid_header_fails_the_import(
    account: Account, header: str, violations: list[tuple[str, str]]
) -> None:
    created = create_field(account, "Size")
    account.ok("UpdateCustomField", id=created["id"], label="Size of shoes")

    response = send_table(account, f"{header}\nada@b.io,Ada,King\n")

    assert response.records == []
    assert response.error is not None
    assert (response.error.status, response.error.code) == (400, "ValidationError")
    assert response.error.violations == violations
    assert emails(account) == []


def test_column_with_punctuation_is_unknown_next_to_its_field_or_if_it_is_read_only(
    account: Account,
) -> None:
    table = "email,Email?,ID #,Status:\na@b.io,yes,7,unsubscribed\n"

    result = send_table(account, table, unknownColumns="IGNORE")

    assert result.summary is not None
    assert result.summary["ignoredColumns"] == ["Email?", "ID #"]
    assert result.summary["statuses"] == {"UNSUBSCRIBED": 1}
