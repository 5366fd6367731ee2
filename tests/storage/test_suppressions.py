"""Suppressions, which contain deleted addresses only as keyed hashes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rosterd.server.features.subscribers.fields import Status, SubscriberRow
from rosterd.server.features.subscribers.rules import Failure
from rosterd.server.features.subscribers.store import Changes
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.suppressions.rules import NewSuppression, Reason
from rosterd.server.features.suppressions.store import SuppressionRow, Suppressions
from rosterd.server.rpc.errors import SubscriberSuppressed, SuppressionNotFound
from rosterd.server.rpc.paging import Page
from rosterd.server.security.encryption import Encryption
from rosterd.server.storage.transaction import Transaction

from .helpers import (
    ENCRYPTION,
    OURS,
    SUBSCRIBERS,
    SUPPRESSIONS,
    THEIRS,
    dump_tables,
    email,
    field,
    list_subscribers,
    new,
    profile,
    select,
)

OPTED_OUT = [Status.UNSUBSCRIBED, Status.BOUNCED, Status.COMPLAINED]
REACHABLE = [Status.UNCONFIRMED, Status.CONFIRMED]

each_opted_out = pytest.mark.parametrize("status", OPTED_OUT, ids=lambda status: status.name)
each_reachable = pytest.mark.parametrize("status", REACHABLE, ids=lambda status: status.name)


def subscriber(tx: Transaction, status: Status, account: str = OURS) -> SubscriberRow:
    """Stores ada@example.com with this status."""
    row = SUBSCRIBERS.create(account, new("Ada", "vip", status=Status.UNCONFIRMED), tx)
    return change_status(account, row.id, status, tx, by_admin=False)


def deleted(tx: Transaction, status: Status, account: str = OURS) -> None:
    """Stores ada@example.com with this status and deletes it."""
    SUBSCRIBERS.delete(account, subscriber(tx, status, account).id, tx)


def suppressed(tx: Transaction, account: str = OURS) -> list[SuppressionRow]:
    """Returns the suppressions of an account and checks their total."""
    rows, total = SUPPRESSIONS.page(account, Page(1, 100), tx)
    assert total == len(rows)
    return rows


@each_opted_out
def test_deleting_an_opted_out_subscriber_suppresses_the_address(
    tx: Transaction, status: Status
) -> None:
    deleted(tx, status)

    (row,) = suppressed(tx)
    assert (row.reason, row.created_at) == (status, tx.now)
    assert row.email_hash == ENCRYPTION.digest("suppression", OURS, "ada@example.com")
    assert SUPPRESSIONS.find(OURS, email("ada").key, tx) == row


@each_reachable
def test_deleting_a_subscriber_without_an_opt_out_suppresses_nothing(
    tx: Transaction, status: Status
) -> None:
    deleted(tx, status)

    assert suppressed(tx) == []
    assert SUBSCRIBERS.create(OURS, new("ada"), tx).email_key == "ada@example.com"


WAYS: dict[str, Callable[[Transaction], object]] = {
    "create": lambda tx: SUBSCRIBERS.create(OURS, new("ADA", "left over"), tx),
    "update": lambda tx: SUBSCRIBERS.update(
        OURS, SUBSCRIBERS.create(OURS, new("eve"), tx).id, Changes(email("aDa")), tx
    ),
}


@each_opted_out
@pytest.mark.parametrize("way", WAYS)
def test_suppressed_address_is_rejected_in_any_spelling_until_removed(
    tx: Transaction, status: Status, way: str
) -> None:
    deleted(tx, status)

    with pytest.raises(SubscriberSuppressed):
        WAYS[way](tx)
    assert "ada@example.com" not in [row.email_key for row in list_subscribers(OURS, tx).rows]

    for row in list_subscribers(OURS, tx).rows:
        SUBSCRIBERS.delete(OURS, row.id, tx)
    SUPPRESSIONS.delete(OURS, email("ada").key, tx)
    assert suppressed(tx) == []
    WAYS[way](tx)
    assert "ada@example.com" in [row.email_key for row in list_subscribers(OURS, tx).rows]


def test_suppressed_rows_of_a_bulk_are_rejected_and_the_others_stored(tx: Transaction) -> None:
    deleted(tx, Status.COMPLAINED)

    result = SUBSCRIBERS.create_many(OURS, {2: new("eve"), 4: new("ADA"), 6: new("bob")}, tx)

    assert {i: error.failure for i, error in result.row_errors.items()} == {4: Failure.SUPPRESSED}
    assert [row.email for row in list_subscribers(OURS, tx).rows] == [
        "eve@example.com",
        "bob@example.com",
    ]


def test_other_accounts_are_not_affected(tx: Transaction) -> None:
    deleted(tx, Status.UNSUBSCRIBED)

    assert suppressed(tx, THEIRS) == []
    deleted(tx, Status.BOUNCED, THEIRS)
    (ours,), (theirs,) = suppressed(tx), suppressed(tx, THEIRS)
    assert ours.email_hash != theirs.email_hash

    SUPPRESSIONS.delete(THEIRS, email("ada").key, tx)
    assert suppressed(tx) == [ours]
    SUBSCRIBERS.create(THEIRS, new("ada"), tx)


@each_opted_out
def test_changing_the_address_of_an_opted_out_subscriber_suppresses_the_old_one(
    tx: Transaction, status: Status
) -> None:
    row = subscriber(tx, status)

    moved = SUBSCRIBERS.update(OURS, row.id, Changes(email("eve")), tx)

    assert moved.status == (Status.UNCONFIRMED if status is Status.BOUNCED else status)
    assert [found.reason for found in suppressed(tx)] == [status]
    with pytest.raises(SubscriberSuppressed):
        SUBSCRIBERS.create(OURS, new("ada"), tx)
    with pytest.raises(SubscriberSuppressed):
        SUBSCRIBERS.update(OURS, row.id, Changes(email("ada")), tx)


@each_reachable
def test_changing_the_address_of_a_subscriber_without_an_opt_out_suppresses_nothing(
    tx: Transaction, status: Status
) -> None:
    row = subscriber(tx, status)

    SUBSCRIBERS.update(OURS, row.id, Changes(email("eve")), tx)

    assert suppressed(tx) == []


@each_opted_out
def test_changing_the_spelling_of_an_address_suppresses_nothing(
    tx: Transaction, status: Status
) -> None:
    row = subscriber(tx, status)

    assert SUBSCRIBERS.update(OURS, row.id, Changes(email("aDA")), tx).status == status

    assert suppressed(tx) == []


def test_second_suppression_of_an_address_keeps_a_reason_that_is_as_strict(tx: Transaction) -> None:
    row = subscriber(tx, Status.UNSUBSCRIBED)
    first = NewSuppression(row.email_key, Reason.MANUAL, 1)
    assert SUPPRESSIONS.add(OURS, [first], tx) == {row.email_key}

    SUBSCRIBERS.delete(OURS, row.id, tx)

    assert [(found.reason, found.created_at) for found in suppressed(tx)] == [(Reason.MANUAL, 1)]
    assert SUPPRESSIONS.add(OURS, [first], tx) == set()


def test_time_of_a_suppression_in_the_future_is_replaced(tx: Transaction) -> None:
    SUPPRESSIONS.add(OURS, [NewSuppression("ada", Reason.MANUAL, tx.now + 1)], tx)

    assert suppressed(tx)[0].created_at == tx.now


@pytest.mark.parametrize("name", ["eve", "gone@"], ids=ascii)
def test_address_without_suppression_is_not_found(tx: Transaction, name: str) -> None:
    deleted(tx, Status.UNSUBSCRIBED)

    for use in (SUPPRESSIONS.find, SUPPRESSIONS.delete):
        with pytest.raises(SuppressionNotFound):
            use(OURS, email(name).key, tx)
    assert len(suppressed(tx)) == 1


@each_opted_out
def test_no_table_contains_the_address_of_a_deleted_subscriber(
    tx: Transaction, status: Status
) -> None:
    field(OURS, tx)
    new_row = new("Ada", "vip", status=status, values={"city": "Paris"})
    row = SUBSCRIBERS.create(OURS, new_row._replace(profile=profile(last_name="Lovelace")), tx)
    traces = ("ada@", "lovelace", "paris", row.id.lower())
    before = dump_tables(tx).lower()
    assert [trace for trace in traces if trace in before] == list(traces)

    SUBSCRIBERS.delete(OURS, row.id, tx)

    after = dump_tables(tx).lower()
    assert [trace for trace in traces if trace in after] == []
    assert len(suppressed(tx)) == 1


def test_only_the_history_contains_the_replaced_address(tx: Transaction) -> None:
    row = subscriber(tx, Status.BOUNCED)

    SUBSCRIBERS.update(OURS, row.id, Changes(email("eve")), tx)

    assert "ada@" in dump_tables(tx).lower()
    select("DELETE FROM subscriber_history RETURNING id", tx)
    assert "ada@" not in dump_tables(tx).lower()


def test_suppressions_do_not_match_under_another_encryption_key(tx: Transaction) -> None:
    deleted(tx, Status.UNSUBSCRIBED)
    other = Suppressions(Encryption(bytes(32)))

    assert set(SUPPRESSIONS.suppressed_among(OURS, ["eve@x.de", "ada@example.com"], tx)) == {
        "ada@example.com"
    }
    assert set(other.suppressed_among(OURS, ["eve@x.de", "ada@example.com"], tx)) == set()


def test_suppressions_are_listed_oldest_first(tx: Transaction) -> None:
    names = [f"{number}" for number in range(5)]
    for name in names:
        tx.now += 1
        SUPPRESSIONS.add(OURS, [NewSuppression(email(name).key, Reason.BOUNCED)], tx)

    pages = [SUPPRESSIONS.page(OURS, Page(number, 2), tx) for number in (1, 2, 3, 4)]

    expected = [SUPPRESSIONS.find(OURS, email(name).key, tx) for name in names]
    assert [row for rows, _ in pages for row in rows] == expected
    assert [(len(rows), total) for rows, total in pages] == [(2, 5), (2, 5), (1, 5), (0, 5)]
