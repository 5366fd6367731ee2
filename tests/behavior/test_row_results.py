"""Results of rows have one shape in bulks, imports and lists; reasons are counted alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..conftest import Account
from .helpers import create_subscriber_in
from .streams import IMPORT, IMPORT_SUPPRESSIONS, Row, Rpc, send_rows
from .test_operations import run

ROWS = [{"email": "ada@example.com"}, {"email": "unknown"}, {"email": ""}]
EMAILS = [row["email"] for row in ROWS]
MANY = 7

Send = Callable[[Account], list[Row]]


def streamed(rpc: Rpc) -> Send:
    return lambda account: send_rows(account, ROWS, rpc).records


def bulk(account: Account) -> Any:
    return account.ok("BulkCreateSubscribers", subscribers=ROWS, returnResults=True)


def failed_operation(account: Account) -> tuple[list[Row], Row]:
    """Returns the failures of an operation, and the expected one."""
    emails = [f"{number}@example.com" for number in range(MANY)]
    ids = [create_subscriber_in(account, "UNSUBSCRIBED", email)["id"] for email in emails]
    operation = run(account, ids=ids, action={"changeStatus": "BOUNCED"})
    expected = {"reason": "INVALID_STATUS_TRANSITION", "total": MANY, "examples": ids[:5]}
    return operation["failed"], expected


def failed_rows(rpc: Rpc) -> Callable[[Account], tuple[list[Row], Row]]:
    """Returns a function that returns the counts of a summary, and the expected one."""

    def send(account: Account) -> tuple[list[Row], Row]:
        rows = [{"email": "ada@example.com"}, *[{"email": "unknown"}] * MANY]
        summary = send_rows(account, rows, rpc).summary
        assert summary is not None
        lines = [str(line) for line in range(2, 7)]
        return summary["reasons"], {"reason": "INVALID_EMAIL", "total": MANY, "examples": lines}

    return send


@pytest.mark.parametrize(
    "send",
    [lambda account: bulk(account)["results"], streamed(IMPORT), streamed(IMPORT_SUPPRESSIONS)],
    ids=["bulk", "import", "suppressions"],
)
def test_only_a_failed_row_has_a_reason_and_a_field(account: Account, send: Send) -> None:
    created, *failed = send(account)

    assert created.keys() & {"reason", "field"} == set()
    assert [(row["outcome"], row["reason"], row["field"]) for row in failed] == [
        ("FAILED", "INVALID_EMAIL", "email"),
        ("FAILED", "MISSING_EMAIL", "email"),
    ]
    assert all("id" not in row for row in failed)


@pytest.mark.parametrize(
    "send",
    [bulk, lambda account: account.ok("AddSuppressions", emails=EMAILS)],
    ids=["bulk", "suppressions"],
)
def test_failed_rows_are_listed_by_index(account: Account, send: Callable[..., Any]) -> None:
    assert send(account)["failed"] == [
        {"index": 1, "email": "unknown", "reason": "INVALID_EMAIL"},
        {"index": 2, "email": "", "reason": "MISSING_EMAIL"},
    ]


@pytest.mark.parametrize(
    "send",
    [failed_rows(IMPORT), failed_rows(IMPORT_SUPPRESSIONS), failed_operation],
    ids=["import", "suppressions", "operation"],
)
def test_reasons_are_counted_with_the_first_five_examples(
    account: Account, send: Callable[[Account], tuple[list[Row], Row]]
) -> None:
    counts, expected = send(account)

    assert counts == [expected]
