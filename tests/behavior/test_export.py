"""Exports of subscribers: filters, order, formats, and import into another account."""

from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import urlencode

import pytest

from ..cases import each
from ..conftest import Account
from ..fronts import HttpFront
from .helpers import (
    MISSING_ID,
    STATUSES,
    create_field,
    create_subscriber,
    create_subscriber_in,
    over_http,
)
from .streams import (
    EXPORT,
    EXPORT_SUPPRESSIONS,
    Row,
    Rpc,
    export,
    export_table,
    import_rows,
    import_table,
    send_body,
    send_export,
    written_table,
)

HEADER = ["id", "email", "firstName", "lastName", "status", "tags", "createdAt"]


def create_subscribers(account: Account, count: int) -> list[Row]:
    return [create_subscriber(account, f"p{number}@b.io") for number in range(count)]


def exported_emails(account: Account, **filters: Any) -> list[str]:
    """Returns the exported addresses, and checks that both formats have the same ones."""
    rows = [row["email"] for row in export(account, **filters)]
    header, *lines = export_table(account, **filters)
    assert [line[header.index("email")] for line in lines] == rows
    return rows


def test_export_returns_every_subscriber_as_the_list_does(account: Account) -> None:
    create_field(account, "Age", "NUMBER")
    for status in reversed(STATUSES):
        email, tags = f"{status.lower()}@b.io", [status, "vip"]
        values = {"customFields": {"age": 36}} if status == "BOUNCED" else {}
        create_subscriber_in(account, status, email, firstName="Ada", tags=tags, **values)

    listed = account.ok("ListSubscribers")["subscribers"]
    assert len(listed) == len(STATUSES)
    assert export(account) == export(account, format="NDJSON") == listed


def test_export_of_an_empty_account_has_only_a_header(account: Account) -> None:
    assert export(account) == []
    assert export_table(account) == [HEADER]

    create_field(account, "Size of shoes")
    assert export(account) == []
    assert export_table(account) == [[*HEADER, "customFields.size_of_shoes"]]


FORMULAS = [
    "=cmd|' /C calc'!A0",
    "-2+3",
    "@x",
    "'=x",
    "'plain",
    "a=b",
    "-5",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_formula_is_escaped_in_a_table_and_restored_by_an_import(
    account: Account, other_account: Account, text: str
) -> None:
    for target in (account, other_account):
        create_field(target, "Note")
    values = {"customFields": {"note": text}}
    sent = create_subscriber(
        account, "+a@b.io", firstName=text, lastName="b", tags=[text], **values
    )

    header, line = export_table(account)
    assert not [cell for cell in line if cell[0] in "=+@" or (cell[0] == "-" and cell != "-5")]
    import_table(other_account, written_table([header, line]))
    (came,) = export(other_account)
    names = ("email", "firstName", "lastName", "tags", "customFields")
    assert [came[name] for name in names] == [sent[name] for name in names]


@each("rpc", (EXPORT, EXPORT_SUPPRESSIONS))
def test_table_starts_with_a_byte_order_mark_if_requested(account: Account, rpc: Rpc) -> None:
    (header,) = export_table(account, rpc)
    (marked,) = export_table(account, rpc, bom=True)

    assert marked == [f"\ufeff{header[0]}", *header[1:]]
    error = send_export(account, rpc, format="NDJSON", bom=True).error
    assert error is not None
    assert (error.status, error.violations) == (400, [("bom", "INVALID_VALUE")])


@over_http
def test_table_with_semicolons_is_restored_by_an_import(
    account: Account, other_account: Account
) -> None:
    assert isinstance(account.front, HttpFront)
    create_subscriber(account, "ada@b.io", firstName='A;d,"a', tags=["a b", "c"])
    path = "/api/subscribers/export?format=CSV&delimiter=semicolon&bom=true"

    _, _, text = account.front.exchange("GET", path, account.key)

    lines = text.decode("utf-8-sig").splitlines()
    assert lines[0] == "id;email;firstName;lastName;status;tags;createdAt"
    assert ';ada@b.io;"A;d,""a";;UNCONFIRMED;a b,c;' in lines[1]
    send_body(other_account, "text/csv", text, {})
    (came,) = export(other_account)
    assert (came["firstName"], came["tags"]) == ('A;d,"a', ["a b", "c"])


@over_http
@each(
    ("name", "filter_", "plain", "encoded"),
    {
        "a segment": ("Customers", "", "customers", ""),
        "a segment in German": ("Kündigungen/*", "", "kundigungen", "k%C3%BCndigungen"),
        "a segment in Japanese": ("顧客", "", "subscribers", "%E9%A1%A7%E5%AE%A2"),
        "a hostile segment": ('../..\\"a"\u202egnp.exe', "", "a-gnp-exe", ""),
        "a long segment": ("x" * 100, "", "x" * 50, ""),
        "a filter": ("", 'status = CONFIRMED AND tags:"vip"', "status-confirmed-and-tags-vip", ""),
        "nothing": ("", "", "subscribers", ""),
    },
)
def test_file_is_named_after_the_segment_or_the_filter(
    account: Account, name: str, filter_: str, plain: str, encoded: str
) -> None:
    assert isinstance(account.front, HttpFront)
    query, request = urlencode({"filter": filter_, "format": "CSV"}), {"filter": filter_}
    if name:
        row = account.ok("CreateSegment", name=name, filter="status = CONFIRMED")["segment"]
        query, request = f"segmentId={row['id']}&format=CSV", {"segmentId": row["id"]}

    _, headers, _ = account.front.exchange("GET", f"/api/subscribers/export?{query}", account.key)
    job = account.ok("CreateExport", **request)["export"]["id"]
    while not account.ok("GetExport", id=job)["export"]["done"]:
        time.sleep(0.01)
    _, of_job, _ = account.front.exchange("GET", f"/api/exports/{job}/file", account.key)

    day, second = r"-\d{4}-\d\d-\d\d", r"-\d{8}-\d{6}"
    for received, ending in ((headers, day), (of_job, second)):
        expected = rf'attachment; filename="{plain}{ending}\.csv"'
        if encoded:
            expected += rf"; filename\*=UTF-8''{encoded}{ending}\.csv"
        assert re.fullmatch(expected, received["content-disposition"])


@pytest.mark.parametrize("escapes", [True, False])
def test_addresses_and_formulas_of_a_table_are_restored_by_an_import(
    account: Account, other_account: Account, escapes: bool
) -> None:
    addresses = ["=ada@b.io", "+x@b.io", "-y@b.io", "'=ada@b.io", "'ada@b.io", "ada@b.io"]
    for address in addresses:
        create_subscriber(account, address, firstName="=1+1", lastName="'=1")

    table = export_table(account, escapeFormulas=escapes)
    import_table(other_account, written_table(table))

    cells = [line[1] for line in table[1:]]
    plain = {each for each in addresses if not escapes and each != "'=ada@b.io"}
    plain |= {"'ada@b.io", "ada@b.io"}
    assert cells == [each if each in plain else f"<{each}>" for each in addresses]
    assert {line[2] for line in table[1:]} == {"'=1+1" if escapes else "=1+1"}
    assert [(row["email"], row["firstName"], row["lastName"]) for row in export(other_account)] == [
        (address, "=1+1", "'=1") for address in addresses
    ]


@over_http
def test_table_is_sent_as_csv_and_rows_as_ndjson(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    created = create_subscriber(account, "ada@b.io")
    path = "/api/subscribers/export"

    _, rows, _ = account.front.exchange("GET", path, account.key)
    _, table, text = account.front.exchange("GET", f"{path}?format=CSV", account.key)

    assert rows["content-type"] == "application/x-ndjson"
    assert table["content-type"] == "text/csv; charset=utf-8"
    assert text.decode() == (
        "id,email,firstName,lastName,status,tags,createdAt\r\n"
        f"{created['id']},ada@b.io,,,UNCONFIRMED,,{created['createdAt']}\r\n"
    )


NDJSON, CSV, EVENTS = "application/x-ndjson", "text/csv; charset=utf-8", "text/event-stream"


@over_http
@pytest.mark.parametrize(
    ("accept", "query", "content_type"),
    [
        ("text/csv", "", CSV),
        ("text/csv, */*;q=0.1", "", CSV),
        ("application/x-ndjson;q=0.5, text/csv;q=0.6", "", CSV),
        ("*/*", "", NDJSON),
        ("application/jsonl, text/csv", "", NDJSON),
        ("text/csv;q=0.5, application/x-ndjson;q=0.6", "", NDJSON),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "", NDJSON),
        ("text/csv", "format=NDJSON", NDJSON),
        ("application/x-ndjson", "format=CSV", CSV),
        ("text/csv;q=0.5, text/event-stream", "", EVENTS),
    ],
)
def test_accept_selects_the_format_unless_the_query_does(
    account: Account, accept: str, query: str, content_type: str
) -> None:
    assert isinstance(account.front, HttpFront)
    create_subscriber(account, "ada@b.io")

    status, headers, text = account.front.exchange(
        "GET", f"/api/subscribers/export?{query}", account.key, headers={"Accept": accept}
    )

    assert (status, headers["content-type"], headers["vary"]) == (200, content_type, "Accept")
    begin = {NDJSON: b'{"id":', CSV: b"id,email,", EVENTS: b'data: {"id":'}
    assert text.startswith(begin[content_type])


def test_table_has_a_column_for_each_custom_field(account: Account) -> None:
    for label, data_type in (("Town", "TEXT"), ("Age", "NUMBER"), ("Paid", "BOOLEAN")):
        create_field(account, label, data_type)
    values = {"town": "London", "age": 36, "paid": False}
    ada = create_subscriber(
        account, "ada@b.io", firstName="Ada", lastName="King", customFields=values
    )
    bob = create_subscriber(account, "bob@b.io", customFields={"age": 0.5})

    assert export_table(account) == [
        [*HEADER, "customFields.town", "customFields.age", "customFields.paid"],
        [
            *(ada["id"], "ada@b.io", "Ada", "King", "UNCONFIRMED", "", ada["createdAt"]),
            *("London", "36", "false"),
        ],
        [bob["id"], "bob@b.io", "", "", "UNCONFIRMED", "", bob["createdAt"], "", "0.5", ""],
    ]


def test_export_filters_by_creation_time(account: Account) -> None:
    created = create_subscribers(account, 3)
    timestamps = [row["createdAt"] for row in created]

    for bound in ("2001-01-01T00:00:00Z", *timestamps, "2999-01-01T00:00:00Z"):
        later = [row["email"] for row in created if row["createdAt"] > bound]
        assert exported_emails(account, createdAfter=bound) == later
        earlier = [row["email"] for row in created if row["createdAt"] < bound]
        assert exported_emails(account, createdBefore=bound) == earlier
    between = {"createdAfter": "2001-01-01T00:00:00Z", "createdBefore": "2999-01-01T00:00:00Z"}
    assert len(exported_emails(account, **between)) == 3


def test_export_resumes_after_a_subscriber(account: Account) -> None:
    created = create_subscribers(account, 4)

    assert exported_emails(account, afterId=created[1]["id"]) == ["p2@b.io", "p3@b.io"]
    assert exported_emails(account, afterId=created[3]["id"]) == []
    # The ID of a deleted subscriber still marks its position.
    account.ok("DeleteSubscriber", id=created[1]["id"])
    assert exported_emails(account, afterId=created[1]["id"]) == ["p2@b.io", "p3@b.io"]
    assert exported_emails(account, afterId=MISSING_ID) == [f"p{n}@b.io" for n in (0, 2, 3)]


REJECTED: list[tuple[dict[str, Any], int, str]] = [
    ({"afterId": "none"}, 400, "ValidationError"),
    ({"status": 99}, 400, "ValidationError"),
]


@pytest.mark.parametrize(("filters", "status", "code"), REJECTED, ids=str)
def test_export_with_an_invalid_option_is_rejected(
    account: Account, filters: dict[str, Any], status: int, code: str
) -> None:
    response = send_export(account, **filters)

    assert response.records == []
    assert response.error is not None
    assert (response.error.status, response.error.code) == (status, code)


@pytest.fixture
def many_addresses(account: Account) -> list[str]:
    """The addresses of enough subscribers for three messages."""
    sent = [f"p{number}@b.io" for number in range(1_100)]
    created = import_rows(account, [{"email": email, "tags": ["all"]} for email in sent])
    assert {result["outcome"] for result in created} == {"CREATED"}
    return sent


def test_export_of_several_messages_is_complete(
    account: Account, many_addresses: list[str]
) -> None:
    assert exported_emails(account) == many_addresses
    assert exported_emails(account, tag="all") == many_addresses
