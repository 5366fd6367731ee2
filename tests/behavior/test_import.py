"""Imports of subscribers from rows and tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from ..components import wait_until
from ..conftest import Account
from ..fronts import HttpFront
from .helpers import (
    STATUSES,
    create_field,
    create_subscriber,
    create_subscriber_in,
    emails,
    over_http,
    stored,
    suppress,
    tag_names,
)
from .invalid_rows import INVALID_VALUES
from .streams import (
    IMPORT,
    IMPORT_SUPPRESSIONS,
    Row,
    Rpc,
    import_rows,
    import_table,
    send_messages,
    send_rows,
    written_table,
)

Import = Callable[..., list[Row]]


def create_fields_of_all_types(account: Account) -> None:
    types = {"Town": "TEXT", "Age": "NUMBER", "Paid": "BOOLEAN", "Born": "DATE"}
    for label, data_type in types.items():
        create_field(account, label, data_type)


def as_table(rows: Sequence[Row]) -> str:
    """Returns rows as CSV. The columns are the keys of all rows."""
    flat = [
        {
            **{name: value for name, value in row.items() if name != "customFields"},
            **{f"customFields.{k}": v for k, v in row.get("customFields", {}).items()},
        }
        for row in rows
    ]
    columns = list(dict.fromkeys(name for row in flat for name in row))
    return written_table([columns, *([_cell(row.get(c)) for c in columns] for row in flat)])


def _cell(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)


def as_rows(account: Account, rows: Sequence[Row], **options: Any) -> list[Row]:
    return import_rows(account, rows, **options)


def import_as_table(account: Account, rows: Sequence[Row], **options: Any) -> list[Row]:
    """Imports rows as a table. The header is not counted in line numbers."""
    if "afterLine" in options:
        options["afterLine"] += 1
    results = import_table(account, as_table(rows), **options)
    return [{**result, "line": result["line"] - 1} for result in results]


each_form = pytest.mark.parametrize("import_", [as_rows, import_as_table], ids=["rows", "table"])


def line_outcomes(results: Sequence[Row]) -> list[tuple[int, str]]:
    return [(result["line"], result["outcome"]) for result in results]


def outcomes(results: Sequence[Row]) -> list[str]:
    return [result["outcome"] for result in results]


def rejections(results: Sequence[Row]) -> list[tuple[str | None, str | None]]:
    return [(result.get("reason"), result.get("field")) for result in results]


def list_subscribers(account: Account) -> list[Row]:
    """Returns the account's first 100 subscribers, oldest first."""
    rows: list[Row] = account.ok("ListSubscribers", limit=100)["subscribers"]
    return rows


def by_address(account: Account, email: str) -> Row:
    result: Row = account.ok("GetSubscriber", id=email)["subscriber"]
    return result


ROWS: list[Row] = [
    {
        "email": "ada@example.com",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "isConfirmed": True,
        "tags": ["vip", "press"],
        "customFields": {"town": "London", "age": 36, "paid": False, "born": "1815-12-10"},
    },
    {"email": "grace@example.com", "isConfirmed": False},
]


@each_form
def test_rows_become_subscribers_in_order(account: Account, import_: Import) -> None:
    create_fields_of_all_types(account)

    results = import_(account, ROWS)

    ada, grace = list_subscribers(account)
    assert results == [
        {"line": 1, "outcome": "CREATED", "id": ada["id"], "email": "ada@example.com"},
        {"line": 2, "outcome": "CREATED", "id": grace["id"], "email": "grace@example.com"},
    ]
    del ada["id"], ada["createdAt"]
    assert ada == {
        "email": "ada@example.com",
        "firstName": "Ada",
        "lastName": "Lovelace",
        "status": "CONFIRMED",
        "tags": ["press", "vip"],
        "customFields": ROWS[0]["customFields"],
    }
    assert (grace["firstName"], grace["status"], grace["tags"]) == ("", "UNCONFIRMED", [])
    assert "customFields" not in grace
    assert account.ok("ListSubscribers")["total"] == 2
    assert tag_names(account) == ["press", "vip"]


INVALID_ROWS: dict[str, tuple[Row, str, str | None]] = {
    "no email": ({"firstName": "Ada"}, "MISSING_EMAIL", "email"),
    "blank email": ({"email": " "}, "MISSING_EMAIL", "email"),
    "malformed email": ({"email": "ada@"}, "INVALID_EMAIL", "email"),
    "two emails": ({"email": "a@b.io,c@b.io"}, "INVALID_EMAIL", "email"),
    "long email": ({"email": f"{'a' * 65}@b.io"}, "INVALID_EMAIL", "email"),
    "long first name": ({"email": "a@b.io", "firstName": "x" * 101}, "INVALID_FIELD", "firstName"),
    "long last name": ({"email": "a@b.io", "lastName": "x" * 101}, "INVALID_FIELD", "lastName"),
    "long tag": ({"email": "a@b.io", "tags": ["vip", "x" * 101]}, "INVALID_TAG", "tags"),
    "blank tag": ({"email": "a@b.io", "tags": ["vip", " "]}, "INVALID_TAG", "tags"),
    "101 tags": ({"email": "a@b.io", "tags": [f"t{n}" for n in range(101)]}, "INVALID_TAG", "tags"),
    "no number": (
        {"email": "a@b.io", "customFields": {"age": "old"}},
        "INVALID_CUSTOM_FIELD",
        "customFields.age",
    ),
    "no date": (
        {"email": "a@b.io", "customFields": {"born": "2026-02-30"}},
        "INVALID_CUSTOM_FIELD",
        "customFields.born",
    ),
    "neither true nor false": (
        {"email": "a@b.io", "customFields": {"paid": "perhaps"}},
        "INVALID_CUSTOM_FIELD",
        "customFields.paid",
    ),
    "long value": (
        {"email": "a@b.io", "customFields": {"town": "x" * 1_001}},
        "INVALID_CUSTOM_FIELD",
        "customFields.town",
    ),
    "suppressed": ({"email": "gone@example.com"}, "SUPPRESSED", "email"),
}


@each_form
def test_invalid_rows_fail_with_a_reason_without_affecting_others(
    account: Account, import_: Import
) -> None:
    create_fields_of_all_types(account)
    suppress(account, "gone@example.com")
    rows = [{"email": "first@example.com"}, *(row for row, _, _ in INVALID_ROWS.values())]

    results = import_(account, [*rows, {"email": "last@example.com"}])

    assert [result["line"] for result in results] == list(range(1, len(rows) + 2))
    assert outcomes(results) == ["CREATED", *["FAILED"] * len(INVALID_ROWS), "CREATED"]
    assert dict(zip(INVALID_ROWS, rejections(results[1:-1]), strict=True)) == {
        name: (reason, at) for name, (_, reason, at) in INVALID_ROWS.items()
    }
    sent = [row.get("email", "").strip() for row in rows]
    assert [result["email"].strip() for result in results[:-1]] == sent
    assert all("id" not in result for result in results[1:-1])
    assert emails(account) == ["first@example.com", "last@example.com"]
    assert tag_names(account) == []


@over_http
@pytest.mark.parametrize(
    ("line", "reason", "at", "email"),
    [
        ("7", "INVALID_ROW", None, ""),
        ('{"email": "a@b.io"', "INVALID_ROW", None, ""),
        ('{"email": 7}', "INVALID_FIELD", "email", ""),
        ('{"email": "a@b.io", "isConfirmed": "maybe"}', "INVALID_FIELD", "isConfirmed", "a@b.io"),
        ('{"email": "a@b.io", "color": "red"}', "INVALID_FIELD", "color", "a@b.io"),
        ('{"email": "a@b.io", "firstName": NaN}', "INVALID_ROW", None, ""),
        ('{"email": "a@b.io", "x": %s}' % ("[" * 5_000 + "]" * 5_000), "INVALID_ROW", None, ""),
        ('{"email": "a@b.io", "x": %s}' % ("[" * 32 + "]" * 32), "INVALID_FIELD", "x", "a@b.io"),
        *((line, "INVALID_FIELD", at, email) for line, at, email in INVALID_VALUES),
        (r'{"email": "a@b.io", "firstName": "\u0000"}', "INVALID_FIELD", "firstName", "a@b.io"),
    ],
)
def test_malformed_line_fails_without_affecting_others(
    account: Account, line: str, reason: str, at: str | None, email: str
) -> None:
    body = f'{{"email": "first@b.io"}}\n{line}\n{{"email": "last@b.io"}}'.encode()

    results = post_import(account, body, "application/x-ndjson")

    assert line_outcomes(results) == [(1, "CREATED"), (2, "FAILED"), (3, "CREATED")]
    assert rejections(results)[1] == (reason, at)
    assert results[1]["email"] == email
    assert emails(account) == ["first@b.io", "last@b.io"]


def post_import(account: Account, body: bytes, content_type: str, query: str = "") -> list[Row]:
    """Imports a body over HTTP and returns the results."""
    assert isinstance(account.front, HttpFront)
    status, _, text = account.front.exchange(
        "POST",
        f"/api/subscribers/import{query}",
        account.key,
        body=body,
        headers={"Content-Type": content_type},
    )
    assert status == 200, text
    *records, last = [json.loads(line) for line in text.splitlines()]
    assert "summary" in last
    return records


EXISTING: Row = {"email": "ADA@Example.com", "firstName": "Augusta", "tags": ["new"]}


@each_form
@pytest.mark.parametrize(
    ("conflict", "outcome", "rejection"),
    [("FAIL", "FAILED", ("ALREADY_EXISTS", "email")), ("SKIP", "SKIPPED", (None, None))],
)
def test_row_with_an_existing_address_fails_or_is_skipped_on_request(
    account: Account, import_: Import, conflict: str, outcome: str, rejection: tuple[Any, Any]
) -> None:
    ada = create_subscriber(account, firstName="Ada")

    results = import_(account, [EXISTING, {"email": "grace@example.com"}], onConflict=conflict)

    assert line_outcomes(results) == [(1, outcome), (2, "CREATED")]
    assert (rejections(results)[0], results[0]["email"]) == (rejection, "ADA@Example.com")
    assert results[0].get("id") == (ada["id"] if outcome == "SKIPPED" else None)
    assert stored(account, ada) == ada
    assert tag_names(account) == []


@each_form
def test_update_replaces_names_adds_tags_and_merges_values(
    account: Account, import_: Import
) -> None:
    create_field(account, "Town")
    create_field(account, "Age", "NUMBER")
    ada = create_subscriber(
        account,
        firstName="Ada",
        lastName="Byron",
        tags=["vip", "old"],
        customFields={"town": "London", "age": 35},
    )
    row = {
        "email": "ADA@example.com",
        "lastName": "Lovelace",
        "tags": ["VIP", "new"],
        "customFields": {"age": 36},
    }

    results = import_(account, [row], onConflict="UPDATE")

    assert line_outcomes(results) == [(1, "UPDATED")]
    assert results[0]["id"] == ada["id"]
    assert stored(account, ada) == {
        **ada,
        "lastName": "Lovelace",
        "tags": ["new", "old", "vip"],
        "customFields": {"town": "London", "age": 36},
    }


@each_form
def test_update_by_an_empty_row_changes_nothing(account: Account, import_: Import) -> None:
    create_field(account, "Town")
    body: Row = {"firstName": "Ada", "tags": ["vip"], "customFields": {"town": "London"}}
    ada = create_subscriber(account, **body)
    empty = {"firstName": "", "lastName": "", "tags": [], "customFields": {}}

    results = import_(account, [{"email": ada["email"], **empty}], onConflict="UPDATE")

    assert line_outcomes(results) == [(1, "UPDATED")]
    assert stored(account, ada) == ada


def test_null_in_a_row_removes_a_value_on_update(account: Account) -> None:
    create_field(account, "Town")
    ada = create_subscriber(account, customFields={"town": "London"})
    rows = [{"email": email, "customFields": {"town": None}} for email in (ada["email"], "b@b.io")]

    results = import_rows(account, rows, onConflict="UPDATE")

    assert outcomes(results) == ["UPDATED", "CREATED"]
    assert ["customFields" in row for row in list_subscribers(account)] == [False, False]


@pytest.mark.each_database
@each_form
@pytest.mark.parametrize("conflict", ["FAIL", "SKIP", "UPDATE"])
def test_import_without_a_status_never_changes_one(
    account: Account, import_: Import, conflict: str
) -> None:
    there = [create_subscriber_in(account, status, f"{status.lower()}@b.io") for status in STATUSES]
    rows = [
        {"email": created["email"], "firstName": "Ada", "isConfirmed": confirmed}
        for created in there
        for confirmed in (True, False)
    ]

    import_(account, rows, onConflict=conflict)

    assert [stored(account, created)["status"] for created in there] == list(STATUSES)


@pytest.mark.each_database
@each_form
@pytest.mark.parametrize(
    ("conflict", "expected", "name"),
    [
        ("FAIL", ["CREATED", "CREATED", "FAILED", "FAILED"], "first"),
        ("SKIP", ["CREATED", "CREATED", "SKIPPED", "SKIPPED"], "first"),
        ("UPDATE", ["CREATED", "CREATED", "UPDATED", "UPDATED"], "third"),
    ],
)
def test_rows_with_the_same_address_are_applied_in_order(
    account: Account, import_: Import, conflict: str, expected: list[str], name: str
) -> None:
    rows = [
        {"email": "ada@b.io", "firstName": "first", "tags": ["a"]},
        {"email": "grace@b.io"},
        {"email": "ADA@b.io", "firstName": "second", "tags": ["b"]},
        {"email": "ada@B.io", "firstName": "third", "tags": ["c"]},
    ]

    results = import_(account, rows, onConflict=conflict)

    assert outcomes(results) == expected
    ada = by_address(account, "ada@b.io")
    assert ada["firstName"] == name
    assert ada["tags"] == (["a", "b", "c"] if conflict == "UPDATE" else ["a"])
    if conflict == "FAIL":
        assert rejections(results)[2:] == [("ALREADY_EXISTS", "email")] * 2
    else:
        assert {result["id"] for result in results if result["email"] != "grace@b.io"} == {
            ada["id"]
        }
    assert emails(account) == ["ada@b.io", "grace@b.io"]


@each_form
def test_row_that_exceeds_100_tags_of_a_subscriber_fails(account: Account, import_: Import) -> None:
    tags = [f"t{number:02}" for number in range(99)]
    ada = create_subscriber(account, tags=tags)
    rows = [
        {"email": ada["email"], "firstName": "Ada", "tags": ["new", "newer"]},
        {"email": ada["email"], "lastName": "Lovelace", "tags": ["new", "T00"]},
    ]

    results = import_(account, rows, onConflict="UPDATE")

    assert outcomes(results) == ["FAILED", "UPDATED"]
    assert rejections(results)[0] == ("INVALID_TAG", "tags")
    after = stored(account, ada)
    assert after == {**ada, "lastName": "Lovelace", "tags": ["new", *tags]}


@each_form
def test_import_skips_rows_up_to_a_line(account: Account, import_: Import) -> None:
    rows = [{"email": f"p{number}@b.io"} for number in range(1, 6)]

    assert line_outcomes(import_(account, rows, afterLine=3)) == [(4, "CREATED"), (5, "CREATED")]
    assert import_(account, rows, afterLine=5) == []
    assert emails(account) == ["p4@b.io", "p5@b.io"]


@each_form
def test_import_of_several_transactions_is_complete(account: Account, import_: Import) -> None:
    rows: list[Row] = [{"email": f"p{number}@b.io", "tags": ["all"]} for number in range(1_200)]
    # The lines are invalid, or repeat an address of an earlier transaction.
    rows[700], rows[1_100] = {"email": "none"}, {"email": "p3@b.io"}

    results = import_(account, rows)

    assert [result["line"] for result in results] == list(range(1, 1_201))
    failed = [number for number, result in enumerate(results) if result["outcome"] == "FAILED"]
    assert failed == [700, 1_100]
    assert account.ok("ListSubscribers", tag="all")["total"] == 1_198
    ids = [result["id"] for result in results if "id" in result]
    assert ids == sorted(set(ids))


@each_form
@pytest.mark.parametrize(
    ("results", "lines"), [("ALL", [1, 2, 3]), ("FAILED", [2]), ("SUMMARY", [])]
)
def test_only_requested_results_are_returned(
    account: Account, import_: Import, results: str, lines: list[int]
) -> None:
    create_subscriber(account, "c@b.io")
    rows: list[Row] = [
        {"email": "a@b.io"},
        {"email": "no"},
        {"email": "c@b.io", "status": "CONFIRMED"},
    ]

    got = import_(account, rows, results=results, onConflict="UPDATE")

    assert [result["line"] for result in got] == lines
    assert sorted(emails(account)) == ["a@b.io", "c@b.io"]


@pytest.mark.parametrize("rpc", [IMPORT, IMPORT_SUPPRESSIONS])
@pytest.mark.parametrize(("results", "count"), [("FAILED", 1), ("SUMMARY", 0)])
def test_summary_counts_rows_without_a_returned_result(
    account: Account, rpc: Rpc, results: str, count: int
) -> None:
    rows = [{"email": "a@b.io"}, {"email": "no"}, *({"email": f"{n}@b.io"} for n in range(2_500))]

    got = send_rows(account, rows, rpc, results=results)

    assert [(result["line"], result["outcome"]) for result in got.records] == [(2, "FAILED")][
        :count
    ]
    assert got.summary is not None
    added = got.summary["created" if rpc is IMPORT else "added"]
    assert (added, got.summary["failed"]) == (2_501, 1)


@pytest.mark.parametrize("rpc", [IMPORT, IMPORT_SUPPRESSIONS])
def test_import_stores_nothing_after_its_key_is_revoked(grpc_account: Account, rpc: Rpc) -> None:
    key = grpc_account.ok("CreateApiKey", name="import", scope="write")
    importer = grpc_account.with_key(key["secret"])

    def total() -> int:
        return int(grpc_account.ok(f"List{rpc.field.capitalize()}")["total"])

    def messages() -> Iterator[Row]:
        yield {rpc.field: [{"email": "before@example.com"}]}
        wait_until(lambda: total() == 1, "the first row is stored")
        grpc_account.ok("RevokeApiKey", id=key["apiKey"]["id"])
        yield {rpc.field: [{"email": "after@example.com"}]}

    imported = send_messages(importer, messages(), rpc)

    assert imported.error is not None
    assert imported.error.code == "Unauthorized"
    assert total() == 1
