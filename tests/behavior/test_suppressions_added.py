"""Suppressions that are added, imported and exported, over every front."""

from __future__ import annotations

from typing import Any

import pytest

from ..cases import each
from ..conftest import Account
from .helpers import create_subscriber, create_subscriber_in, over_http, stored, suppress
from .streams import (
    EXPORT_SUPPRESSIONS,
    IMPORT_SUPPRESSIONS,
    Row,
    StreamResult,
    export,
    export_table,
    import_rows,
    send_body,
    send_rows,
    send_table,
)

ADA, BOB = "ada@example.com", "bob@example.com"
MAILABLE = ("UNCONFIRMED", "CONFIRMED")
OPTED_OUT = ("UNSUBSCRIBED", "BOUNCED", "COMPLAINED")


def suppression(account: Account, email: str = ADA) -> Row:
    body: Row = account.ok("GetSuppression", id=email)["suppression"]
    return body


def reasons(account: Account, *emails: str) -> list[str]:
    return [suppression(account, email)["reason"] for email in emails]


def import_list(account: Account, text: str, **options: Any) -> StreamResult:
    result = send_table(account, text, IMPORT_SUPPRESSIONS, **options)
    assert result.error is None, result.error
    return result


def outcomes(result: StreamResult) -> list[tuple[int, str]]:
    return [(row["line"], row["outcome"]) for row in result.records]


def test_added_addresses_are_suppressed_with_the_reason(account: Account) -> None:
    body = account.ok("AddSuppressions", emails=[ADA, BOB, "ADA@example.com"], reason="COMPLAINED")

    assert body == {"added": 2, "existing": 0, "optedOut": 0, "failed": []}
    assert reasons(account, ADA, BOB) == ["COMPLAINED", "COMPLAINED"]
    account.fails("SubscriberSuppressed", "CreateSubscriber", email=ADA)


def test_adding_an_existing_suppression_keeps_its_time(account: Account) -> None:
    suppress(account, ADA, "BOUNCED")
    before = suppression(account)

    body = account.ok("AddSuppressions", emails=[ADA, BOB], reason="COMPLAINED")

    assert body == {"added": 1, "existing": 1, "optedOut": 0, "failed": []}
    assert suppression(account) == {**before, "reason": "COMPLAINED"}


def test_invalid_addresses_are_reported_and_the_others_are_suppressed(account: Account) -> None:
    long = "x" * 400

    body = account.ok("AddSuppressions", emails=["x", ADA, " ", "a\x00b@c.d", long])
    nothing = account.ok("AddSuppressions", emails=["x"])

    assert (body["added"], body["existing"]) == (1, 0)
    assert body["failed"] == [
        {"index": 0, "email": "x", "reason": "INVALID_EMAIL"},
        {"index": 2, "email": " ", "reason": "MISSING_EMAIL"},
        {"index": 3, "email": "a\x00b@c.d", "reason": "INVALID_EMAIL"},
        {"index": 4, "email": long[:320], "reason": "INVALID_EMAIL"},
    ]
    assert nothing["added"] == nothing["existing"] == 0
    assert account.ok("ListSuppressions")["total"] == 1


@over_http
def test_items_that_are_no_text_are_reported_and_the_others_are_suppressed(
    account: Account,
) -> None:
    emails = [None, 5, ADA, {"email": BOB}, True, "b\ud83d@b.io", {"a": 1, "a\ud83d": 2}]

    body = account.ok("AddSuppressions", emails=emails)

    assert body["added"] == 1
    assert [(each["index"], each["email"], each["reason"]) for each in body["failed"]] == [
        (0, "", "MISSING_EMAIL"),
        (1, "5", "INVALID_EMAIL"),
        (3, "", "MISSING_EMAIL"),
        (4, "", "MISSING_EMAIL"),
        (5, "b\ufffd@b.io", "INVALID_EMAIL"),
        (6, "", "MISSING_EMAIL"),
    ]
    error = account.fails("ValidationError", "AddSuppressions", emails=ADA)
    assert error.body["error"]["details"][0]["message"] == "must be an array"


@each("reason", [*OPTED_OUT, "MANUAL"])
@each("status", MAILABLE)
def test_subscriber_with_an_added_address_opts_out(
    account: Account, status: str, reason: str
) -> None:
    ada = create_subscriber_in(account, status, f"{status}-{reason}@example.com", tags=["vip"])

    body = account.ok("AddSuppressions", emails=[ada["email"]], reason=reason)

    assert body == {"added": 1, "existing": 0, "optedOut": 1, "failed": []}
    expected = "UNSUBSCRIBED" if reason == "MANUAL" else reason
    assert stored(account, ada) == {**ada, "status": expected}
    change, *_ = account.ok("ListSubscriberHistory", id=ada["id"])["history"]
    assert (change["type"], change["source"]) == ("STATUS_CHANGED", "API")


# From the least to the most strict; MANUAL is as strict as UNSUBSCRIBED.
STRICTNESS = {"BOUNCED": 1, "MANUAL": 2, "UNSUBSCRIBED": 2, "COMPLAINED": 3}


@each("reason", [*STRICTNESS])
@each("status", OPTED_OUT)
def test_opted_out_subscriber_takes_only_a_stricter_status(
    account: Account, status: str, reason: str
) -> None:
    ada = create_subscriber_in(account, status, f"{status}-{reason}@example.com")

    body = account.ok("AddSuppressions", emails=[ada["email"]], reason=reason)

    is_stricter = STRICTNESS[reason] > STRICTNESS[status]
    assert body == {"added": 1, "existing": 0, "optedOut": int(is_stricter), "failed": []}
    expected = "UNSUBSCRIBED" if reason == "MANUAL" else reason
    assert stored(account, ada)["status"] == (expected if is_stricter else status)


@each("second", [*STRICTNESS])
@each("first", [*STRICTNESS])
def test_strictest_reason_of_a_suppression_is_stored(
    account: Account, first: str, second: str
) -> None:
    email = f"{first}-{second}@example.com"
    account.ok("AddSuppressions", emails=[email], reason=first)
    before = account.ok("GetSuppression", id=email)["suppression"]

    body = account.ok("AddSuppressions", emails=[email], reason=second)

    assert body == {"added": 0, "existing": 1, "optedOut": 0, "failed": []}
    expected = second if STRICTNESS[second] > STRICTNESS[first] else first
    assert account.ok("GetSuppression", id=email)["suppression"] == {
        **before,
        "reason": expected,
    }


def test_strictest_row_of_an_address_in_a_list_is_stored(account: Account) -> None:
    create_subscriber(account)
    rows = "".join(f"{ADA},{reason}\n" for reason in ("BOUNCED", "COMPLAINED", "UNSUBSCRIBED"))

    import_list(account, f"email,reason\n{rows}")

    assert reasons(account, ADA) == ["COMPLAINED"]
    assert account.ok("GetSubscriber", id=ADA)["subscriber"]["status"] == "COMPLAINED"


@each("status", OPTED_OUT)
def test_deletion_stores_the_status_unless_a_stricter_reason_is_stored(
    account: Account, status: str
) -> None:
    ada = create_subscriber_in(account, "BOUNCED", f"{status}@example.com")
    account.ok("AddSuppressions", emails=[ada["email"]], reason="BOUNCED")
    if status != "BOUNCED":
        account.ok("ChangeSubscriberStatus", id=ada["id"], status=status)

    account.call("DeleteSubscriber", id=ada["id"])

    assert reasons(account, ada["email"]) == [status]


@each("status", MAILABLE)
def test_suppressed_subscriber_cannot_be_subscribed_until_it_is_lifted(
    account: Account, status: str
) -> None:
    ada = create_subscriber_in(account, "UNSUBSCRIBED", f"{status}@example.com")
    account.ok("AddSuppressions", emails=[ada["email"]])

    error = account.fails(
        "SubscriberSuppressed", "ChangeSubscriberStatus", id=ada["id"], status=status
    )
    assert error.status == 409
    assert stored(account, ada) == ada
    account.ok("DeleteSuppression", id=ada["email"])
    account.ok("ChangeSubscriberStatus", id=ada["id"], status=status)

    assert stored(account, ada)["status"] == status
    changed, lifted, *_ = account.ok("ListSubscriberHistory", id=ada["id"])["history"]
    assert (changed["type"], lifted["type"]) == ("STATUS_CHANGED", "SUPPRESSION_LIFTED")
    assert lifted["actor"] == changed["actor"]


def test_suppressed_subscriber_can_be_updated_but_not_made_mailable(account: Account) -> None:
    ada = create_subscriber_in(account, "CONFIRMED")
    account.ok("AddSuppressions", emails=[ADA], reason="BOUNCED")

    account.ok("UpdateSubscriber", id=ada["id"], firstName="Augusta")
    row = {"email": ADA, "lastName": "King", "status": "CONFIRMED"}
    (result,) = import_rows(account, [row], onConflict="UPDATE")

    assert (result["outcome"], result["statusKept"]) == ("UPDATED", True)
    after = stored(account, ada)
    assert (after["firstName"], after["lastName"]) == ("Augusta", "King")
    assert after["status"] == "BOUNCED"


def test_rows_are_imported_with_reasons_and_times(account: Account) -> None:
    create_subscriber(account, BOB)
    rows = [
        {"email": ADA, "reason": "COMPLAINED", "createdAt": "2024-03-01T10:00:00.000Z"},
        {"email": BOB},
        {"email": "ADA@example.com", "reason": "BOUNCED"},
    ]

    result = send_rows(account, rows, IMPORT_SUPPRESSIONS, reason="UNSUBSCRIBED")

    assert result.error is None
    assert result.records == [
        {"line": 1, "outcome": "ADDED", "email": ADA},
        {"line": 2, "outcome": "ADDED", "email": BOB},
        {"line": 3, "outcome": "EXISTING", "email": "ADA@example.com"},
    ]
    assert result.summary == {
        "added": 2,
        "existing": 1,
        "failed": 0,
        "optedOut": 1,
        "ignoredColumns": [],
        "unrecognizedCells": [],
        "reasons": [],
    }
    assert reasons(account, ADA, BOB) == ["COMPLAINED", "UNSUBSCRIBED"]
    assert suppression(account)["createdAt"] == "2024-03-01T10:00:00.000Z"
    bob = account.ok("GetSubscriber", id=BOB)["subscriber"]
    change, *_ = account.ok("ListSubscriberHistory", id=bob["id"])["history"]
    assert (bob["status"], change["source"]) == ("UNSUBSCRIBED", "IMPORT")


def test_all_addresses_of_a_list_without_a_header_are_suppressed(account: Account) -> None:
    text = f"{ADA},x\n{BOB}\nx,{ADA},c@b.io\nx,y\n"

    result = import_list(account, text, reason="BOUNCED")

    lines = [(1, "ADDED"), (2, "ADDED"), (3, "EXISTING"), (3, "ADDED"), (4, "FAILED")]
    assert outcomes(result) == lines
    assert reasons(account, ADA, BOB, "c@b.io") == ["BOUNCED"] * 3
    assert result.summary is not None
    assert result.summary["ignoredColumns"] == ["column 2"]


def test_all_addresses_of_a_cell_are_suppressed(account: Account) -> None:
    result = import_list(account, f'email,reason\n"{ADA}; {BOB}",bounce\nc%40b.io,\nx,\n')
    rows = send_rows(account, [{"email": f"{ADA}, d@b.io"}], IMPORT_SUPPRESSIONS)

    assert outcomes(result) == [(2, "ADDED"), (2, "ADDED"), (3, "ADDED"), (4, "FAILED")]
    assert outcomes(rows) == [(1, "EXISTING"), (1, "ADDED")]
    assert reasons(account, ADA, BOB, "c@b.io", "d@b.io") == [
        "MANUAL",
        "BOUNCED",
        "MANUAL",
        "MANUAL",
    ]


def test_unknown_reason_or_time_suppresses_nevertheless_and_is_reported(account: Account) -> None:
    text = f"email,reason,created\n{ADA},550 5.1.1,yesterday\n{BOB},550 no,2024-03-01\n"

    result = import_list(account, text, reason="BOUNCED")

    assert outcomes(result) == [(2, "ADDED"), (3, "ADDED")]
    assert reasons(account, ADA, BOB) == ["BOUNCED", "BOUNCED"]
    assert result.summary is not None
    assert result.summary["unrecognizedCells"] == [
        {
            "column": "reason",
            "rows": 2,
            "example": "550 5.1.1",
            "examples": ["550 5.1.1", "550 no"],
        },
        {"column": "created", "rows": 1, "example": "yesterday", "examples": ["yesterday"]},
    ]


def test_address_of_a_line_with_the_wrong_number_of_cells_is_suppressed(account: Account) -> None:
    text = f"name,email,by\nKing, Ada,{ADA},x\n{BOB}\na,b\nc@d.io,x,e@f.io,g\nx,g@h.io,x,i@j.io\n"

    result = import_list(account, text, reason="UNSUBSCRIBED")

    assert outcomes(result) == [
        (2, "ADDED"),
        (3, "ADDED"),
        (4, "FAILED"),
        (5, "FAILED"),
        (6, "FAILED"),
    ]
    assert reasons(account, ADA, BOB) == ["UNSUBSCRIBED", "UNSUBSCRIBED"]


@over_http
def test_address_of_a_malformed_line_is_suppressed(account: Account) -> None:
    text = f'email,reason\n{ADA},"Ada" King\nx,"y" z\n"{BOB},spam\na\0@b.io,\n\0c@b.io\0,\n'

    result = import_list(account, text, reason="UNSUBSCRIBED")

    assert [outcome for _, outcome in outcomes(result)] == [
        *("ADDED", "FAILED", "ADDED", "FAILED", "ADDED"),
    ]
    assert reasons(account, ADA, BOB, "c@b.io") == ["UNSUBSCRIBED", "COMPLAINED", "UNSUBSCRIBED"]


def test_invalid_rows_fail_alone(account: Account) -> None:
    rows = [{"email": "ada"}, {"email": BOB, "createdAt": "1960-01-01T00:00:00.000Z"}]

    result = send_rows(account, rows, IMPORT_SUPPRESSIONS)

    assert [(row["outcome"], row.get("reason"), row.get("field")) for row in result.records] == [
        ("FAILED", "INVALID_EMAIL", "email"),
        ("ADDED", None, None),
    ]
    assert result.summary is not None
    assert (result.summary["added"], result.summary["failed"]) == (1, 1)
    assert [cells["column"] for cells in result.summary["unrecognizedCells"]] == ["createdAt"]


@over_http  # Over gRPC, the members of a row have types.
def test_address_of_a_json_row_is_suppressed_without_members_that_cannot_be_read(
    account: Account,
) -> None:
    lines = (
        f'{{"email": "{ADA}", "reason": "Spam complaint", "createdAt": {{}}, "by": 1}}\n'
        f'{{"email": "{BOB}", "reason": "odd", "createdAt": ""}}\n'
        '{"email": "c@b.io", "email": "d@b.io"}\n{"mail": "e@b.io"}\n"f@b.io"\n'
    )

    result = send_body(
        account, "application/x-ndjson", lines.encode(), {"reason": "BOUNCED"}, IMPORT_SUPPRESSIONS
    )

    assert [row["outcome"] for row in result.records] == [*["ADDED"] * 2, *["FAILED"] * 3]
    assert reasons(account, ADA, BOB) == ["COMPLAINED", "BOUNCED"]
    assert result.summary is not None
    cells = {cells["column"]: cells["rows"] for cells in result.summary["unrecognizedCells"]}
    assert cells == {"createdAt": 1, "by": 1, "reason": 1}


@pytest.mark.parametrize(
    ("header", "word", "reason"),
    [
        ("Correo electrónico,Motivo", "Baja", "UNSUBSCRIBED"),
        ("E-mailadres,Reden", "afgemeld", "UNSUBSCRIBED"),
        ("メールアドレス,理由", "配信停止", "UNSUBSCRIBED"),
        ("E-mail,Motif", "De\u0301sabonne\u0301", "UNSUBSCRIBED"),
        ("recipient_address,reason", "Hard bounce", "BOUNCED"),
        ("\u200bEmail:,reason*", "\u200bComplained.", "COMPLAINED"),
    ],
)
def test_list_has_columns_and_reasons_in_other_languages(
    account: Account, header: str, word: str, reason: str
) -> None:
    import_list(account, f"{header}\n{ADA},{word}\n", reason="MANUAL")

    assert reasons(account, ADA) == [reason]


@pytest.mark.parametrize(
    ("header", "violation"),
    [
        ("name,reason", ("lines", "INVALID_VALUE")),
        ("email" + "," * 2_000, ("", "TOO_MANY")),
    ],
    ids=["no address", "too many columns"],
)
def test_file_without_usable_columns_is_rejected(
    account: Account, header: str, violation: tuple[str, str]
) -> None:
    result = send_table(account, f"{header}\nAda,BOUNCED\n", IMPORT_SUPPRESSIONS)

    assert result.error is not None
    assert (result.error.status, result.error.violations) == (400, [violation])


def test_long_list_is_imported_and_exported_oldest_first(account: Account) -> None:
    rows = [{"email": f"{number}@example.com"} for number in range(1_300)]
    for row in rows[::2]:
        row["createdAt"] = f"2024-01-01T00:00:{len(row['email']):02}.000Z"

    result = send_rows(account, rows, IMPORT_SUPPRESSIONS)
    exported = export(account, EXPORT_SUPPRESSIONS)

    assert {row["outcome"] for row in result.records} == {"ADDED"}
    assert len(exported) == 1_300
    assert exported == sorted(exported, key=lambda row: (row["createdAt"], row["emailHash"]))
    assert exported[:100] == account.ok("ListSuppressions", limit=100)["suppressions"]
    header, *cells = export_table(account, EXPORT_SUPPRESSIONS)
    assert header == ["emailHash", "reason", "createdAt"]
    assert cells == [[row[name] for name in header] for row in exported]
