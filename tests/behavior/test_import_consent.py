"""Opt-outs in imported files: evidence, columns of other services, and rows with other defects."""

from __future__ import annotations

from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_field, create_subscriber, over_http
from .streams import (
    Row,
    export,
    export_table,
    send_body,
    send_rows,
    send_table,
    written_table,
)
from .test_import import Import, by_address, each_form, outcomes, rejections

OLD, NEW = "2023-02-03T04:05:06.000Z", "2024-02-03T04:05:06.000Z"


def imported_statuses(account: Account, table: str, **options: Any) -> dict[str, str]:
    """Imports a table and returns the statuses of the stored subscribers by address."""
    streamed = send_table(account, table, **options)
    assert streamed.error is None, streamed.error
    rows = account.ok("ListSubscribers", limit=100)["subscribers"]
    return {row["email"]: row["status"] for row in rows}


def test_flags_of_another_service_are_mapped(account: Account) -> None:
    table = (
        "email,Accepts Marketing,Blocked\n"
        "a@b.io,yes,no\nb@b.io,no,\nc@b.io,yes,yes\nd@b.io,,\ne@b.io,maybe,\nf@b.io,,2024-01-01\n"
        "g@b.io,Ja,Nein\nh@b.io,nein,\ni@b.io,ja,oui\nj@b.io,não,non\n"
        "k@b.io,gern,kaum\nl@b.io,nie wieder,\nm@b.io,yes,vielleicht\n"
        "n@b.io,not since 2021,\no@b.io,5/6/2021,\np@b.io,2,\nq@b.io,31/02/2024 abgemeldet,\n"
        "r@b.io,1/2/2024 nein,\ns@b.io,1/2/24 10:15 AM,\n"
    )

    stored = imported_statuses(
        account,
        table,
        columnMap=["Accepts Marketing=optedIn", "Blocked=optedOut"],
        # Words that mean yes or no keep their meaning.
        statusMap=[
            *("gern=CONFIRMED", "kaum=UNCONFIRMED", "nie wieder=COMPLAINED"),
            *("no=CONFIRMED", "yes=CONFIRMED"),
        ],
    )

    assert stored == {
        "a@b.io": "CONFIRMED",
        "b@b.io": "UNSUBSCRIBED",
        "c@b.io": "UNSUBSCRIBED",
        "d@b.io": "UNCONFIRMED",
        "f@b.io": "UNSUBSCRIBED",
        "g@b.io": "CONFIRMED",
        "h@b.io": "UNSUBSCRIBED",
        "i@b.io": "UNSUBSCRIBED",
        "j@b.io": "UNSUBSCRIBED",
        "k@b.io": "UNCONFIRMED",
        "l@b.io": "COMPLAINED",
        "m@b.io": "UNSUBSCRIBED",
        "o@b.io": "CONFIRMED",
        "s@b.io": "CONFIRMED",
    }


def test_unknown_words_of_flags_are_in_the_summary(account: Account) -> None:
    table = "email,Newsletter,isConfirmed\na@b.io,eventuell,\nb@b.io,vielleicht,\nc@b.io,ja,hm\n"

    records, summary = _records_and_summary(account, table, columnMap=["Newsletter=optedIn"])

    assert outcomes(records) == ["FAILED"] * 3
    flag, confirmed = sorted(summary["unrecognizedCells"], key=lambda cells: cells["column"])
    assert "statusMap" in flag.pop("hint")
    assert (flag["column"], flag["rows"], flag["example"]) == ("Newsletter", 2, "eventuell")
    assert flag["examples"] == ["eventuell", "vielleicht"]
    assert (confirmed["column"], confirmed["rows"], confirmed["examples"]) == (
        "isConfirmed",
        1,
        ["hm"],
    )


def test_status_words_are_known_or_mapped(account: Account) -> None:
    table = (
        "email,status\na@b.io,Subscribed\nb@b.io,cleaned\nc@b.io,Inactive\nd@b.io,gone\n"
        "e@b.io,paused\nf@b.io,marked-as-spam\ng@b.io,Dado de baja\nh@b.io,配信停止\n"
        "i@b.io,Unsubscribed (user)\nj@b.io,\u200bCleaned.\nk@b.io,“spam”\nl@b.io,“active”\n"
        'm@b.io,"=""un\u00adsubscribed"""\nn@b.io,unsubscribed: no\n'
    )

    table += "o@b.io,Wants no further mail from us.\n"
    words = ["gone=COMPLAINED", "inactive=BOUNCED", "Wants no further mail from us=UNSUBSCRIBED"]

    stored = imported_statuses(account, table, statusMap=words)

    assert stored == {
        "o@b.io": "UNSUBSCRIBED",
        "a@b.io": "CONFIRMED",
        "b@b.io": "BOUNCED",
        "c@b.io": "BOUNCED",
        "d@b.io": "COMPLAINED",
        "f@b.io": "COMPLAINED",
        "g@b.io": "UNSUBSCRIBED",
        "h@b.io": "UNSUBSCRIBED",
        "i@b.io": "UNSUBSCRIBED",
        "j@b.io": "BOUNCED",
        "k@b.io": "COMPLAINED",
        "m@b.io": "UNSUBSCRIBED",
    }


@over_http  # Over gRPC, the time of a row is a Timestamp.
def test_unknown_date_of_an_opt_out_counts_in_json_rows(account: Account) -> None:
    send_rows(account, [{"email": "a@b.io", "unsubscribedAt": "soon", "status": "CONFIRMED"}])

    assert by_address(account, "a@b.io")["status"] == "UNSUBSCRIBED"


@over_http  # Over gRPC, the status of a row is a number.
def test_status_words_are_known_in_json_rows(account: Account) -> None:
    rows = [
        {"email": "a@b.io", "status": "cleaned"},
        {"email": "b@b.io", "status": "raus"},
        {"email": "c@b.io", "status": "odd"},
        {"email": "d@b.io", "status": "Unsubscribed (user)"},
        # In other services, 2 can mean unsubscribed.
        {"email": "e@b.io", "status": 2},
        {"email": "f@b.io", "status": 3},
    ]

    results = send_rows(account, rows, statusMap=["Raus=UNSUBSCRIBED", "3=BOUNCED"]).records

    assert [row["line"] for row in results if row.get("field") == "status"] == [3, 5]
    assert by_address(account, "f@b.io")["status"] == "BOUNCED"
    assert by_address(account, "a@b.io")["status"] == "BOUNCED"
    assert by_address(account, "b@b.io")["status"] == "UNSUBSCRIBED"
    assert by_address(account, "d@b.io")["status"] == "UNSUBSCRIBED"


@each_form
def test_opt_out_with_a_date_counts_unless_a_later_time_follows(
    account: Account, import_: Import
) -> None:
    rows: list[tuple[Row, str]] = [
        ({"unsubscribedAt": OLD, "status": "CONFIRMED"}, "UNSUBSCRIBED"),
        ({"unsubscribedAt": OLD, "status": "COMPLAINED"}, "COMPLAINED"),
        ({"unsubscribedAt": NEW, "status": "CONFIRMED", "confirmedAt": OLD}, "UNSUBSCRIBED"),
        ({"unsubscribedAt": OLD, "status": "CONFIRMED", "confirmedAt": NEW}, "CONFIRMED"),
        ({"unsubscribedAt": OLD, "status": "UNCONFIRMED", "statusChangedAt": NEW}, "UNCONFIRMED"),
        ({"unsubscribedAt": "2999-01-01T00:00:00Z", "status": "CONFIRMED"}, "UNSUBSCRIBED"),
    ]

    import_(account, [{"email": f"{n}@b.io", **row} for n, (row, _) in enumerate(rows)])

    stored = [by_address(account, f"{n}@b.io")["status"] for n in range(len(rows))]
    assert stored == [status for _, status in rows]


def test_mark_that_is_a_null_token_states_nothing(account: Account) -> None:
    table = "EMAIL,BLOCKLISTED\na@b.io,NULL\nc@d.io,no\n"

    stored = imported_statuses(account, table, nullTokens=["NULL"])

    assert stored == {"a@b.io": "UNCONFIRMED", "c@d.io": "CONFIRMED"}


@each_form
def test_opt_out_counts_for_each_address_of_its_cell(account: Account, import_: Import) -> None:
    names = [f"{n}@b.io" for n in range(5)]
    texts = [f"{names[0]}; {names[1]}", "2%40b.io", "３@b.io", f"{names[4]}."]

    results = import_(
        account,
        [
            *({"email": text, "status": "UNSUBSCRIBED", "firstName": "Ada"} for text in texts),
            *({"email": name, "status": "CONFIRMED"} for name in names),
            {"email": f"5@b.io {names[0]}", "status": "CONFIRMED"},
        ],
    )

    assert outcomes(results) == ["CREATED"] * 6 + ["FAILED"] * 6
    # One is stored as it is written, and as the address that it can mean.
    dropped = [result.get("droppedCells") for result in results[:6]]
    assert dropped == [["email"]] * 3 + [None] + [["email"]] * 2
    assert {by_address(account, name)["status"] for name in names} == {"UNSUBSCRIBED"}


def test_cells_of_an_opt_out_that_cannot_be_stored_are_dropped(account: Account) -> None:
    create_field(account, "Age", "NUMBER")
    names = ["email", "status", "firstName", "lastName", "tags", "createdAt", "age", "consentIp"]
    cells = ["UNSUBSCRIBED", "x" * 101, "Lee", "y" * 101, "someday", "old", "home"]

    (opt_out, other), summary = _records_and_summary(
        account, [names, ["a@b.io", *cells], ["b@b.io", "CONFIRMED", *cells[1:]]]
    )

    assert (opt_out["outcome"], other["outcome"]) == ("CREATED", "FAILED")
    assert sorted(opt_out["droppedCells"]) == [
        *("consentIp", "createdAt", "customFields.age", "firstName", "tags")
    ]
    assert summary["rowsWithDroppedCells"] == 1
    stored = by_address(account, "a@b.io")
    assert (stored["status"], stored["firstName"], stored["lastName"]) == (
        *("UNSUBSCRIBED", "", "Lee"),
    )


def test_opt_out_of_an_existing_subscriber_is_not_lost_to_its_tags(account: Account) -> None:
    tags = [f"t{n}" for n in range(100)]
    create_subscriber(account, email="a@b.io", isConfirmed=True, tags=tags)
    row = {"email": "a@b.io", "status": "UNSUBSCRIBED", "tags": ["more"], "firstName": "Ada"}

    (result,) = send_rows(account, [row], onConflict="UPDATE").records

    assert (result["outcome"], result["droppedCells"]) == ("UPDATED", ["tags"])
    stored = by_address(account, "a@b.io")
    assert (stored["status"], stored["firstName"]) == ("UNSUBSCRIBED", "Ada")


def test_opt_out_is_read_from_a_line_with_the_wrong_number_of_cells(account: Account) -> None:
    table = (
        "email,firstName,lastName,status,unsubscribedAt\n"
        "a@b.io,AdaLee,unsubscribed,2024-01-01\nb@b.io,Bob,J,r,cleaned,\nc@b.io,Cy,Lee\n"
        "d@b.io,DanLee,2024-01-01\ne@b.io,Eve,Lee,active,\n"
    )

    results, summary = _records_and_summary(account, table)

    assert outcomes(results) == ["CREATED", "CREATED", "FAILED", "CREATED", "CREATED"]
    assert rejections(results)[2] == ("INVALID_ROW", None)
    stored = {row["email"]: row for row in account.ok("ListSubscribers")["subscribers"]}
    assert {email: row["status"] for email, row in stored.items()} == {
        "a@b.io": "UNSUBSCRIBED",
        "b@b.io": "BOUNCED",
        "d@b.io": "UNSUBSCRIBED",
        "e@b.io": "CONFIRMED",
    }
    assert all(not stored[f"{name}@b.io"]["firstName"] for name in "abd")
    assert summary["rowsWithDroppedCells"] == 3


@over_http
def test_opt_out_is_read_from_a_malformed_line(account: Account) -> None:
    table = 'email,status\n"a@b.io,cleaned\nb@b.io,"spam\n\0c@b.io,\0cleaned\nd@\0b.io,spam\n'

    results, _ = _records_and_summary(account, table)

    assert outcomes(results) == ["CREATED", "CREATED", "CREATED", "FAILED"]
    stored = {row["email"]: row["status"] for row in account.ok("ListSubscribers")["subscribers"]}
    assert stored == {"a@b.io": "BOUNCED", "b@b.io": "COMPLAINED", "c@b.io": "BOUNCED"}


@each_form
@pytest.mark.parametrize("conflict", ["FAIL", "SKIP", "UPDATE"])
def test_strictest_status_of_the_rows_of_an_address_holds(
    account: Account, import_: Import, conflict: str
) -> None:
    statuses = ["CONFIRMED", "BOUNCED", "COMPLAINED", "UNSUBSCRIBED", "CONFIRMED"]
    rows = [{"email": f"a{n}@b.io", "status": "CONFIRMED"} for n in range(2_100)]
    rows += [{"email": "A0@b.io", "status": status} for status in statuses]
    rows += [{"email": "b@b.io", "status": status} for status in statuses]
    create_subscriber(account, email="old@b.io", isConfirmed=True)
    rows += [{"email": "old@b.io", "status": "UNSUBSCRIBED"}]

    import_(account, rows, onConflict=conflict)

    assert by_address(account, "a0@b.io")["status"] == "COMPLAINED"
    assert by_address(account, "b@b.io")["status"] == "COMPLAINED"
    # Only an update changes subscribers that are not of this file.
    old = "UNSUBSCRIBED" if conflict == "UPDATE" else "CONFIRMED"
    assert by_address(account, "old@b.io")["status"] == old


def test_status_of_an_own_export_counts_and_its_dates_do_not(account: Account) -> None:
    table = f"email,status,unsubscribedAt\na@b.io,UNCONFIRMED,{OLD}\n"

    assert imported_statuses(account, table, preset="ROSTER") == {"a@b.io": "UNCONFIRMED"}


def test_tag_of_an_own_export_is_no_opt_out(account: Account) -> None:
    create_subscriber(account, email="a@b.io", isConfirmed=True, tags=["Unsubscribed"])
    table = written_table(export_table(account))
    rows = [{name: row[name] for name in row if name != "id"} for row in export(account)]

    (of_table,) = send_table(account, table, onConflict="UPDATE").records
    (of_row,) = send_rows(account, rows, onConflict="UPDATE").records

    assert (of_table["outcome"], of_row["outcome"]) == ("UPDATED", "UPDATED")
    assert by_address(account, "a@b.io")["status"] == "CONFIRMED"


def test_table_of_another_application_is_not_taken_for_an_own_export(account: Account) -> None:
    header = "id,email,first_name,last_name,status,tags,created_at,unsubscribed_at"
    table = f"{header}\n1,a@b.io,Ada,Lee,confirmed,,{OLD},{OLD}\n"

    assert imported_statuses(account, table) == {"a@b.io": "UNSUBSCRIBED"}

    header = "id,email,firstName,lastName,status,tags,createdAt,opted_out"
    for action in ("IGNORE", "CREATE_FIELDS"):
        error = send_table(account, f"{header}\n", unknownColumns=action).error
        assert error is not None
        assert error.violations == [("opted_out", "CONSENT_COLUMN")]


def test_latest_of_several_dates_of_an_opt_out_counts(account: Account) -> None:
    table = (
        "email_address,first_name,state,cancelled_at,unsubscribed_at,confirmed_at\n"
        "a@b.io,Ada,active,2020-01-01,2024-01-01,2022-01-01\n"
    )

    assert imported_statuses(account, table) == {"a@b.io": "UNSUBSCRIBED"}


def _records_and_summary(account: Account, table: Any, **options: Any) -> tuple[list[Row], Row]:
    text = table if isinstance(table, str) else written_table(table)
    streamed = send_table(account, text, **options)
    assert streamed.summary is not None, streamed.error
    return streamed.records, streamed.summary


@over_http  # Messages have no duplicate keys.
@pytest.mark.parametrize("words", ["UNSUBSCRIBED CONFIRMED", "abgemeldet active", "active cleaned"])
def test_opt_out_is_not_lost_to_a_second_member_with_its_name(account: Account, words: str) -> None:
    first, second = words.split()
    lines = (
        f'{{"email": "a@b.io", "status": "{first}", "status": "{second}"}}\n'
        '{"email": "b@b.io", "status": "CONFIRMED", "status": "active"}\n'
        '{"email": "c@b.io", "unsubscribedAt": "2024-01-01", "unsubscribedAt": null}\n'
        '{"email": "d@b.io", "status": "BOUNCED", "": 1, "": 2, "createdAt": 3, "createdAt": 4}\n'
    )

    results = send_body(account, "application/x-ndjson", lines.encode(), {}).records

    assert by_address(account, "a@b.io")["status"] in ("UNSUBSCRIBED", "BOUNCED")
    assert by_address(account, "c@b.io")["status"] == "UNSUBSCRIBED"
    assert by_address(account, "d@b.io")["status"] == "BOUNCED"
    assert outcomes(results) == ["CREATED", "FAILED", "CREATED", "CREATED"]
    assert results[3]["droppedCells"] == ['""', "createdAt"]
    assert rejections(results)[1] == ("INVALID_FIELD", "status")
