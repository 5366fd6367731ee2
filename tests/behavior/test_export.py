"""Exports of subscribers: filters, order, formats, and import into another account."""

from __future__ import annotations

from typing import Any

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
    "+1-1@SUM(A1)",
    "-2+3",
    "@x",
    "'=x",
    "''+1",
    "'plain",
    "a=b",
    "-5",
]


@pytest.mark.one_front_per_case
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


@pytest.mark.one_front_per_case
@over_http
@pytest.mark.parametrize(
    ("accept", "query", "content_type"),
    [
        ("text/csv", "", CSV),
        ("Text/CSV;charset=utf-8", "", CSV),
        ("text/csv, */*;q=0.1", "", CSV),
        ("*/*, text/csv", "", CSV),
        ("text/*", "", CSV),
        ("application/x-ndjson;q=0.5, text/csv;q=0.6", "", CSV),
        ("application/json, text/*;q=0.5", "", CSV),
        ("text/csv", "format=FORMAT_UNSPECIFIED", CSV),
        ("*/*", "", NDJSON),
        ("application/*", "", NDJSON),
        ("application/jsonl, text/csv", "", NDJSON),
        ("text/csv;q=0.5, application/x-ndjson;q=0.6", "", NDJSON),
        ("text/csv;q=0, */*", "", NDJSON),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "", NDJSON),
        ("image/png", "", NDJSON),
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


@over_http
@pytest.mark.parametrize("query", ["format=csv", "format=Csv&status=unconfirmed"])
def test_enum_values_in_the_query_are_case_insensitive(account: Account, query: str) -> None:
    assert isinstance(account.front, HttpFront)
    create_subscriber(account, "ada@b.io")

    status, headers, text = account.front.exchange(
        "GET", f"/api/subscribers/export?{query}", account.key
    )

    assert (status, headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert b"ada@b.io" in text


@over_http
def test_enum_values_in_a_body_are_case_sensitive(
    account: Account,
) -> None:
    created = create_subscriber(account, "ada@b.io")

    account.fails("ValidationError", "ChangeSubscriberStatus", id=created["id"], status="confirmed")


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


@over_http
def test_cells_are_quoted_if_necessary(account: Account) -> None:
    assert isinstance(account.front, HttpFront)
    names = {"firstName": 'A "B", C', "lastName": "D; E"}
    create_subscriber(account, "ada@b.io", **names, tags=["x,y", "z"])

    status, _, text = account.front.exchange(
        "GET", "/api/subscribers/export?format=CSV", account.key
    )

    assert status == 200
    assert b',"A ""B"", C",D; E,UNCONFIRMED,"[""x,y"", ""z""]",' in text


@pytest.mark.parametrize("status", STATUSES)
def test_export_filters_by_status(account: Account, status: str) -> None:
    for other in STATUSES:
        create_subscriber_in(account, other, f"{other.lower()}@b.io")

    assert exported_emails(account, status=status) == [f"{status.lower()}@b.io"]


def test_export_filters_by_tag_in_any_spelling(account: Account) -> None:
    for email, tags in (("a@b.io", ["ViP"]), ("c@b.io", ["press"]), ("d@b.io", ["vip", "press"])):
        create_subscriber(account, email, tags=tags)

    assert exported_emails(account, tag=" VIP") == ["a@b.io", "d@b.io"]
    assert exported_emails(account, tag="vi") == []


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


def test_export_filters_are_combined(account: Account) -> None:
    create_subscriber_in(account, "BOUNCED", "a@b.io", tags=["vip"])
    create_subscriber_in(account, "BOUNCED", "c@b.io")
    create_subscriber_in(account, "CONFIRMED", "d@b.io", tags=["vip"])

    assert exported_emails(account, status="BOUNCED", tag="vip") == ["a@b.io"]


def test_export_resumes_after_a_subscriber(account: Account) -> None:
    created = create_subscribers(account, 4)

    assert exported_emails(account, afterId=created[1]["id"]) == ["p2@b.io", "p3@b.io"]
    assert exported_emails(account, afterId=created[3]["id"]) == []
    # The ID of a deleted subscriber still marks its position.
    account.ok("DeleteSubscriber", id=created[1]["id"])
    assert exported_emails(account, afterId=created[1]["id"]) == ["p2@b.io", "p3@b.io"]
    assert exported_emails(account, afterId=MISSING_ID) == [f"p{n}@b.io" for n in (0, 2, 3)]


def test_export_resumes_after_a_subscriber_within_its_filters(account: Account) -> None:
    created = [
        create_subscriber(account, f"p{n}@b.io", tags=["vip"] if n % 2 else []) for n in range(6)
    ]

    assert exported_emails(account, afterId=created[1]["id"], tag="vip") == ["p3@b.io", "p5@b.io"]


REJECTED: list[tuple[dict[str, Any], int, str]] = [
    ({"afterId": "none"}, 400, "ValidationError"),
    ({"afterId": "none", "format": "CSV"}, 400, "ValidationError"),
    ({"status": 99}, 400, "ValidationError"),
    ({"format": 99}, 400, "ValidationError"),
]


@pytest.mark.parametrize(("filters", "status", "code"), REJECTED, ids=str)
def test_export_with_an_invalid_option_is_rejected(
    account: Account, filters: dict[str, Any], status: int, code: str
) -> None:
    response = send_export(account, **filters)

    assert response.records == []
    assert response.error is not None
    assert (response.error.status, response.error.code) == (status, code)


def test_export_requires_a_key_of_any_scope(account: Account) -> None:
    created = create_subscriber(account)

    refused = send_export(account.with_key("rk_x")).error
    assert refused is not None
    assert (refused.status, refused.code) == (401, "Unauthorized")
    assert export(account.with_key(account.new_key("read"))) == [created]


def test_export_has_no_subscribers_of_other_accounts(
    account: Account, other_account: Account
) -> None:
    create_field(account, "Town")
    created = create_subscribers(account, 2)

    assert export(other_account) == []
    assert export_table(other_account, afterId=created[0]["id"]) == [HEADER]


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


def test_export_that_exactly_fills_its_messages_is_complete(
    account: Account, many_addresses: list[str]
) -> None:
    last = export(account)[99]["id"]

    assert exported_emails(account, afterId=last) == many_addresses[100:]


SPECIAL_ROWS: list[Row] = [
    {
        "email": "ada@b.io",
        "firstName": 'Ada "A"',
        "lastName": "King, Countess",
        "tags": ["vip", "x,y", "a;b", "c|d", "[e]", '"f"', "größe"],
        "customFields": {
            "note": 'one\r\ntwo, "three"; \t<b>',
            "age": -1.5,
            "paid": True,
            "born": "1815-12-10T10:00:00Z",
        },
    },
    {"email": "bob@b.io", "tags": ["[]"], "customFields": {"age": 1e16, "paid": False}},
    {"email": "=cmd@b.io", "firstName": "=1+1", "tags": ["[x"], "customFields": {"note": "0042"}},
    {"email": "dörte@größe.example", "lastName": "李", "customFields": {"age": 0, "note": "[]"}},
    {"email": "eve@b.io", "tags": [f"tag {number:02}" for number in range(100)]},
]


@pytest.mark.parametrize("form", ["rows", "table"])
def test_export_can_be_imported_into_another_account(
    account: Account, other_account: Account, form: str
) -> None:
    for owner in (account, other_account):
        # Two keys that differ only in an underscore.
        for label in ("Note", "No te"):
            create_field(owner, label)
        for label, data_type in (("Age", "NUMBER"), ("Paid", "BOOLEAN"), ("Born", "DATE")):
            create_field(owner, label, data_type)
    for row in SPECIAL_ROWS:
        create_subscriber(account, **row)
    before = export(account)

    if form == "rows":
        # Messages have no fields for output-only keys.
        is_http = isinstance(account.front, HttpFront)
        results = import_rows(
            other_account, before if is_http else list(map(importable_fields, before))
        )
    else:
        results = import_table(other_account, written_table(export_table(account)))

    assert [result["outcome"] for result in results] == ["CREATED"] * len(SPECIAL_ROWS)
    assert [importable_fields(row) for row in export(other_account)] == [
        importable_fields(row) for row in before
    ]


def importable_fields(row: Row) -> Row:
    """Returns the fields of a subscriber that an import preserves."""
    return {key: row.get(key) for key in ("email", "firstName", "lastName", "tags", "customFields")}
