"""Dates, addresses and empty cells in imported files, over every front."""

from __future__ import annotations

import pytest

from ..cases import each
from ..conftest import Account
from .helpers import create_field, over_http
from .streams import IMPORT_SUPPRESSIONS, Row, import_table, send_rows, send_table
from .test_import import by_address, outcomes, rejections


def full(account: Account, email: str = "a@b.io") -> Row:
    row: Row = account.ok("GetSubscriber", id=email, view="FULL")["subscriber"]
    return row


@each("cell", ["0000-00-00", "0000-00-00 00:00:00", "00-00-0000", "0001-01-01T00:00:00Z", "NULL"])
def test_zero_date_is_no_date_and_no_opt_out(account: Account, cell: str) -> None:
    email = f"z{cell[:1]}{len(cell)}@b.io"
    import_table(account, f"email,createdAt,unsubscribedAt\n{email},2024-01-01 10:00:00,{cell}\n")

    row = full(account, email)
    assert (row["status"], row["createdAt"]) == ("UNCONFIRMED", "2024-01-01T10:00:00.000Z")
    assert "unsubscribedAt" not in row


def test_numeric_date_fails_its_row_until_its_order_is_stated(account: Account) -> None:
    text = "email,createdAt\na@b.io,12/31/2024\nb@b.io,31.12.2024\n"

    streamed = send_table(account, text)

    assert rejections(streamed.records) == [("INVALID_FIELD", "createdAt")] * 2
    assert streamed.summary is not None
    (cells,) = streamed.summary["unrecognizedCells"]
    assert (cells["column"], cells["rows"], cells["example"]) == ("createdAt", 2, "12/31/2024")
    assert "dateFormat" in cells["hint"]
    in_order = send_table(account, f"{text}c@b.io,before Easter\n", dateFormat="MDY")
    assert outcomes(in_order.records) == ["CREATED", "FAILED", "FAILED"]
    assert in_order.summary is not None
    (cells,) = in_order.summary["unrecognizedCells"]
    assert (cells["rows"], cells["example"]) == (2, "31.12.2024")
    assert cells["hint"].startswith("There is no such day with dateFormat=MDY")
    assert outcomes(import_table(account, text, dateFormat="DMY")) == ["FAILED", "CREATED"]
    assert full(account, "a@b.io")["createdAt"] == "2024-12-31T00:00:00.000Z"
    assert full(account, "b@b.io")["createdAt"] == "2024-12-31T00:00:00.000Z"


def test_dates_of_custom_fields_are_read_in_the_stated_order(account: Account) -> None:
    create_field(account, "Born", "DATE")
    text = "email,born\na@b.io,10.12.1815\nb@b.io,0000-00-00\nc@b.io,1815-12-10T08:00\n"

    import_table(account, text, dateFormat="DMY")

    found = [full(account, f"{name}@b.io").get("customFields", {}) for name in "abc"]
    assert found == [{"born": "1815-12-10"}, {}, {"born": "1815-12-10T08:00"}]


@over_http
def test_dates_of_json_rows_have_the_same_forms(account: Account) -> None:
    dates = ["31.12.2024", 1735603200, "1735603200000", "Dec 31, 2024", "2024-12-31 00:00:00"]
    rows: list[Row] = [
        {"email": f"{number}@b.io", "createdAt": date} for number, date in enumerate(dates)
    ]
    rows.append({"email": "zero@b.io", "createdAt": "2024-12-31", "unsubscribedAt": "0000-00-00"})
    rows.append({"email": "x@b.io", "createdAt": "2024-12-31", "confirmedAt": "13/13/2024"})

    streamed = send_rows(account, rows, dateFormat="DMY")

    assert outcomes(streamed.records) == ["CREATED"] * 6 + ["FAILED"]
    assert rejections(streamed.records)[6:] == [("INVALID_FIELD", "confirmedAt")]
    emails = [row["email"] for row in rows[:6]]
    assert {full(account, email)["createdAt"] for email in emails} == {"2024-12-31T00:00:00.000Z"}
    assert full(account, "zero@b.io")["status"] == "UNCONFIRMED"

    # Of `unsubscribedAt`.
    no_dates = ["", " ", False, "never", None]
    blank: Row = {"createdAt": "", "status": ""}
    rows = [{**blank, "email": f"{n}@c.io", "unsubscribedAt": d} for n, d in enumerate(no_dates)]
    send_rows(account, [*rows, {"email": "yes@c.io", "unsubscribedAt": True}])

    blanks = [full(account, f"{n}@c.io")["status"] for n in range(len(no_dates))]
    assert blanks == ["UNCONFIRMED"] * len(no_dates)
    assert full(account, "yes@c.io")["status"] == "UNSUBSCRIBED"
    assert streamed.summary is not None
    (cells,) = streamed.summary["unrecognizedCells"]
    assert (cells["column"], cells["example"]) == ("confirmedAt", "13/13/2024")


def test_null_tokens_are_empty_cells(account: Account) -> None:
    create_field(account, "Town")
    text = "email,firstName,lastName,town,createdAt,tags\na@b.io,NULL, n/a ,null,N/A,NULL\n"

    import_table(account, text, nullTokens=["null", "n/a"])
    import_table(account, "email,lastName\nb@b.io,Null\n")

    row = full(account)
    assert (row["firstName"], row["lastName"], row["tags"]) == ("", "", [])
    assert "customFields" not in row
    assert full(account, "b@b.io")["lastName"] == "Null"


WRAPPED = ["\ufeff{}", "\u200b{}", "{}\u200e", "\u3000{}\u00a0", "mailto:{}", "<{}>", '"{}"', "{};"]


def test_what_surrounds_an_address_is_removed_in_imports(account: Account) -> None:
    wrapped = [form.format(f"{number}@b.io") for number, form in enumerate(WRAPPED)]
    cells = "".join('"{}"\n'.format(text.replace('"', '""')) for text in wrapped)

    table = import_table(account, f"email\n{cells}")
    rows = send_rows(account, [{"email": text} for text in wrapped], onConflict="SKIP").records

    assert set(outcomes(table)) == {"CREATED"}
    assert set(outcomes(rows)) == {"SKIPPED"}
    assert [row["email"] for row in rows] == wrapped
    found = account.ok("ListSubscribers")["subscribers"]
    assert sorted(row["email"] for row in found) == [f"{n}@b.io" for n in range(len(WRAPPED))]


def test_name_before_the_address_of_a_json_row_is_its_name(account: Account) -> None:
    send_rows(account, [{"email": "Ada King Lovelace <a@b.io>"}])

    row = by_address(account, "a@b.io")
    assert (row["firstName"], row["lastName"]) == ("Ada King", "Lovelace")


@pytest.mark.parametrize("form", WRAPPED[:1] + WRAPPED[4:])
def test_what_surrounds_an_address_is_invalid_elsewhere(account: Account, form: str) -> None:
    error = account.fails("ValidationError", "CreateSubscriber", email=form.format("a@b.io"))
    assert error.violations == [("email", "INVALID_FORMAT")]
    body = account.ok("BulkCreateSubscribers", subscribers=[{"email": form.format("a@b.io")}])
    assert [failure["reason"] for failure in body["failed"]] == ["INVALID_EMAIL"]


# By address.
LISTS = {
    "sendgrid@b.io": "created,email,reason,status\n1443651125,{},550 5.1.1 unknown user,5.1.1\n",
    "mailgun@b.io": 'address,code,error,created_at\n{},550,x,"Wed, 30 Sep 2015 22:12:05 UTC"\n',
    "postmark@b.io": "EmailAddress,SuppressionReason,Origin,CreatedAt\n"
    "{},HardBounce,Recipient,2015-09-30T17:12:05-05:00\n",
    "ses@b.io": "EmailAddress,Reason,LastUpdateTime\n{},BOUNCE,2015-09-30T22:12:05.000000+00:00\n",
    "mailchimp@b.io": "Email Address,First Name,CLEAN_TIME,CLEAN_CAMPAIGN_TITLE\n"
    "{},Ada,2015-09-30 22:12:05,Hello\n",
    "brevo@b.io": "senderEmail,email,reason.code,blockedAt\n"
    "me@b.io,{},hardBounce,2015-09-30T22:12:05.000Z\n",
}


@each("email", list(LISTS))
def test_time_of_a_suppression_is_that_of_the_file(account: Account, email: str) -> None:
    streamed = send_table(account, LISTS[email].format(email), IMPORT_SUPPRESSIONS)

    assert outcomes(streamed.records) == ["ADDED"]
    suppression = account.ok("GetSuppression", id=email)["suppression"]
    assert suppression["createdAt"] == "2015-09-30T22:12:05.000Z"


def test_suppression_list_takes_the_options_and_addresses_of_imports(account: Account) -> None:
    text = "Who,When,Why\nX2 <a@b.io>,30.9.2015,spam\n\u200bb@b.io;,n/a,n/a\n"
    options = {
        "columnMap": ["Who=email", "#2=createdAt", "Why=reason"],
        "dateFormat": "DMY",
        "nullTokens": ["N/A"],
    }

    streamed = send_table(account, text, IMPORT_SUPPRESSIONS, **options)

    assert outcomes(streamed.records) == ["ADDED", "ADDED"]
    assert streamed.summary is not None
    assert (streamed.summary["unrecognizedCells"], streamed.summary["ignoredColumns"]) == ([], [])
    found = [account.ok("GetSuppression", id=f"{name}@b.io")["suppression"] for name in "ab"]
    assert [row["reason"] for row in found] == ["COMPLAINED", "MANUAL"]
    assert found[0]["createdAt"] == "2015-09-30T00:00:00.000Z"


@each(
    ("entry", "code"),
    [("Who", "INVALID_FORMAT"), ("#9=email", "INVALID_VALUE"), ("Who=tags", "INVALID_VALUE")],
)
def test_invalid_map_of_a_suppression_list_is_rejected(
    account: Account, entry: str, code: str
) -> None:
    error = send_table(account, "Who\na@b.io\n", IMPORT_SUPPRESSIONS, columnMap=[entry]).error

    assert error is not None
    assert error.violations == [("columnMap[0]", code)]
