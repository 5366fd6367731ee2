"""Suppressions, which contain deleted addresses only as keyed hashes."""

from __future__ import annotations

import pytest

from rosterd.server.features.subscribers.fields import Status, SubscriberRow
from rosterd.server.features.subscribers.store_changes import change_status
from rosterd.server.features.suppressions.rules import NewSuppression, Reason
from rosterd.server.features.suppressions.store import SuppressionRow, Suppressions
from rosterd.server.rpc.paging import Page
from rosterd.server.security.encryption import Encryption
from rosterd.server.storage.transaction import Transaction

from .helpers import (
    OURS,
    SUBSCRIBERS,
    SUPPRESSIONS,
    dump_tables,
    field,
    new,
    profile,
)

OPTED_OUT = [Status.UNSUBSCRIBED, Status.BOUNCED, Status.COMPLAINED]

each_opted_out = pytest.mark.parametrize("status", OPTED_OUT, ids=lambda status: status.name)


def subscriber(tx: Transaction, status: Status, account: str = OURS) -> SubscriberRow:
    """Stores ada@example.com with this status."""
    row = SUBSCRIBERS.create(account, new("Ada", "vip", status=Status.UNCONFIRMED), tx)
    return change_status(account, row.id, status, tx, by_admin=False)


def deleted(tx: Transaction, status: Status, account: str = OURS) -> None:
    """Stores ada@example.com with this status and deletes it."""
    SUBSCRIBERS.delete(account, subscriber(tx, status, account).id, tx)


def suppressed(tx: Transaction, account: str = OURS) -> list[SuppressionRow]:
    """Returns the suppressions of an account and checks their total."""
    rows, total, _ = SUPPRESSIONS.page(account, Page(1, 100), tx)
    assert total == len(rows)
    return rows


def test_time_of_a_suppression_in_the_future_is_replaced(tx: Transaction) -> None:
    SUPPRESSIONS.add(OURS, [NewSuppression("ada", Reason.MANUAL, tx.now + 1)], tx)

    assert suppressed(tx)[0].created_at == tx.now


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


def test_suppressions_do_not_match_under_another_encryption_key(tx: Transaction) -> None:
    deleted(tx, Status.UNSUBSCRIBED)
    other = Suppressions(Encryption(bytes(32)))

    assert set(SUPPRESSIONS.suppressed_among(OURS, ["eve@x.de", "ada@example.com"], tx)) == {
        "ada@example.com"
    }
    assert set(other.suppressed_among(OURS, ["eve@x.de", "ada@example.com"], tx)) == set()
