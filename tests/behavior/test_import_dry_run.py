"""Dry runs return the results of the import, for random files over random subscribers."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ..conftest import Account
from .helpers import STATUSES, create_field, create_subscriber_in, suppress
from .streams import Row, StreamResult, send_rows

# Rows of an update are stored in transactions of 200.
ROWS = 900
ADDRESSES = 60


def random_row(rng: random.Random) -> Row:
    row: Row = {"email": f"{'p' if rng.random() < 0.5 else 'P'}{rng.randrange(ADDRESSES)}@b.io"}
    if rng.random() < 0.5:
        row["status"] = rng.choice(STATUSES)
    elif rng.random() < 0.5:
        row["isConfirmed"] = True
    if rng.random() < 0.4:
        # Some subscribers exceed the number of tags.
        first = rng.randrange(200)
        row["tags"] = [f"t{number}" for number in range(first, first + rng.choice((1, 30, 60)))]
    if rng.random() < 0.4:
        key = f"note{rng.randrange(40)}"
        # Some subscribers exceed the size of all values.
        row["customFields"] = {key: rng.choice(("x", "\u20ac" * 1_000, None, "y"))}
    if rng.random() < 0.05:
        row |= rng.choice(({"email": "?"}, {"customFields": {"age": "old"}}, {"tags": [""]}))
    return row


def run(account: Account, rows: list[Row], **options: Any) -> StreamResult:
    streamed = send_rows(account, rows, **options)
    assert streamed.error is None, streamed.error
    return streamed


@pytest.mark.parametrize("conflict", ["FAIL", "SKIP", "UPDATE"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.verify) for n in (1, 2))])
def test_dry_run_and_import_have_the_same_results(
    account: Account, seed: int, conflict: str
) -> None:
    rng = random.Random(f"{seed} {conflict}")
    for number in range(40):
        create_field(account, f"note{number}")
    create_field(account, "age", "NUMBER")
    for number in rng.sample(range(ADDRESSES), 20):
        tags = [f"t{n}" for n in range(rng.choice((0, 90)))]
        create_subscriber_in(account, rng.choice(STATUSES), f"p{number}@b.io", tags=tags)
    for number in range(ADDRESSES, ADDRESSES + 5):
        suppress(account, f"p{number}@b.io", rng.choice(("UNSUBSCRIBED", "COMPLAINED")))
    rows = [random_row(rng) for _ in range(ROWS)]
    for row in rng.sample(rows, 50):
        row["email"] = f"p{ADDRESSES + rng.randrange(5)}@b.io"

    dry_run = run(account, rows, onConflict=conflict, dryRun=True)
    imported = run(account, rows, onConflict=conflict)

    assert len(imported.records) == ROWS
    for row, dry, real in zip(rows, dry_run.records, imported.records, strict=True):
        assert {**dry, "id": ""} == {**real, "id": ""}, row
        assert "id" not in dry or dry["id"] == real["id"], row
    assert dry_run.summary is not None
    assert {**dry_run.summary, "dryRun": False} == imported.summary


def test_second_row_of_a_stored_subscriber_is_compared_with_the_first(account: Account) -> None:
    create_subscriber_in(account, "CONFIRMED", "a@b.io", tags=[f"t{n}" for n in range(99)])
    rows: list[Row] = [{"email": "a@b.io", "status": "UNSUBSCRIBED", "tags": ["x"]}]
    rows += [{"email": f"p{number}@b.io"} for number in range(300)]
    rows.append({"email": "a@b.io", "status": "CONFIRMED"})
    rows.append({"email": "a@b.io", "tags": ["y"]})

    dry_run = run(account, rows, onConflict="UPDATE", dryRun=True)

    kept, failed = dry_run.records[-2:]
    assert (kept["outcome"], kept["statusKept"]) == ("UPDATED", True)
    assert (failed["outcome"], failed["reason"]) == ("FAILED", "INVALID_TAG")
